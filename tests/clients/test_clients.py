"""
Thirty turns of Claude Code and Codex side by side in one project, in Chinese and English, over several sessions.

The fact that is asked for is in the request, each turn is kept once, whatever happens to the supervisor meanwhile: it runs, is
gone, is killed in the middle of a turn, does not respond. The clients come from RECALLD_TEST_CLIENTS, a folder with `node_modules`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import Handler, Loopback
from tests.process.command import Command
from tests.proxy.model_server import message_stream

MODULES = Path(os.environ.get("RECALLD_TEST_CLIENTS", "/nowhere")) / "node_modules"
pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(3_000),
    pytest.mark.skipif(not MODULES.is_dir(), reason="script/test-clients installs the clients"),
]
TURNS = 30
#: Each client, and the end of the path at which it asks its model.
PATHS = {"claude-code": "/messages", "codex": "/responses"}
#: Facts, the question for each, and a word that only the fact has; of each client its own.
FACTS = (
    ("{who} 的测试环境端口是 {n}。", "{who} 的测试环境端口是多少？"),
    ("The staging host of {who} is box{n}.example.", "What is the staging host of {who}?"),
    ("{who} 的发布负责人是方阿姨{n}。", "{who} 的发布负责人是谁？"),
    ("We keep the backups of {who} in /srv/backup{n}.", "Where do we keep the backups of {who}?"),
    ("{who} 的数据库叫 lagerfeld{n}。", "{who} 的数据库叫什么？"),
)


# ── their model, which answers `/v1/messages` (Claude Code) and `/v1/responses` (Codex) ──


class _Handler(Handler):
    server: ScriptedModel

    def do_GET(self) -> None:  # noqa: N802 - http.server calls it
        self.send_body(200, b'{"data": []}')

    do_HEAD = do_GET  # noqa: N815 - as above

    def do_POST(self) -> None:  # noqa: N802 - as above
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.partition("?")[0]
        answer = self.server.asked(path, body.decode("utf-8", "replace"))
        if path.endswith("/messages"):
            lines = b"".join(message_stream(answer).pieces)
        elif path.endswith("/responses"):
            lines = responses_stream(answer, self.server.used)
        else:
            self.send_body(404, b"{}")
            return
        self.send_body(200, lines, ("Content-Type", "text/event-stream"))


class ScriptedModel(Loopback):
    """Keeps each request; *answers* has the present answer to each client, by the end of the path that it asks."""

    handler = _Handler

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[str] = []
        self.answers: dict[str, str] = {}
        self.on_request: Any = None
        #: The tokens of its window that Codex is told are used.
        self.used = 1
        self._lock = threading.Lock()

    def asked(self, path: str, body: str) -> str:
        text = json.dumps(json.loads(body), ensure_ascii=False)
        with self._lock:
            self.requests.append(text)
        if self.on_request:
            self.on_request()
        return next((answer for end, answer in self.answers.items() if path.endswith(end)), f"ok {path}")


def responses_stream(answer: str, used: int) -> bytes:
    """OpenAI's stream of responses for a text; so many tokens of the window are *used*."""
    part = {"type": "output_text", "text": answer, "annotations": []}
    item = {"type": "message", "role": "assistant", "id": "m1", "status": "completed", "content": [part]}
    none = {"input_tokens_details": None, "output_tokens_details": None}
    usage = {"input_tokens": used, "output_tokens": 1, "total_tokens": used + 1, **none}
    events = [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


# ── the clients ──────────────────────────────────────────────────────────────


class Talk:
    """What one client is told and asked, turn by turn: facts in one session, questions in others."""

    def __init__(self, who: str, number: int) -> None:
        self.turns: list[tuple[str, str, str]] = []  # text, the word that the request must have, "new" or "resume"
        for n in range(TURNS // 10):
            told = [(fact.format(who=f"{who}{n}", n=number + n), f"{number + n}", ask) for fact, ask in FACTS]
            self.turns += [(text, "", "resume" if at else "new") for at, (text, _, _) in enumerate(told)]
            asked = [(ask.format(who=f"{who}{n}"), word) for _, word, ask in told]
            self.turns += [(ask, word, "resume" if at % 3 else "new") for at, (ask, word) in enumerate(asked)]


class Client:
    """A client in a home of its own; *ask* is one turn."""

    def __init__(self, name: str, home: Path, project: Path, model: ScriptedModel) -> None:
        self.name, self.project, self.model, self.session = name, project, model, ""
        self.path = PATHS[name]
        foreign = ("RECALLD_", "CLAUDE", "CODEX")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        self.environ = {
            **kept,
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": model.url.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": "sk-test",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        if name == "codex":
            (home / ".codex" / "config.toml").write_text(
                f'model = "scripted"\nmodel_provider = "loop"\n[model_providers.loop]\nname = "loop"\n'
                f'base_url = "{model.url}"\nwire_api = "responses"\n'
            )

    def ask(self, text: str, how: str) -> None:
        session = self.session if how == "resume" else ""
        resume = ["--resume", session] if session else []
        match self.name:
            case "claude-code":
                out = self._run(["claude", "-p", "--output-format", "json", *resume, text])
                self.session = json.loads(out.splitlines()[-1])["session_id"]
            case _:
                words = ["codex", "exec", *(["resume", session] if session else [])]
                out = self._run([*words, "--skip-git-repo-check", "--dangerously-bypass-hook-trust", text])
                found = re.search(r"session id: (\S+)", out)
                self.session = found[1] if found else session

    def _run(self, words: list[str]) -> str:
        words[0] = str(MODULES / ".bin" / words[0])
        run = {"env": self.environ, "cwd": self.project, "timeout": 300, "stdin": subprocess.DEVNULL}
        done = subprocess.run(words, check=False, capture_output=True, text=True, **run)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout + done.stderr if self.name == "codex" else done.stdout


@pytest.fixture
def command(tmp_path: Path) -> Command:
    home = tmp_path / "home"
    for name in (".claude", ".codex"):
        (home / name).mkdir(parents=True)
    return Command.made(tmp_path / "memory", HOME=str(home), RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai")


def test_thirty_turns_of_both_clients_lose_and_double_nothing(command, tmp_path):
    project, home = tmp_path / "shop", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    with ScriptedModel() as model, contextlib.ExitStack() as stack:
        clients = [Client(name, home, project, model) for name in PATHS]
        done = command("connect", *PATHS, "--yes")
        assert done.code == 0, done.err + done.out
        talks = {one.name: Talk(one.name, 7000 + 100 * n) for n, one in enumerate(clients)}
        missed: list[str] = []
        running: dict[str, Any] = {"stack": stack.enter_context(contextlib.ExitStack())}
        for n in range(TURNS):
            arrange(command, model, running, n)
            model.answers = {one.path: answer_to(talks[one.name].turns[n][0]) for one in clients}
            threads = [threading.Thread(target=one.ask, args=talks[one.name].turns[n][::2]) for one in clients]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            for one in clients:
                text, word, _ = talks[one.name].turns[n]
                requests = [request for request in model.requests if text in request]
                assert requests, (one.name, text)
                if word and not any(word in request for request in requests):
                    missed.append(f"turn {n} of {one.name}: {text}")
            print(f"turn {n}: {len(missed)} missed", flush=True)
        running["stack"].close()
        said = [text for talk in talks.values() for text, _, _ in talk.turns]
        answers = [answer_to(text) for text in said]
    history = json.loads((command.root / "history.json").read_bytes())
    found = Counter(one["text"] for one in history if one.get("session"))
    assert max(found.values()) == 1
    lost = [text for text in (*said, *answers) if not found[text]]
    assert {one["project"] for one in history} == {str(project)}
    late = (command.root / "log.jsonl").read_text(encoding="utf-8").count("it took too long")
    print(
        f"{len(said)} turns, {len(missed)} without the fact, {len(lost)} texts not kept, {late} hooks out of time", flush=True
    )
    # where no supervisor answers, a hook on a busy machine may have no time left, which it says
    assert len(missed) + len(lost) <= late, (missed, lost)


def test_after_a_compaction_codex_has_what_was_said_before(command, tmp_path):
    """Claude Code compacts in its terminal alone: with `-p` it says that there is not enough to compact."""
    project, home = tmp_path / "shop", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    told = ("收银台的暗号是 Moorfrosch。", "The boiler is serviced in March.")
    with ScriptedModel() as model, command.supervised():
        client = Client("codex", home, project, model)
        config = home / ".codex" / "config.toml"
        config.write_text("model_auto_compact_token_limit = 5000\n" + config.read_text())
        assert command("connect", "codex", "--yes").code == 0
        for n, (text, model.used) in enumerate(zip(told, (10, 20_000), strict=True)):
            model.answers = {client.path: answer_to(text)}
            client.ask(text, "resume" if n else "new")
        model.used, model.answers = 10, {client.path: "So far: shop talk."}
        client.ask("接着说。", "resume")
        last = [request for request in model.requests if "接着说。" in request][-1]
    assert "summary produced by the other language model" in last, "it was compacted"
    assert all(answer_to(text) in last for text in told), "by recalld: the summary has neither"
    history = json.loads((command.root / "history.json").read_bytes())
    assert [one["text"] for one in history if one["role"] == "user"] == [*told, "接着说。"]


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk needs root")
@pytest.mark.parametrize("name", list(PATHS))
def test_full_disk_holds_no_prompt_and_loses_nothing_that_was_kept(command, tmp_path, name):
    project, home, disk = tmp_path / "shop", tmp_path / "home", tmp_path / "disk"
    project.mkdir()
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], check=True)
    try:
        command = Command.made(disk / "memory", HOME=str(home), RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai")
        with ScriptedModel() as model:
            client = Client(name, home, project, model)
            assert command("connect", name, "--yes").code == 0
            model.answers = {client.path: "好。"}
            client.ask("收银台的暗号是 Moorfrosch。", "new")
            with (disk / "rest").open("wb", buffering=0) as rest, contextlib.suppress(OSError):
                while rest.write(b"x" * 4096):
                    pass
            client.ask("周五盘点。", "resume")  # it has its answer, as ever
            (disk / "rest").unlink()
            client.ask("收银台的暗号是什么？", "new")
            assert any("Moorfrosch" in one and "是什么" in one for one in model.requests)
        told = [one["text"] for one in json.loads((command.root / "history.json").read_bytes())]
        assert told.count("收银台的暗号是 Moorfrosch。") == told.count("收银台的暗号是什么？") == 1
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def answer_to(text: str) -> str:
    """The model's answer to a question, of which there is one alone."""
    return f"答：{text[::-1]}"


def arrange(command: Command, model: ScriptedModel, running: dict[str, Any], turn: int) -> None:
    """Have the supervisor as the turn needs it: running, gone, killed in the middle of the turn, or mute."""
    match turn:
        case 0 | 25:
            running["stack"].close()
            running["stack"] = contextlib.ExitStack()
            running["process"] = running["stack"].enter_context(command.supervised())
        case 10:  # without one
            running["stack"].close()
        case 15:
            running["stack"] = contextlib.ExitStack()
            running["process"] = running["stack"].enter_context(command.supervised())
            process = running["process"]
            model.on_request = lambda: process.poll() is None and process.kill()  # in the middle of the turn
        case 18:
            model.on_request = None
            with contextlib.suppress(Exception):
                running["stack"].close()
            running["stack"] = contextlib.ExitStack()
            running["process"] = running["stack"].enter_context(command.supervised())
        case 20:
            process = running["process"]
            os.kill(process.pid, signal.SIGSTOP)
            running["stack"].callback(os.kill, process.pid, signal.SIGCONT)
