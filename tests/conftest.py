"""What the tests of rules and steps stand on: a clock to crank, a workspace on a real disk, talk, a worker in this process."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import settings

from supervisor.events import EVENTS, EventLog
from supervisor.protocol.clock import to_wire
from supervisor.protocol.config import load
from supervisor.protocol.config_keys import Log
from supervisor.protocol.dated_file import Block, parse_dated
from supervisor.protocol.disk import RealDisk
from supervisor.protocol.files import Files
from supervisor.service.lock import reclaim, sweep
from supervisor.service.round import Round, run_round
from supervisor.workspace import Workspace
from worker.loop import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.protocol.disk import Disk
    from supervisor.protocol.task import Task

# how long an example takes says nothing on a machine that others use too
settings.register_profile("recalld", deadline=None)
settings.load_profile("recalld")

ZONE = ZoneInfo("Asia/Shanghai")
SHANGHAI = 'timezone = "Asia/Shanghai"'
#: What the tests count with: days of Shanghai, waits to the second, a model that is asked for summaries.
TOML = f'[archive]\n{SHANGHAI}\njitter = 0\n[llm]\nmodel = "qwen-test"\n'
WITHOUT_MODEL = f"[archive]\n{SHANGHAI}\njitter = 0\n"
PROMPTED = ("明天把 nginx 的配置备份一下。", "我对花生过敏，点外卖要备注。", "上次部署 Cloudflare Workers 超时了，怎么改的？")
ANSWERED = ("好的，已记下：备份放在 /srv/backup。", "记住了，花生过敏。", "把超时改成 30 秒，再加一次重试。")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden; review the difference")


def at(text: str) -> datetime:
    """The instant; without an offset in Shanghai."""
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=ZONE)).astimezone(UTC)


class Clock:
    """A clock that a test cranks."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> datetime:
        self.now += timedelta(**span)
        return self.now


