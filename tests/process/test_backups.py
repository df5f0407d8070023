"""The commands of backups: what they say, and what they leave where they are ended on the way."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest

from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import run_command
from recalld.supervisor.storage.disk import RealDisk
from tests.process.command import Command, ended, until

pytestmark = pytest.mark.proof


@pytest.mark.parametrize(
    ("language", "as_of", "other"),
    [
        ("en", "the memory is as it was on 2026-01-31 16:00 Asia/Shanghai; ", "was not used"),
        ("zh", "恢复的是 2026-01-31 16:00 Asia/Shanghai 时的记忆；", "没有用它"),
    ],
)
def test_restore_says_what_a_person_with_only_a_backup_can_do(recalld, tmp_path, language, as_of, other):
    file, there = str(tmp_path / "一.tar"), tmp_path / "新机器" / "记忆"
    other_root = Command.made(tmp_path / "别的").root
    for root in (recalld.root, other_root):
        recalld("-w", str(root), "append", "--role", "user", "--text", "门禁密码是 4471")
        assert recalld("-w", str(root), "forget", "--match", "4471", "--yes").code == 0
    recalld("backup", "create", file, RECALLD_NOW="2026-01-31T08:00:00Z")
    alone = Command(there, RECALLD_LANGUAGE=language, XDG_DATA_HOME=str(tmp_path / "没有"), TZ="Asia/Shanghai")
    there.parent.mkdir()
    said = ended(alone.start("backup", "restore", file, "--into", str(there))).err
    assert (as_of in said, f"`recalld -w '{there}' forget --help`" in said, said.count("\n")) == (True, True, 1)
    known = ended(recalld.start("-w", str(recalld.root), "backup", "restore", file, "--into", str(tmp_path / "二"))).err
    assert known == "", "the workspace that made it knows what was forgotten since"
    named = ("-w", str(other_root), "backup", "restore", file, "--into", str(tmp_path / "三"))
    first, second = ended(alone.start(*named)).err.splitlines()
    assert (other in first, str(other_root) in first, as_of in second) == (True, True, True)


def test_backup_prints_a_name_with_a_line_break_as_one_line(recalld, tmp_path):
    recalld("init", "-w", str(tmp_path / "记忆"))
    (tmp_path / "记忆" / "链接\nfiles: 999").symlink_to("/etc/passwd")
    file = tmp_path / "一\nfiles: 999.tar"
    made = recalld("backup", "create", "-w", str(tmp_path / "记忆"), str(file))
    refused = recalld("backup", "create", "-w", str(tmp_path / "记忆"), str(file))
    verified = recalld("backup", "verify", str(file))
    for said in (made.out, verified.out, refused.err):
        assert r"一\nfiles: 999.tar" in said
        assert not any(line.startswith("files: 999") for line in said.splitlines())
    assert r"链接\nfiles: 999" in made.out


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
        assert {signal.getsignal(one) for one in before} == {signal.SIG_IGN}  # a second one does not end the deleting
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
