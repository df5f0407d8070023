"""Secrets that came in by every interface, as real processes: forgotten, no byte of any is left, and none comes back."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from recalld.supervisor.archive.places import place_of
from tests.http.test_command import health
from tests.llm.server import Act, Server
from tests.loopback import free_port
from tests.patience import PATIENCE_S
from tests.process.command import Command, ended, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tests.process.command import Ended

pytestmark = pytest.mark.proof

#: The rare words of all secrets; the second has a name of a file in pinyin, too.
WORDS = ("kestrel", "鸮岭")
SPELLED = (*WORDS, "xiaoling", *(json.dumps(word)[1:-1] for word in WORDS))
#: How many times a secret is said in each way.
EACH = 5
AGO = datetime.now(UTC) - timedelta(days=40)
_FOUND = re.compile(r"(?:Kestrel|鸮岭)[^\n]*")
_PROGRAM = """
import json, sys
from recalld import Memory, register_all_tools
memory = Memory(sys.argv[1])
tools = register_all_tools(memory)
for words in json.load(sys.stdin):
    assert not tools.call("memory_write", json.dumps({"content": words})).is_error
"""


def secrets(way: str) -> list[str]:
    """Of each way its own, English and Chinese in turn."""
    english = [
        f"Kestrel-{n}-{way} is what opens the cabin by the lake, and the boat lies behind it, under the old tree."
        for n in range(EACH)
    ]
    chinese = [f"鸮岭{n}{way}是湖边木屋第{n}间的口令，船停在屋后的老树下，桨在门边。" for n in range(EACH)]
    return [one for pair in zip(english, chinese, strict=True) for one in pair]


def messages(way: str, day: int) -> list[dict[str, Any]]:
    times = ((AGO + timedelta(days=day, minutes=9 * n)).isoformat() for n in range(2 * EACH))
    return [
        {"id": f"{way}-{n:08d}", "role": "user", "text": text, "session": "home", "createdAt": at}
        for n, (text, at) in enumerate(zip(secrets(way), times, strict=True))
    ]


def summarised(_number: int, prompt: str) -> Act:
    """A model whose summaries have the secrets in other words: the beginnings of their sentences."""
    lines = [line.strip("-# ") for line in _FOUND.findall(prompt)]
    found = [line[: len(line) * 2 // 5].rstrip("，, ") for line in lines]
    return Act(text="## 木屋\n\n" + "\n".join(f"- {line}。" for line in found or ["游泳馆周五关门，改去 Lisbon 的海边。"]))


class Life(NamedTuple):
    """A workspace, its model, the folder with what lies outside it, and the supervisor's port."""

    command: Command
    model: Server
    outside: Path

    @property
    def root(self) -> Path:
        return self.command.root

    def run(self, *words: str, stdin: str = "") -> Ended:
        done = self.command(*words, stdin=stdin)
        assert done.code == 0, (words, done)
        return done

    def settle(self) -> None:
        self.run("run", "--until-settled")

    def post(self, path: str, body: object, method: str = "POST") -> Any:
        token = (self.root / ".recalld" / "token").read_text().strip()
        address = f"http://127.0.0.1:{self.command.environ['RECALLD_SERVE_PORT']}{path}"
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "X-Recalld-Session": "proxy"}
        asked = urllib.request.Request(address, json.dumps(body).encode(), headers, method=method)
        with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:  # noqa: S310 - of loopback
            return json.loads(answer.read())

    def history(self) -> list[dict[str, Any]]:
        return json.loads((self.root / "history.json").read_bytes())

    def write_history(self, entries: Iterable[object]) -> None:
        """Replace history.json as a program does that knows of no lock."""
        draft = self.root / "history.draft"
        draft.write_text(json.dumps([*entries], ensure_ascii=False), encoding="utf-8")
        draft.rename(self.root / "history.json")

    def left(self) -> list[str]:
        """The files of the workspace and the caches with a byte of a secret, or with one in their names."""
        folders = (self.root, self.outside / "cache")
        return [path.as_posix() for folder in folders for path in sorted(folder.rglob("*")) if _has_words(path, folder)]