class Told(EventLog):
    """Events in a list; what lasts is told once, as in the log."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(Path("unused"), clock, Log())
        self.all: list[tuple[str, dict[str, object]]] = []

    def emit(self, event: str, **fields: object) -> None:
        assert event in EVENTS
        json.dumps(fields)
        self.all.append((event, fields))

    def of(self, event: str) -> list[dict[str, object]]:
        return [fields for name, fields in self.all if name == event]


class Scribe:
    """A model that writes what a test scripts; else a line a message."""

    name, model, extract = "scribe", "qwen-test", False

    def __init__(self) -> None:
        self.script: Callable[[Task, Sequence[Block]], str] = lambda task, blocks: (
            f"## {task.period}\n\n" + "\n".join(f"- {block.text[:60]}" for block in blocks) if blocks else ""
        )
        self.asked: list[tuple[Task, tuple[Block, ...]]] = []

    def summarise(self, task: Task, blocks: Sequence[Block]) -> str:
        self.asked.append((task, tuple(blocks)))
        return self.script(task, blocks)


HONEST = "## 部署\n\n超时改成 30 秒，备份放在 /srv/backup。"


def unreachable(_task: Task, _blocks: Sequence[Block]) -> str:
    """A script for a model that is not there."""
    raise ValueError("模型没有回答")


class Desk:
    """A workspace, its clock, its worker, and another program that keeps history.json."""

    def __init__(self, root: Path, now: datetime) -> None:
        self.root = root
        self.clock = Clock(now)
        self.told = Told(self.clock)
        self.scribe = Scribe()
        self.toml = TOML
        self.reopen()

    def reopen(self, toml: str = "", disk: Disk | None = None) -> Workspace:
        """Start a new process over the same files."""
        self.toml = toml or self.toml
        self.files = Files(disk or RealDisk(), pause=lambda _: None)
        self.ws = Workspace(self.root, load(self.toml.encode(), {}), self.files, self.told)
        self.layout = self.ws.layout
        self.ws.prepare()
        sweep(self.ws)
        reclaim(self.ws)
        return self.ws

    # ── other programs and people ────────────────────────────────────────────

    def write(self, messages: object) -> None:
        """Put what another program holds into history.json, in place and without the lock."""
        text = messages if isinstance(messages, bytes) else json.dumps(messages, ensure_ascii=True).encode()
        (self.root / "history.json").write_bytes(text)

    def say(self, *messages: dict[str, Any]) -> None:
        """Let another program add messages."""
        self.write([*self.history(), *messages])

    def history(self) -> list[Any]:
        path = self.root / "history.json"
        found: list[Any] = json.loads(path.read_bytes()) if path.exists() else []
        return found

    def flags(self) -> list[object]:
        return [message["archived"] for message in self.history()]

    # ── what recalld does ────────────────────────────────────────────────────

    def round(self, runs: Any = "due") -> Round:
        return run_round(self.ws, self.clock(), runs)

    def work(self) -> int:
        """Let the worker do all that is queued."""
        worker = Worker(self.files, self.layout, self.ws.config, self.scribe, self.clock)
        done = 0
        while worker.run_once():
            done += 1
        return done

    def settle(self, runs: Any = "all") -> None:
        """Do all that is due now, as `run --until-settled` does."""
        for _ in range(100):
            did = self.round(runs).did + self.work()
            if not did and not self.ws.spool.finished():
                return
        raise AssertionError("it never settles")

    # ── what lies there ──────────────────────────────────────────────────────

    def tree(self, *, machine: bool = False) -> dict[str, bytes]:
        """Every file by its path, without .recalld/ and the log (and lock files)."""
        paths = sorted(path for path in self.root.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
        named = {path.relative_to(self.root).as_posix(): path for path in paths}
        return {name: path.read_bytes() for name, path in named.items() if machine or not name.startswith(".recalld/")}

    def dated(self) -> dict[str, tuple[Block, ...]]:
        """The messages of every dated file of ours by its path, so that a name in two places counts twice."""
        found = {}
        for name, data in self.tree().items():
            parsed = parse_dated(data, Path(name)) if name.startswith("memory/") and name.endswith(".md") else None
            if parsed:
                found[name] = tuple(parsed.blocks)
        return found

    def filed(self) -> list[tuple[str, str]]:
        """Id and words of every message that stands in a dated file, sorted."""
        return sorted((block.id, block.text) for blocks in self.dated().values() for block in blocks)

    def summary(self, label: str) -> str:
        return (self.root / "memory" / "summary" / f"{label}.md").read_text(encoding="utf-8")

    def summaries(self) -> list[str]:
        return sorted(path.stem for path in (self.root / "memory" / "summary").iterdir())


def message(identity: str, when: str, text: str = "我对花生过敏。", role: str = "user", **more: Any) -> dict[str, Any]:
    """One message as another program writes it; *when* without an offset is in Shanghai."""
    return {"id": identity, "role": role, "text": text, "createdAt": to_wire(at(when)), **more}


def talk(when: str, count: int, every: timedelta = timedelta(minutes=1), prefix: str = "") -> list[dict[str, Any]]:
    """*count* messages from *when* on, question and answer in turn, each with an id and words of its own."""
    first = at(when)
    found = []
    for n in range(count):
        now = first + n * every
        text = (ANSWERED if n % 2 else PROMPTED)[n // 2 % 3]
        role = "assistant" if n % 2 else "user"
        found.append(message(f"{prefix}{now:%y%m%d%H%M%S}-{n:03d}", now.isoformat(), f"{text}（第 {n} 条）", role))
    return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A workspace in Shanghai at ten in the morning of 31 January 2026, with a model and no history yet."""
    return Desk(tmp_path, at("2026-01-31T10:00"))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, bytes], None]:
    """Compare with a file below tests/golden, or rewrite it with --update-golden."""
    folder = Path(__file__).parent / "golden"

    def compare(name: str, data: bytes) -> None:
        path = folder / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        assert path.read_bytes() == data, f"tests/golden/{name} differs; see it with --update-golden and git diff"

    return compare
