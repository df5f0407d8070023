"""What `append` has acknowledged is found by the next command, with a supervisor and without; an empty answer says why."""

from __future__ import annotations

import contextlib
import json
from datetime import timedelta

import pytest

from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.storage.clock import to_wire, utc_now
from tests.process.command import Command
from tests.process.test_recall_ready import Running

pytestmark = pytest.mark.proof

FACT = "the wifi password of the cabin is plum-orchid-77"


@pytest.fixture
def recalld(tmp_path):
    return Command.made(tmp_path / "workspace", LC_ALL="C.UTF-8", RECALLD_LANGUAGE="auto")


def test_inject_and_search_find_what_was_appended_a_moment_ago(recalld):
    identity = recalld("append", "--role", "user", "--text", FACT).out.strip()
    for _ in range(2):
        block = recalld("inject", "--query", "what is the wifi password?").out
        assert f"\n[history.json#{identity}] (" in block
        assert f") user: {FACT}\n" in block
        (hit,) = json.loads(recalld("search", "--json", "wifi password").out)
        assert (hit["path"], hit["startLine"], hit["endLine"]) == (f"history.json#{identity}", 1, 1)
        assert f"  history.json#{identity}  {FACT}\n" in recalld("search", "wifi password").out
        assert recalld("get", f"history.json#{identity}").out == f"{FACT}\n"
        assert recalld("inject", "--query", "what is the wifi password?", "--known", identity).out == ""


def test_each_message_is_found_at_once_while_a_supervisor_files_them(tmp_path):
    running = Running.made(tmp_path / "workspace", RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai")
    running.begin()
    try:
        memory = Memory(running.root)
        for n in range(230):
            memory.append([{"role": "assistant", "text": f"the code of locker {n * 7919} is tango{n * 104729}"}])
            assert running.finds(f"code of locker {n * 7919}", f"tango{n * 104729}"), n
            assert n < 100 or running.finds(f"code of locker {(n - 99) * 7919}", f"tango{(n - 99) * 104729}"), n
        assert list((running.root / "memory").glob("*.md"))
    finally:
        running.end()


@pytest.mark.parametrize("runs", [False, True], ids=["alone", "beside a supervisor"])
def test_search_finds_a_long_term_line_written_a_moment_ago(recalld, runs):
    with recalld.supervised() if runs else contextlib.nullcontext():
        memory = Memory(recalld.root)
        for n, tell in enumerate([lambda said: recalld("write", said), memory.write], 1):
            tell(f"the cabin key {n * 7919} hangs behind the tango{n * 104729}")
            (hit,) = json.loads(recalld("search", "--json", f"tango{n * 104729}").out)
            assert (hit["path"], hit["startLine"]) == ("memory.md", n)
            assert [found.unit.start for found in memory.search(f"tango{n * 104729}")] == [n]
        assert recalld("read", "--recent", "1").out == f"[{memory.read().lines[-1].ref}] {memory.read().lines[-1].text}\n"
        assert recalld("delete", memory.read().lines[-1].ref).code == 0
        assert recalld("search", "--json", f"tango{n * 104729}").out == "[]\n"


@pytest.mark.parametrize("said", ["My passport expires 17 March 2027", "护照2027年3月17日到期"])
def test_what_was_told_long_ago_is_found_by_its_own_words(recalld, said):
    raw = {"role": "user", "text": said, "createdAt": to_wire(utc_now() - timedelta(days=21))}
    assert recalld("append", "--jsonl", stdin=json.dumps(raw)).code == 0
    assert recalld("inject", "--query", said).out.endswith(f": {said}\n")
    assert recalld("run", "--until-settled", "--no-worker").code == 0
    assert recalld("inject", "--query", said).out.endswith(f": {said}\n")


def test_memory_with_the_question_alone_is_not_called_empty(recalld):
    assert recalld("append", "--role", "user", "--text", FACT).code == 0
    said = "nothing else in memory matches: the message that has these words is the question itself."
    assert recalld("inject", "--query", FACT).err == f"recalld: {said}\n"
    assert (
        recalld("inject", "--query", FACT, LC_ALL="zh_CN.UTF-8").err
        == "recalld: 记忆里没有别的相符：带有这些字词的那条消息，就是这次问的这句话。\n"
    )


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