def _has_words(path: Path, folder: Path) -> bool:
    try:
        data = path.read_bytes() if path.is_file() else b""
    except FileNotFoundError:  # a supervisor has replaced it
        data = b""
    data = (gzip.decompress(data) if path.suffix == ".gz" else data).lower() + str(path.relative_to(folder)).lower().encode()
    return any(word.encode(coding) in data for word in SPELLED for coding in ("utf-8", "utf-16-le"))


# ── the ways in ──────────────────────────────────────────────────────────────


def by_files(life: Life) -> None:
    """By append, by the drop-box, by an import, by an editor's history.json."""
    times = ((AGO + timedelta(hours=n)).isoformat() for n in range(150))
    plain = [{"role": "user", "text": f"第 {n} 次去游泳馆，带上泳镜。", "createdAt": at} for n, at in enumerate(times)]
    life.run("append", "--jsonl", stdin="".join(json.dumps(one) + "\n" for one in [*plain, *messages("append", 11)]))
    for one in messages("dropbox", 12):
        (life.root / "inbox.d" / "new").mkdir(parents=True, exist_ok=True)
        (life.root / "inbox.d" / "new" / f"{one['id']}.json").write_text(json.dumps(one), encoding="utf-8")
    source = life.outside / "export.jsonl"
    source.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in messages("import", 13)), encoding="utf-8")
    life.run("import", str(source))
    life.write_history([*life.history(), *messages("editor", 14)])


def by_tools(life: Life) -> None:
    """By a program with the tools, and over MCP."""
    arguments = ["-P", "-c", _PROGRAM, str(life.root)]
    environ = {**life.command.environ, "PYTHONPATH": ":".join(filter(None, sys.path))}

    async def over_mcp() -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-P", "-m", "recalld", "-w", str(life.root), "mcp"], env=environ
        )
        async with Client(stdio_client(server)) as client:
            for words in secrets("mcp"):
                assert not (await client.call_tool("memory_write", {"content": words})).is_error

    with anyio.from_thread.start_blocking_portal() as portal:
        portal.call(over_mcp)
    subprocess.run([sys.executable, *arguments], input=json.dumps(secrets("tools")), env=environ, encoding="utf-8", check=True)


def by_clients(life: Life) -> None:
    """By a hook, by REST, by the proxy, with a supervisor that serves them."""
    with life.command.supervised() as process:
        until(lambda: health(life.command) == "ok\n", process)
        event = {"session_id": "kestrel-home", "turn_id": "t1", "cwd": "/srv/shop"}
        for words in secrets("hook"):
            asked = json.dumps({**event, "hook_event_name": "UserPromptSubmit", "prompt": words})
            assert ended(life.command.start("-w", str(life.root), "hook", "codex", options=["-X", "utf8"]), asked).code == 0
        life.post("/api/append", {"messages": messages("rest", 15)})
        text = life.post("/api/long_term_text", {})["text"]
        life.post("/api/memory/long-term", {"content": text + "".join(f"- {one}\n" for one in secrets("put"))}, "PUT")
        said = [{"role": "user", "content": secrets("proxy")[n]} for n in range(2)]
        life.post("/v1/chat/completions", {"model": "qwen-test", "messages": said[:1]})
        until(lambda: secrets("proxy")[0] in (life.root / "history.json").read_text(encoding="utf-8"))


def by_editors(life: Life) -> None:
    """By an editor in a dated file: in the words of a message."""
    file = next(path for path in sorted((life.root / "memory").rglob("2*.md")) if "泳镜" in path.read_text(encoding="utf-8"))
    text = file.read_text(encoding="utf-8").replace("泳镜", "泳镜。柜子的口令是鸮岭九号，kestrel-hand-9", 1)
    file.write_text(text, encoding="utf-8")


