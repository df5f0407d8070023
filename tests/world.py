"""
The workspace that tests run: a disk, a clock and a model to plug in, and one method for each step of the product.

Tests call these methods and import no step, so that a step's module and signature are known in this file alone.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, Self
from zoneinfo import ZoneInfo

from recalld.supervisor.archive.append import append
from recalld.supervisor.archive.intake import restore_history, unwritten
from recalld.supervisor.archive.run import Due
from recalld.supervisor.checks.check import Look
from recalld.supervisor.checks.fsck import Ledger, Repairs, fsck, repair
from recalld.supervisor.checks.table import report_faults, status, verdict
from recalld.supervisor.context import build as turns
from recalld.supervisor.context.build import Injection
from recalld.supervisor.context.request import Asked
from recalld.supervisor.context.turns import InboxFile, PreparedContexts, save_receipt
from recalld.supervisor.events import EVENTS, Events
from recalld.supervisor.host.conversations import kept_summary
from recalld.supervisor.host.daemon import Supervisor
from recalld.supervisor.host.jobs import IndexUpdater
from recalld.supervisor.host.lock import any_worker, reclaim, sweep
from recalld.supervisor.host.round import (
    Round,
    archive,
    collect,
    intake,
    reconcile_flags,
    run_round,
    submit,
    until_settled,
    why_due,
)
from recalld.supervisor.index.manifest import Changes
from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.operations.upkeep import accept, plan
from recalld.supervisor.protocol.config import Config, load
from recalld.supervisor.protocol.config_keys import Log, Recall
from recalld.supervisor.protocol.dated_file import Block, parse_dated
from recalld.supervisor.protocol.message import Message, read_message
from recalld.supervisor.protocol.task import Task
from recalld.supervisor.protocol.turn import Receipt
from recalld.supervisor.recall.lines import Lines
from recalld.supervisor.storage.clock import to_wire
from recalld.supervisor.storage.control import UNLIMITED, Control
from recalld.supervisor.storage.disk import Disk, RealDisk
from recalld.supervisor.storage.files import Files
from recalld.supervisor.summaries.llm_state import provider_state
from recalld.supervisor.summaries.submit import submit_again
from recalld.supervisor.workspace import Workspace
from recalld.worker.desk import FolderDesk
from recalld.worker.loop import Worker
from recalld.worker.providers import NoCall

ZONE = ZoneInfo("Asia/Shanghai")
IN_SHANGHAI = 'timezone = "Asia/Shanghai"'
#: Every day has a summary, however little was said.
ASK = "[summarize]\nleast = 0\n"
#: Configuration of most tests: days of Shanghai, no model.
WITHOUT_MODEL = f"{ASK}[archive]\n{IN_SHANGHAI}\n"
WITH_MODEL = f'{WITHOUT_MODEL}[llm]\nmodel = "qwen-test"\n'
QUESTIONS = ("明天把 nginx 的配置备份一下。", "我对花生过敏，点外卖要备注。", "上次部署 Cloudflare Workers 超时了，怎么改的？")
ANSWERS = ("好的，已记下：备份放在 /srv/backup。", "记住了，花生过敏。", "把超时改成 30 秒，再加一次重试。")
#: A summary that is accepted.
GOOD_SUMMARY = "## 部署\n\nnginx 超时改成 30 秒，docker 的备份放在 /srv/backup。"


def at(text: str) -> datetime:
    """The instant; without an offset in Shanghai."""
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=ZONE)).astimezone(UTC)


def message(identity: str, when: str, text: str = "我对花生过敏。", role: str = "user", **more: Any) -> dict[str, Any]:
    """One message as another program writes it; *when* without an offset is in Shanghai."""
    return {"id": identity, "role": role, "text": text, "createdAt": to_wire(at(when)), **more}


def parsed(raw: object, zone: tzinfo = ZONE) -> Message:
    """A message as recalld reads it, which has to be one."""
    found = read_message(raw, zone)
    assert isinstance(found, Message)
    return found


def talk(when: str, count: int, every: timedelta = timedelta(minutes=1), prefix: str = "") -> list[dict[str, Any]]:
    """*count* messages from *when* on, question and answer in turn, each with an id and a text of its own."""
    first = at(when)
    found = []
    for n in range(count):
        now = first + n * every
        text = (ANSWERS if n % 2 else QUESTIONS)[n // 2 % 3]
        role = "assistant" if n % 2 else "user"
        found.append(message(f"{prefix}{now:%y%m%d%H%M%S}-{n:03d}", now.isoformat(), f"{text}（第 {n} 条）", role))
    return found


def message_on(day: str, slug: str = "nginx", text: str = "", **more: Any) -> dict[str, Any]:
    """A message of nine o'clock that day; *slug* is in its id, its text and the name of its dated file."""
    return message(f"{day}-{slug}", f"{day}T09:00", text or f"关于 {slug} 的话", **more)


