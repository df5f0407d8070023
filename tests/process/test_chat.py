"""`recalld chat`: in a pseudo-terminal with every command, a paste, Ctrl-C and Chinese editing; and one turn in a pipe."""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.llm.server import Act
from tests.patience import PATIENCE_S
from tests.process.command import until
from tests.process.prepared import Process
from tests.replies.turning import request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.llm.server import Server

pytestmark = pytest.mark.proof

RECALLD = [sys.executable, "-P", "-m", "recalld"]
#: The editor takes pastes: it waits for a line.
READY = "\x1b[?2004h"
PASTE = "\x1b[200~{}\x1b[201~"


class Chat:
    """A chat in a pseudo-terminal of so many columns."""

    def __init__(self, root: Path, environ: dict[str, str], columns: int = 80) -> None:
        self.root, self.seen = root, ""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [*RECALLD, "-w", str(root), "chat"]
        streams: Any = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        self.process = subprocess.Popen(
            command,
            env={**environ, "TERM": "xterm"},
            start_new_session=True,
            preexec_fn=_controls,  # noqa: PLW1509 - no thread of this process holds anything then
            **streams,
        )
        os.close(theirs)
        self._line = ours
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode  # what is read may end in the middle of a character
        while True:
            try:
                text = decode(os.read(self._line, 65_536))
            except OSError:
                return
            self.seen += text
            if "\x1b[6n" in text:  # the editor asks where the cursor is
                os.write(self._line, b"\x1b[1;1R")

    def type(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(self._line, data) :]

    def expect(self, *texts: str) -> None:
        until(lambda: all(text in self.seen for text in texts) or self.process.poll() is not None)
        assert all(text in self.seen for text in texts), self.seen[-2000:]

    def ask(self, line: str, *answers: str) -> None:
        self.seen = ""
        self.type(line + "\r")
        self.expect(*answers, READY)

    def history(self) -> list[Any]:
        return json.loads((self.root / "history.json").read_bytes())