def used(life: Life) -> None:
    """Archived, summarised, searched, put before an assistant, asked about, and looked at."""
    life.settle()
    by_editors(life)
    life.settle()
    for words in ("What is kestrel-2-append for?", "dropbox的鸮岭口令是哪间的？"):
        life.run("search", words)
        assert any(word in life.run("inject", "--query", words).out for word in WORDS)
        life.run("context", "--query", words)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """The workspace, in which the secrets stand everywhere."""
    outside = tmp_path_factory.mktemp("canaries")
    with Server() as model:
        model.script = summarised
        command = Command(
            outside / "工作区",
            RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai",
            RECALLD_LLM_BASE_URL=model.url,
            RECALLD_LLM_MODEL="qwen-test",
            RECALLD_WORKER_IDLE="1s",
            RECALLD_SERVE_PORT=str(free_port()),
            RECALLD_SERVE_UPSTREAM=model.url,
            XDG_CACHE_HOME=str(outside / "cache"),
        )
        made = Life(command, model, outside)
        made.run("init")
        by_files(made)
        by_tools(made)
        by_clients(made)
        used(made)
        yield made


@pytest.fixture(scope="module")
def forgotten(life: Life) -> Life:
    """The same, once all is forgotten, beside a supervisor, while a worker is suspended that was told a secret."""
    life.run("append", "--jsonl", stdin="".join(json.dumps(one) + "\n" for one in messages("late", 20)))
    asked, goes_on = threading.Event(), threading.Event()

    def waits(number: int, prompt: str) -> Act:
        asked.set()
        goes_on.wait(PATIENCE_S)
        return summarised(number, prompt)

    life.model.script = waits
    life.run("run", "--until-settled", "--no-worker")
    with life.command.supervised() as supervisor:
        worker = life.command.start("-w", str(life.root), "worker", "--idle", "1")
        until(asked.is_set, worker)
        os.kill(worker.pid, signal.SIGSTOP)
        for word in WORDS:
            life.run("forget", "--match", word, "--yes")
        told = life.left()
        goes_on.set()
        os.kill(worker.pid, signal.SIGCONT)
        assert ended(worker).code == 0
        until(lambda: not list((life.root / "worker" / "results").glob("*.json")), supervisor)
        assert told == []
    life.model.script = summarised
    return life


def test_secrets_stand_in_every_place_before(life: Life) -> None:
    places = {place.what for path in life.left() if (place := place_of(os.path.relpath(path, life.root)))}
    assert places >= {"history", "backup_version", "journal", "dated", "summaries", "previous", "long_term", "acts", "turns"}
    assert places >= {"index", "table"}


def test_forget_leaves_no_byte_of_what_came_in_by_every_interface(forgotten: Life) -> None:
    assert forgotten.left() == []
    forgotten.settle()
    assert forgotten.left() == []
    assert forgotten.run("search", "游泳馆").out
    for word in WORDS:
        assert json.loads(forgotten.command("search", word, "--json").out) == []


# ── the ways back ────────────────────────────────────────────────────────────


def import_again(life: Life) -> None:
    by_files(life)


def repair(life: Life) -> None:
    (life.root / "history.json").write_bytes((life.root / "history.json").read_bytes()[:-40])
    life.run("fsck", "--repair")


def redo(life: Life) -> None:
    life.run("summary", "redo", f"{AGO.astimezone().date() + timedelta(days=2)}")


def restart(life: Life) -> None:
    with life.command.supervised():
        life.run("run", "--once")


@pytest.mark.parametrize("way", [restart, redo, repair, import_again], ids=lambda way: way.__name__)
def test_forgotten_words_do_not_come_back_by(forgotten: Life, way: Callable[[Life], None]) -> None:
    way(forgotten)
    forgotten.settle()
    assert forgotten.left() == []
