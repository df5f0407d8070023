"""What `append` has acknowledged is found by the next command, with a supervisor and without; an empty answer says why."""

from __future__ import annotations

import contextlib
import json

import pytest

from recalld.supervisor.interfaces.api import Memory
from tests.process.command import Command
from tests.process.test_recall_ready import Running

pytestmark = pytest.mark.proof

FACT = "the wifi password of the cabin is plum-orchid-77"


@pytest.fixture
def recalld(tmp_path):
    return Command.made(tmp_path / "workspace", LC_ALL="C.UTF-8", RECALLD_LANGUAGE="auto")


def test_each_message_is_found_at_once_while_a_supervisor_files_them(tmp_path):
    running = Running.made(tmp_path / "workspace", RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai")
    running.begin()
    try:
        memory = Memory(running.root)
        for n in range(130):
            memory.append([{"role": "assistant", "text": f"the code of locker {n * 7919} is tango{n * 104729}"}])
            assert running.finds(f"code of locker {n * 7919}", f"tango{n * 104729}"), n
            assert n < 100 or running.finds(f"code of locker {(n - 99) * 7919}", f"tango{(n - 99) * 104729}"), n
        assert list((running.root / "memory").glob("*.md"))
    finally:
        running.end()


@pytest.mark.parametrize("runs", [False, True], ids=["alone", "beside a supervisor"])
def test_archive_writes_everything_now(recalld, runs):
    recalld("append", "--jsonl", stdin=f'{{"role": "user", "text": "{FACT}"}}\n{{"role": "user", "text": "rain?"}}\n')
    with recalld.supervised() if runs else contextlib.nullcontext():
        done = recalld("run", "--once", "--json")
        (name,) = [path.name for path in (recalld.root / "memory").glob("*.md")]
        assert (done.code, json.loads(done.out)) == (0, {"archived": 2, "files": [name]})
        assert f"[memory/{name}#L" in recalld("inject", "--query", "what is the wifi password?").out
        assert not (recalld.root / ".recalld" / "archive.now").exists()
        assert json.loads(recalld("run", "--once", "--json").out) == {"archived": 0, "files": []}