def _controls() -> None:
    """The terminal sends its signals to this process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def environ(tmp_path: Path, server: Server) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECALLD_")}
    server.script = lambda _number, prompt: Act(text=f"好，{prompt.split()[-1]}")
    found = {**kept, "RECALLD_LLM_BASE_URL": server.url, "RECALLD_LLM_MODEL": "qwen-test", "RECALLD_LANGUAGE": "en"}
    subprocess.run([*RECALLD, "-w", str(tmp_path / "workspace"), "init"], env=found, check=True, stdout=subprocess.DEVNULL)
    return found


@contextmanager
def chatting(tmp_path: Path, environ: dict[str, str], columns: int = 80) -> Iterator[Chat]:
    chat = Chat(tmp_path / "workspace", environ, columns)
    chat.expect("/help shows the commands", READY)
    yield chat
    chat.type("\x04")
    assert chat.process.wait(PATIENCE_S) == 0, chat.seen[-2000:]


def test_chat_does_every_command(tmp_path, environ):
    with chatting(tmp_path, environ) as chat:
        chat.ask("花生过敏", "好，")
        chat.ask("/help", "/forget WORDS")
        chat.ask("/remember 周五去体检", "1")
        chat.ask("/search 体检", "memory.md#L1")
        chat.ask("/why", "花生过敏")
        chat.seen = ""
        chat.type("/forget 周五去体检\r")
        chat.expect("周五去体检", "Forget this for good? [y/N]")
        chat.ask("y", "forgotten: 1 line")
        chat.ask("/forget 7", "has no line 7")
        chat.ask("/session 工作", "Session 工作.")
        chat.ask("开会", "好，")
        chat.ask("/nonsense", "/nonsense: there is none of this name")
        chat.ask("/remember", "/remember: give words after it")
    assert [(one["role"], one["session"]) for one in chat.history()] == [
        ("user", "chat"),
        ("assistant", "chat"),
        ("user", "工作"),
        ("assistant", "工作"),
    ]
    assert "体检" not in (chat.root / "memory.md").read_text(encoding="utf-8")


def test_chat_edits_chinese_takes_a_paste_and_brings_lines_back(tmp_path, environ):
    with chatting(tmp_path, environ) as chat:
        chat.ask(PASTE.format("/remember 周五牙医\n/session 日常"), "日常")
        chat.ask("/session chat", "chat")
        chat.ask("你好吗\x7f\x7f早", "好，")  # 你 and 早 stay: a backspace takes a whole character
        chat.ask(PASTE.format("第一行\n第二行"), "好，")
        chat.ask("\x1b[A", "好，")
    said = [one["text"] for one in chat.history() if one["role"] == "user"]
    assert said == ["你早", "第一行\n第二行", "第一行\n第二行"]


def test_chat_ctrl_c_ends_the_answer_and_keeps_the_chat(tmp_path, environ, server):
    server.play(Act(text="一二三四五六七八九十" * 20, parts=200, pause_s=0.05), Act(text="还在。"))
    with chatting(tmp_path, environ) as chat:
        chat.seen = ""
        chat.type("数数\r")
        chat.expect("一二三")
        chat.type("\x03")
        chat.expect("…", READY)
        until(lambda: server.seen.gone)
        chat.ask("还在吗", "还在。")
    first = chat.history()[1]
    assert (first["role"], first["cut"]) == ("assistant", True)
    assert first["text"].startswith("一二三")
    assert len(first["text"]) < 200


def test_chat_shows_a_second_message_and_not_the_request(tmp_path, environ, server):
    def script(_number: int, prompt: str) -> Act:
        if "<found>" in prompt:
            return Act(text="查到了，周五。")
        return Act(text=f"我查一下。\n\n{request(prompt, 'search_memory 部署')}", parts=40)

    server.script = script
    with chatting(tmp_path, environ) as chat:
        chat.ask("几号部署？", "我查一下。", "查到了，周五。")
        assert "search_memory" not in chat.seen
        assert "```" not in chat.seen
    assert [one["text"] for one in chat.history()[1:]] == ["我查一下。", "查到了，周五。"]


def test_chat_asks_before_it_sends_a_very_long_paste(tmp_path, environ, server):
    with chatting(tmp_path, environ, columns=20) as chat:
        chat.seen = ""
        chat.type(PASTE.format("长" * 100_001))
        chat.expect("100001")
        chat.ask("n")
    assert server.seen.calls == 0
    assert chat.history() == []


def test_chat_in_a_pipe_answers_once_and_says_what_is_wrong(tmp_path, environ):
    def run(data: bytes, *words: str, **more: str) -> tuple[int, str, str]:
        command = ["recalld", "-w", str(tmp_path / "workspace"), "chat", *words]
        pipe = subprocess.PIPE
        process = Process(command, env={**environ, **more}, stdin=pipe, stdout=pipe, stderr=pipe, cwd=tmp_path)
        out, err = (printed.decode() for printed in process.communicate(data, timeout=PATIENCE_S))
        return process.returncode, out, err

    code, out, _ = run("花生过敏".encode())
    assert (code, out.startswith("好，")) == (0, True)
    code, out, _ = run(b"", "--message", "花生过敏", "--json")
    assert (code, json.loads(out)["model"]) == (0, "qwen-test")
    code, out, _ = run(b"", "--message", "花生过敏", RECALLD_LLM_MODEL="", RECALLD_LLM_BASE_URL="")
    assert (code, out.startswith("No model is set")) == (0, True)
    for line, said in {
        "/search 花生过敏": "花生",
        "/remember 周五体检": "line 1 (1 in all)",
        "/forget 周五体检": "周五体检",
    }.items():
        code, out, err = run(line.encode())
        assert (code, said in out, "nothing was forgotten" in err.lower()) == (0, True, line.startswith("/forget"))
    code, _, err = run(b"/remember")
    assert (code, err) == (64, "recalld: /remember: give words after it.\n")
    code, out, err = run("/remember 周五牙医\n\n/search 牙医\n/nosuch\n/search 体检\n".encode())
    assert (code, out.count("\n"), "牙医" in out, err.count("\n")) == (64, 2, True, 1)
    code, out, err = run("/search 牙医\n这是什么意思？".encode())
    assert (code, out, err) == (
        0,
        "好，这是什么意思？\n",
        "recalld: `/search 牙医` is sent as words: give commands by themselves, one a line.\n",
    )
    code, out, _ = run("/home/mira 里有什么？".encode())
    assert (code, out) == (0, "好，里有什么？\n")
    code, _, err = run(b"\xff\xfe")
    assert (code, err) == (64, "recalld: --message: it is not UTF-8; convert it first, with `iconv` for example.\n")
    code, _, err = run(b"", "--message", "hi", RECALLD_LLM_BASE_URL="http://127.0.0.1:9/v1")
    assert (code, "Traceback" in err, err.count("\n")) == (69, False, 1)


def test_chat_keeps_half_an_answer_that_breaks_off_and_says_why(tmp_path, environ, server):
    server.play(Act(text="一二三四五六七八九十", parts=10, end="close"), Act(text="好的。"))
    with chatting(tmp_path, environ) as chat:
        chat.ask("数数", "一二三四五…", "recalld: no answer came: the connection broke")
        chat.ask("再来", "好的。")
    assert [(one["text"], one.get("cut")) for one in chat.history()[1::2]] == [("一二三四五", True), ("好的。", None)]