# ── clock, disk, model, events ───────────────────────────────────────────────


class Clock:
    """The wall clock and the monotonic clock of a test; both move only when told to."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.seconds = 0.0

    def __call__(self) -> datetime:
        return self.now

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, span: timedelta) -> datetime:
        """Let time pass."""
        self.seconds += span.total_seconds()
        self.now += span
        return self.now

    def forward(self, **span: float) -> datetime:
        return self.advance(timedelta(**span))

    def jump(self, **span: float) -> datetime:
        """Set the wall clock to another time; no time passes."""
        self.now += timedelta(**span)
        return self.now


class UnsyncedDisk(RealDisk):
    """A real disk that does not wait for fsync: for tests that cut no power."""

    def sync(self, handle: int) -> None:
        """Do not wait."""

    def sync_folder(self, folder: Path) -> None:
        """Do not wait."""


class FaultyDisk(RealDisk):
    """
    A real disk that counts its calls; those named in *faulty* fail with the error *number* where `refuses(call, path)`.

    The path is None for calls on an open file; of a rename it is the new one.
    """

    _CALLS = frozenset(name for name in vars(RealDisk) if not name.startswith("_"))
    #: The calls that make a new name.
    WRITES = frozenset({"create", "open_append", "rename_new"})

    def __init__(self, *faulty: str, number: int = errno.ENOSPC, refuses: Callable[[str, Any], bool] | None = None) -> None:
        self.faulty = frozenset(faulty) or self.WRITES
        self.number = number
        self.refuses = refuses or (lambda _call, _path: False)
        self.made: list[tuple[str, Path | None]] = []

    def break_down(self) -> Self:
        """Let all the faulty calls fail."""
        self.refuses = lambda _call, _path: True
        return self

    def heal(self) -> None:
        self.refuses = lambda _call, _path: False

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in FaultyDisk._CALLS:
            return found

        def call(*given: Any, **more: Any) -> Any:
            path = next((one for one in reversed(given) if isinstance(one, Path)), None)
            self.made.append((name, path))
            if name in self.faulty and self.refuses(name, path):
                raise OSError(self.number, os.strerror(self.number), str(path))
            return found(*given, **more)

        return call

    def count(self, call: str, start: str = "") -> int:
        """How often it was called, of files whose name starts so."""
        return sum(name == call and (not start or bool(path and path.name.startswith(start))) for name, path in self.made)


class Killed(BaseException):
    """The process is gone."""


def dying(last: int) -> FaultyDisk:
    """A disk under a process that is killed before its operation of this number, of those that change the disk."""
    left = iter(range(last))

    def refuses(*_: object) -> bool:
        if next(left, None) is None:
            raise Killed
        return False

    changes = ("create", "open_append", "write", "sync", "rename", "rename_new", "link", "unlink", "sync_folder")
    return FaultyDisk(*changes, refuses=refuses)


#: Characters of the messages from which on a summary of the fake model is shorter than they are.
_COPIED = 120
_LINE = 60


class FakeModel:
    """A model that writes what *script* returns; by default a line for each message."""

    name, model, extract = "scribe", "qwen-test", False

    def __init__(self) -> None:
        self.script: Callable[[Task, Sequence[Block]], str] = self.one_line_each
        self.requests: list[tuple[Task, tuple[Block, ...]]] = []

    def summarise(self, task: Task, blocks: Sequence[Block]) -> str:
        self.requests.append((task, tuple(blocks)))
        return self.script(task, blocks)

    @staticmethod
    def one_line_each(task: Task, blocks: Sequence[Block]) -> str:
        lines = [block.text[:_LINE] for block in blocks]
        if (
            sum(map(len, lines)) > _COPIED
            and len(set(lines)) > len(lines) // 2
            and all(len(block.text) <= _LINE for block in blocks)
        ):
            # a copy would be refused, and so would a sentence without its end
            lines = [f"{line[: max(8, len(line) * 2 // 5)].rstrip('，。 ')}。" for line in lines]
        return f"## {task.period}\n\n" + "\n".join(f"- {line}" for line in lines) if lines else ""


def unreachable(_task: Task, _blocks: Sequence[Block]) -> str:
    """A script for a model that is not there."""
    raise ValueError("模型没有回答")


class EventList(Events):
    """Events in a list instead of a file; a lasting state is told once, as in the log."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__(Path("unused"), clock, Log())
        self.now = clock
        self.all: list[tuple[str, dict[str, object]]] = []
        self.times: list[datetime] = []

    def emit(self, event: str, **fields: object) -> None:
        assert event in EVENTS
        json.dumps(fields)
        self.all.append((event, fields))
        self.times.append(self.now())

    def forget(self) -> None:
        """Be the log of a new process, that does not know which states last."""
        self._lasting.clear()

    def of(self, event: str) -> list[dict[str, object]]:
        return [fields for name, fields in self.all if name == event]

    def times_of(self, event: str) -> list[datetime]:
        return [time for time, (name, _) in zip(self.times, self.all, strict=True) if name == event]


