"""The commands of backups leave nothing where they are ended on the way, and what they say is in the golden corpus."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import run_command
from recalld.supervisor.storage.disk import RealDisk
from tests.process.command import ended, until

pytestmark = pytest.mark.proof


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["create", "verify", "restore"])
def test_backup_command_leaves_nothing_when_a_signal_comes_in_the_middle(recalld, tmp_path, monkeypatch, command, number):
    place, file = tmp_path / "备份", str(tmp_path / "一.tar")
    place.mkdir()
    assert recalld("backup", "create", file).code == 0
    words = {"create": [str(place / "二.tar")], "verify": [file], "restore": [file, "--into", str(place / "新的")]}[command]
    seen: list[list[str]] = []

    def write(_self: RealDisk, _handle: int, _data: bytes) -> None:
        seen.append([path.name for path in place.iterdir()])
        os.kill(os.getpid(), number)

    monkeypatch.setattr(RealDisk, "write", write)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        assert run_command(Call(["-w", str(recalld.root), "backup", command, *words])) == 130
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert [len(names) for names in seen] == [1]
    assert list(place.iterdir()) == []


def test_backup_create_under_nohup_goes_on_when_the_terminal_closes(recalld, tmp_path):
    with RealDisk().lock(recalld.root / "history.json.lock", 10):
        words = ("-w", str(recalld.root), "backup", "create", str(tmp_path / "一.tar"))
        process = recalld.start(*words, before=["nohup"])
        until(lambda: _catches(process.pid, signal.SIGTERM), process)
        process.send_signal(signal.SIGHUP)
    assert ended(process).code == 0
    assert (tmp_path / "一.tar").exists()


def _catches(process: int, number: int) -> bool:
    """Whether the process has a handler of its own for the signal."""
    status = Path(f"/proc/{process}/status").read_text()
    return bool(int(status.partition("SigCgt:")[2].split()[0], 16) >> (number - 1) & 1)
