"""A real supervisor keeps recall ready: what is saved or added is found at once, an input has its context in turns/."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.interfaces.locate import ask_supervisor
from tests.patience import PATIENCE_S
from tests.process.command import Command, until
from tests.world import message

pytestmark = pytest.mark.proof


class Running(Command):
    """A supervisor in a process of its own."""

    def begin(self) -> None:
        self.told = (self.root.parent / "told").open("w+b")
        words = ("-w", str(self.root), "run", "--no-worker", "--json")
        self.process = self.start(*words, stdout=self.told, stderr=subprocess.STDOUT)
        until(lambda: self.ask("search", "memory") is not None)

    def end(self) -> tuple[int, str]:
        """The exit code, and all that was said."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_S)
        self.told.seek(0)
        said = self.told.read().decode()
        self.told.close()
        self.process.stdin.close()
        return code, said

    def ask(self, *argv: str) -> dict[str, Any] | None:
        """What the supervisor answers at its socket, None where nobody is there or the command is left to the client."""
        environ = {key: value for key, value in self.environ.items() if key.startswith("RECALLD_")}
        request = {"op": "command", "request": {"argv": list(argv), "env": environ}, "caller": {}}
        return ask_supervisor(str(self.root), request, PATIENCE_S)

    def finds(self, question: str, words: str) -> bool:
        answer = self.ask("search", "--json", question)
        return any(words in hit["snippet"] for hit in json.loads(answer["out"]))

    def save(self, name: str, text: str) -> None:
        """Save as an editor does: another file, and a rename."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        other = path.with_name(f".{path.name}.tmp")
        other.write_text(text, encoding="utf-8")
        os.replace(other, path)

    def turn(self, identity: str, digest: str) -> dict[str, Any] | None:
        """The ready context of that turn, where it is there and for that inbox."""
        path = self.root / "turns" / f"{identity}.json"
        if not path.exists():
            return None
        found = json.loads(path.read_bytes())
        return found if found["inbox"] == digest else None


@pytest.fixture
def running(tmp_path) -> Iterator[Running]:
    found = Running.made(tmp_path / "workspace", RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai")
    said = [message(f"旧-{n}", f"2026-01-2{n}T09:00", f"第 {n} 天：rsync 备份到 nas{n}。") for n in range(1, 9)]
    (found.root / "history.json").write_text(json.dumps(said), encoding="utf-8")
    found.begin()
    yield found
    if found.process.poll() is None:
        found.end()


def inbox(*inputs: dict[str, Any]) -> tuple[str, str]:
    """The text of an inbox, and its digest."""
    text = json.dumps(list(inputs), ensure_ascii=False)
    return text, hashlib.sha256(text.encode()).hexdigest()


def test_watcher_updates_the_index_after_saves_renames_and_deletions(running):
    assert not running.finds("三联疫苗", "三联疫苗")
    running.save("memory/想法 2.md", "# 家里\n\n猫的三联疫苗约在九月十二号。\n")
    until(lambda: running.finds("三联疫苗", "九月十二号"))
    running.save("memory/想法 2.md", "# 家里\n\n猫的三联疫苗改到十月三号。\n")
    until(lambda: running.finds("三联疫苗", "十月三号"))
    assert not running.finds("三联疫苗", "九月十二号")
    (running.root / "memory.md").write_text("2026-01-20|聊天|用户对榛子过敏\n", encoding="utf-8")  # in place
    until(lambda: running.finds("榛子", "榛子过敏"))
    running.save("memory/读书/三体.md", "读到面壁者那一章。\n")
    until(lambda: running.finds("面壁者", "面壁者"))
    os.rename(running.root / "memory/读书", running.root / "memory/书单")
    until(lambda: "memory/书单/三体.md" in running.ask("search", "面壁者")["out"])
    (running.root / "memory/想法 2.md").unlink()
    until(lambda: not running.finds("三联疫苗", "三联疫苗"))
    code, said = running.end()
    assert (code, "Traceback" in said, "index_stale" in said) == (0, False, False)


@pytest.mark.feature("003.25")
def test_prepared_turn_follows_the_inbox_and_leaves_it_unchanged(running):
    until(lambda: running.finds("rsync nas7", "nas7"))
    text, digest = inbox({"id": "消息-1", "text": "备份放在 nas7 吗？", "createdAt": "2026-01-31T02:00:00.000Z"})
    running.save("inbox.json", text)
    name = f"20260131T020000000Z-{hashlib.sha256('消息-1'.encode()).hexdigest()[:12]}"
    found = until(lambda: running.turn(name, digest))
    assert found["messages"][-1]["content"].endswith("\n\n备份放在 nas7 吗？")
    assert "nas7" in json.dumps(found["messages"][:-1])
    assert (running.root / "inbox.json").read_text(encoding="utf-8") == text
    # the input is reworded: the same turn, another version of the inbox
    text, digest = inbox({"id": "消息-1", "text": "备份放在 nas8 吗？", "createdAt": "2026-01-31T02:00:00.000Z"})
    running.save("inbox.json", text)
    assert until(lambda: running.turn(name, digest))["question"] == "备份放在 nas8 吗？"
    assert json.loads(running("why", name, "--json").out)["question"] == "备份放在 nas8 吗？"
    code, said = running.end()
    assert (code, "Traceback" in said, "inbox_invalid" in said) == (0, False, False)
    assert "nas8" not in said


def test_supervisor_exits_cleanly_on_sigterm_during_the_first_indexing(running):
    running.end()
    folder = running.root / "memory"
    for n in range(600):
        (folder / f"笔记 {n}.md").write_text("\n\n".join(f"第 {m} 段：把 nginx 的配置备份到 nas{n}。" for m in range(40)))
    shutil.rmtree(running.root / ".recalld" / "index", ignore_errors=True)  # there may be none yet
    running.begin()
    code, said = running.end()
    assert (code, "Traceback" in said) == (0, False)
    running.begin()
    until(lambda: running.finds("nas599", "nas599"))


def test_each_message_is_found_at_once_while_a_supervisor_files_them(running):
    memory = Memory(running.root)
    for n in range(130):
        memory.append([{"role": "assistant", "text": f"the code of locker {n * 7919} is tango{n * 104729}"}])
        assert running.finds(f"code of locker {n * 7919}", f"tango{n * 104729}"), n
        assert n < 100 or running.finds(f"code of locker {(n - 99) * 7919}", f"tango{(n - 99) * 104729}"), n
    assert list((running.root / "memory").glob("*.md"))