# ── the workspace ────────────────────────────────────────────────────────────


def patient(config: Config) -> Config:
    """The configuration with a minute for a search where it says nothing else: a busy machine finds the same."""
    is_default = config.recall.timeout_ms == Recall().timeout_ms
    return replace(config, recall=replace(config.recall, timeout_ms=60_000)) if is_default else config


class World:
    """A workspace, its clock, its worker with a model, and another program that writes history.json."""

    model: Any
    disk: Any
    #: Whether it keeps a diary: most tests say which files there are, byte for byte.
    diary = False

    def __init__(self, root: Path, now: datetime, toml: str | bytes = WITH_MODEL, disk: Disk | None = None) -> None:
        self.root = root
        self.clock = Clock(now)
        self.events: Any = EventList(self.clock)
        self.model = FakeModel()
        self.toml: Any = toml
        self.random = Random(0)
        self.reopen(disk=disk)

    def reopen(self, toml: str = "", disk: Disk | None = None) -> Self:
        """Start a new process over the same files; *toml* replaces the configuration."""
        self.toml = toml or self.toml
        data = self.toml if isinstance(self.toml, bytes) else self.toml.encode()
        self.open(load(data, {}), disk or RealDisk())
        self.start()
        return self

    def open(self, config: Config, disk: Disk, token: str | None = None) -> None:
        """Open the workspace and write nothing; *token* is part of the names of temporary files."""
        self.disk = disk
        self.files = Files(disk, pause=lambda _: None) if token is None else Files(disk, token=token, pause=lambda _: None)
        config = config if self.diary else replace(config, care=replace(config.care, diary=False))
        self.ws = Workspace(self.root, patient(config), self.files, self.events)
        self.control = UNLIMITED
        self.paths = self.ws.paths

    def forward(self, **span: float) -> Self:
        """Let time pass."""
        self.clock.forward(**span)
        return self

    @classmethod
    def process(cls, root: Path, clock: Clock, events: Any, config: Config, disk: Disk, token: str | None = None) -> Self:
        """A process over the workspace at *root* that has written nothing yet."""
        world = cls.__new__(cls)
        world.root, world.clock, world.events = root, clock, events
        world.model, world.random = FakeModel(), Random(0)
        world.open(config, disk, token)
        return world

    def copied(self, root: Path) -> World:
        """A world of its own over a copy of these files, at the same time: a memory that many tests begin with is made once."""
        shutil.copytree(self.root, root, symlinks=True, dirs_exist_ok=True)
        return World(root, self.clock(), self.toml)

    def another(self, events: Any = None) -> World:
        """Another process over the same files, by the same clock; with events of its own unless they are given."""
        return World.process(self.root, self.clock, events or EventList(self.clock), self.ws.config, RealDisk())

    def start(self) -> None:
        """What a supervisor does first."""
        self.ws.prepare()
        self.sweep()
        self.reclaim()

    # ── what other programs and people do ────────────────────────────────────

    def put(self, name: str, content: str | bytes) -> Path:
        """Let somebody write the file of this name, in place and without any lock."""
        data = content.encode() if isinstance(content, str) else content
        path = self.root / name
        if isinstance(self.disk, RealDisk):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        else:  # a modelled disk keeps its files in memory
            self.disk.plant(name, data)
        return path

    def write(self, messages: object) -> None:
        """Let another program put what it holds into history.json."""
        self.put("history.json", messages if isinstance(messages, bytes) else json.dumps(messages, ensure_ascii=True))

    def add(self, *messages: dict[str, Any]) -> None:
        """Let another program add messages."""
        self.write([*self.history(), *messages])

    def drop(self, name: str, content: object) -> Path:
        """Let another program put a file into the drop-box."""
        return self.put(
            f"inbox.d/new/{name}", content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False)
        )

    def ask(self, *inputs: object) -> bytes:
        """Let the assistant write inbox.json; returns its bytes."""
        data = json.dumps(list(inputs), ensure_ascii=False).encode()
        self.put("inbox.json", data)
        return data

    def note(self, name: str, text: str | bytes) -> Path:
        """Let a person write a file below memory/."""
        return self.put(f"memory/{name}", text)

    # ── the steps ────────────────────────────────────────────────────────────

    def intake(self) -> int:
        return intake(self.ws, self.clock(), self.control)

    def unwritten(self) -> list[Message]:
        return unwritten(self.ws.history.read(), self.ws.journal)

    def why_due(self) -> Due | None:
        return why_due(self.ws, self.clock())

    def archive(self, *, everything: bool = False) -> int:
        return archive(self.ws, self.clock(), self.control, everything=everything)

    def submit(self) -> int:
        """Submit the tasks of the summaries that are due."""
        return submit(self.ws, self.clock())

    def collect(self) -> int:
        """Take in what the worker has finished."""
        return collect(self.ws, self.clock(), self.control)

    def reconcile(self) -> None:
        """Set the flags of history.json by the files."""
        reconcile_flags(self.ws, self.clock())

    def sweep(self) -> int:
        """Delete temporary files that a killed process left."""
        return sweep(self.ws)

    def reclaim(self) -> int:
        """Put the tasks of dead workers back into the queue."""
        return reclaim(self.ws)

    def any_worker(self) -> bool:
        return any_worker(self.ws)

    def restore(self) -> int:
        return restore_history(self.ws, self.clock())

    def append(self, *raws: dict[str, Any], now: datetime | None = None) -> list[str]:
        entropy = self.random.randbytes(10 * len(raws))
        return append(self.ws, raws, now or self.clock(), entropy)

    def get(self, path: str, start: int = 1, count: int | None = None) -> Lines:
        """Lines of a file of memory."""
        return self.ws.line_reader.read(path, self.clock(), start, count)

    def redo(self, label: str) -> str:
        ws = self.ws
        return submit_again(
            label,
            self.clock(),
            journal=ws.journal,
            memory=ws.memory,
            task_queue=ws.task_queue,
            config=ws.config,
            prepare=ws.prepare,
        )

    def round(self, runs: Any = "due") -> Round:
        return run_round(self.ws, self.clock(), everything=runs == "all", control=self.control)

    # ── asking ───────────────────────────────────────────────────────────────

    def refresh(self, wait_s: float = 0.0, *, rebuild: bool = False) -> Changes:
        """Bring the index up to date."""
        return self.ws.searcher.refresh(wait_s, self.control, rebuild=rebuild)

    def search(self, question: str, recent: Sequence[Message] = (), deadline: Any = None) -> Any:
        return self.ws.searcher.search(question, self.clock(), recent, deadline)

    def found_texts(self, question: str) -> list[str]:
        return [hit.unit.text for hit in self.search(question).hits]

    def found_paths(self, question: str) -> list[str]:
        return [hit.unit.path for hit in self.search(question).hits]

    def read_input(self, question: str | None, **more: Any) -> Asked:
        stores: dict[str, Any] = {
            "history": self.ws.shown_history,
            "files": self.files,
            "zone": self.ws.zone,
            "groups": self.ws.groups,
        }
        return turns.read_input(question, now=self.clock(), **stores, paths=self.paths, events=self.events, **more)

    def inject(self, question: str | Asked | None, found: Any = None) -> Injection:
        """The memory for a question; *found* is what a search returned, by default one for this question."""
        return turns.inject(self._resolved_input(question), self.clock(), self._found(question, found), **self._turn_stores())

    def context(self, question: str | Asked | None, found: Any = None, system: str = "") -> Injection:
        """The whole turn for a question."""
        result = self._found(question, found)
        return turns.context(self._resolved_input(question), self.clock(), result, system, **self._turn_stores())

    def _resolved_input(self, question: Any) -> Asked:
        return self.read_input(question) if question is None or isinstance(question, str) else question

    def _turn_stores(self) -> dict[str, Any]:
        return {"config": self.ws.config, "events": self.events}

    def _found(self, question: Any, found: Any) -> Any:
        return self.ws.searcher.search(question, self.clock(), is_input=True) if found is None else found

    def save_receipt(self, turn: Injection) -> bool:
        return save_receipt(turn, receipts=self.ws.receipts, events=self.events)

    def why(self, turn: str | None = None) -> Receipt:
        return self.ws.receipts.read(turn)

    def prepared_contexts(self, search: Any = None) -> PreparedContexts:
        """What prepares the context of inbox.json; *search* replaces recall."""
        return PreparedContexts(
            history=self.ws.shown_history,
            groups=self.ws.groups,
            inbox=InboxFile(self.files, self.paths, self.ws.config, self.events),
            clock=self.clock,
            recall=search or (lambda question, _now, recent, _audience: self.search(question, recent)),
            summary_of=partial(kept_summary, self.ws),
            receipts=self.ws.receipts,
            **self._turn_stores(),
        )

    def index_updater(self, *changed: Callable[[], None]) -> IndexUpdater:
        """What keeps the index up to date between the rounds; *changed* is called when memory has changed."""
        return IndexUpdater(self.ws, *changed)

    # ── checking ─────────────────────────────────────────────────────────────

    def status(self) -> dict[str, Any]:
        return status(self.look())

    def report(self, **more: Any) -> tuple[Ledger, list[str]]:
        """What the timer runs each night."""
        return report_faults(self.ws, self.clock(), **more)

    def plan(self) -> dict[str, Any]:
        return perform(plan, self.ws, {}, Caller(clock=self.clock))

    def provider_state(self) -> Any:
        return provider_state(self.ws.task_queue)

    def fsck(self) -> Ledger:
        return fsck(self.ws)

    def look(self) -> Look:
        """A look of `status`, `doctor` or `fsck` at the workspace."""
        return Look(self.ws, self.clock())

    def verdict(self) -> tuple[list[str], bool]:
        """The first lines of `status`, and whether all is well."""
        return verdict(self.look())

    def repair(self) -> Repairs:
        return repair(self.ws, self.clock())

    def accept(self, name: str) -> int:
        return perform(accept, self.ws, {"file": Path(name)}, Caller(clock=self.clock))

    # ── running ──────────────────────────────────────────────────────────────

    def supervisor(self, manager: Any = None) -> Supervisor:
        """The service, without a worker of its own; a test calls `tick`."""
        return Supervisor(self.ws, self.clock, None, self.clock.monotonic, manager=manager)

    def worker(self, files: Files | None = None, model: Any = None) -> Worker:
        return Worker(FolderDesk(files or self.files, self.paths, self.ws.config), model or self.provider(), self.clock)

    def provider(self) -> Any:
        return self.model

    def work(self) -> int:
        """Let the worker do all that is queued, until its model can't be reached; returns how many tasks it did."""
        worker, done = self.worker(), 0
        with contextlib.suppress(NoCall):
            while (result := worker.run_once()) and result.reason != "provider":
                done += 1
        return done

    def settle(self, runs: Any = "all") -> None:
        """Do all that is due now, as `run --until-settled` does."""
        for _ in range(100):
            did = self.round(runs).did + self.work()
            if not did and not self.ws.task_queue.finished():
                return
        raise AssertionError("it never settles")

    def fill(self, messages: object) -> None:
        """Have what another program puts into history.json filed and searched."""
        self.write(messages)
        self.settle()
        self.refresh()

    def until_settled(self) -> None:
        """The real `run --until-settled`, with the worker in this process; 50 reports of progress mean that it never ends."""
        reports: list[object] = []

        def progress(*about: object) -> None:
            reports.append(about)
            assert len(reports) < 50, "it never ends"

        workers: Any = SimpleNamespace(failures=0, start_if_needed=self.work, watch_leases=lambda: None, stop=lambda: None)
        until_settled(self.ws, self.clock(), workers, Control(progress=progress))

    # ── what came of it ──────────────────────────────────────────────────────

    def history(self) -> list[Any]:
        found: list[Any] = json.loads(self.read("history.json") or b"[]")
        return found

    def ids(self) -> list[str]:
        return [message["id"] for message in self.history()]

    def dropped(self) -> list[str]:
        """The names of the files that are in the drop-box; of one that is claimed the name that its writer gave it."""
        return sorted(re.sub(r"^\.taken-[^-]*-[^-]*-", "", path.name) for path in self.paths.drop_box.iterdir())

    def flags(self) -> list[object]:
        return [message["archived"] for message in self.history()]

    def read(self, name: str) -> bytes | None:
        if not isinstance(self.disk, RealDisk):
            return self.disk.tree().get(name)
        path = self.root / name
        return path.read_bytes() if path.is_file() else None

    def tree(self, *, internal: bool = False) -> dict[str, bytes]:
        """Every file by its path but for lock files; those below .recalld/ only if *internal*."""
        if isinstance(self.disk, RealDisk):
            paths = sorted(path for path in self.root.rglob("*") if path.is_file())
            files = {path.relative_to(self.root).as_posix(): path.read_bytes() for path in paths}
        else:
            files = self.disk.tree()
        return {
            name: data
            for name, data in files.items()
            if not name.endswith(".lock") and (internal or not name.startswith(".recalld/"))
        }

    def dated_files(self) -> dict[str, tuple[Block, ...]]:
        """The messages of every dated file of ours by its path, so that a name in two places counts twice."""
        found = {}
        for name, data in self.tree().items():
            parsed = parse_dated(data, Path(name)) if name.startswith("memory/") and name.endswith(".md") else None
            if parsed:
                found[name] = tuple(parsed.blocks)
        return found

    def names(self) -> list[str]:
        """The names of the dated files of ours."""
        return [path.rpartition("/")[2] for path in self.dated_files()]

    def archived(self) -> list[tuple[str, str]]:
        """Id and text of every message in a dated file, sorted."""
        return sorted((block.id, block.text) for blocks in self.dated_files().values() for block in blocks)

    def archived_texts(self) -> list[str]:
        return sorted(text for _, text in self.archived())

    def summary(self, label: str) -> str:
        return (self.paths.summaries / f"{label}.md").read_text(encoding="utf-8")

    def standing(self) -> list[str]:
        """The periods whose summary stands; an extract that waits for its model does not."""
        return [label for label in self.summaries() if "\nwaits: true\n" not in self.summary(label)]

    def summaries(self) -> list[str]:
        return sorted(path.stem for path in self.paths.summaries.iterdir())


def without(messages: Sequence[Mapping[str, Any]], *fields: str) -> list[dict[str, Any]]:
    """The messages as a program writes them that does not know these fields."""
    return [{key: value for key, value in raw.items() if key not in fields} for raw in messages]


@contextlib.contextmanager
def signals_as_they_were() -> Iterator[None]:
    """Give SIGTERM and SIGINT their handlers back in the end, and write them to no pipe."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)


class Diarist(World):
    """A world that keeps a diary."""

    diary = True
