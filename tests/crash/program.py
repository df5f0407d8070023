"""The whole of recalld over one disk of the model: a supervisor and a worker in one thread, as the explorer runs them."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from supervisor.archive.append import append
from supervisor.archive.restore import restore_history
from supervisor.protocol.clock import from_wire, frozen, to_wire
from supervisor.protocol.errors import BadFile
from supervisor.protocol.files import Files
from supervisor.protocol.message import Message, read_message
from supervisor.service.lock import reclaim, sweep
from supervisor.service.round import Round, run_round
from supervisor.workspace import Workspace
from tests.checker.checker import Acked
from tests.checker.formats import read_dated, read_summary
from tests.checker.reading import DATED
from tests.checker.spoken import strings
from tests.crash.voice import Voice
from worker.loop import Worker
from worker.providers import ProviderError, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from supervisor.protocol.config import Config
    from supervisor.protocol.dated_file import Block
    from supervisor.protocol.task import Task
    from tests.crash.model_disk import ModelDisk

#: Rounds after which a workspace that still finds something to do is no longer waited for.
_CALM = 60
#: Every time in a workload is before it: a message's time is never taken for one in the future.
_LATEST = datetime(2100, 1, 1, tzinfo=UTC)


#: No file of recalld: the trials keep their time in it.
_CLOCK = "clock"


class Brief:
    """
    A provider that takes the first letters of each message.

    *fails* as often as it is told to, first; *fault* says how. *before* is called with each task, before its text is made.
    """

    name, model = "brief", ""

    def __init__(self, *, extract: bool = True, fails: int = 0, fault: Literal["input", "provider", "empty"] = "input") -> None:
        self.extract = extract
        self.fails = fails
        self.fault = fault
        self.is_down = False  # it could not be reached, and no time has passed since
        self.before: Callable[[Task], None] = lambda _: None
        self.asked: Callable[[Task], None] = lambda _: None

    def summarise(self, task: Task, blocks: Sequence[Block]) -> str:
        self.asked(task)
        self.before(task)
        if self.fails:
            self.fails -= 1
            if self.fault == "provider":
                self.is_down = True
                raise ProviderError("provider", "连不上", usage=Usage())
            if self.fault == "empty":
                return " "
            raise ValueError("不行")
        return "\n".join(["## 摘要", task.previous, *(f"- {_gist(block)}" for block in blocks)])


def _gist(block: Block) -> str:
    """A few Chinese letters of the message, and four that no other has: a text that repeats itself is refused."""
    digest = hashlib.sha256(f"{block.id} {block.text}".encode("utf-8", "surrogatepass")).digest()
    return re.sub(r"[\W_0-9a-zA-Z]+", "", block.text)[:12] + "".join(
        chr(0x4E00 + byte * 64 + digest[0] % 64) for byte in digest[:4]
    )


class Sink:
    """Where events go; *then* is called with each, as another program would act at that moment. None may hold words of *said*."""

    def __init__(self, disk: ModelDisk, said: Collection[str]) -> None:
        self.then: Callable[[str], None] = lambda _: None
        self.told: list[str] = []
        self._disk = disk
        self._said = said

    def emit(self, event: str, **fields: object) -> None:
        told = "\n".join(strings(json.loads(json.dumps(fields, default=str))))
        breaches = [f"the event {event} holds the words {text[:40]!r}" for text in self._said if text in told]
        self._disk.locks.breaches += breaches
        self.told.append(f"{event} {json.dumps(fields, sort_keys=True, default=str)}")
        self.then(event)

    def edge(self, event: str, state: object, over: str = "", **fields: object) -> None:
        if state:
            self.emit(event, **fields)


class NotCalm(AssertionError):
    """After many rounds there is still something to do."""


class Replaced(NamedTuple):
    """Un-written words that their author may have said anew: they need not be kept."""

    id: str
    text: str


class Program:
    """One life of recalld on *disk*; a mutant changes its parts."""

    def __init__(
        self, disk: ModelDisk, found: Config, provider: Brief | None = None, voice: Voice | None = None, called: str = "life"
    ) -> None:
        self.disk = disk
        self.voice = voice or Voice()
        self.events = Sink(disk, self.voice.said)
        self.config = found
        self.provider = provider or Brief()
        self.provider.asked = self._asked
        self.files = Files(disk, token=called, pause=lambda _: None)
        self.ws = Workspace(disk.root, found, self.files, self.events)
        self.now = _LATEST

    # ── what others say ──────────────────────────────────────────────────────

    def append(self, identity: str, text: str, created_at: str, role: str = "user", **fields: object) -> None:
        """Add a message as `recalld append` does, and acknowledge it; some seeds let another say something too."""
        self._append(identity, text, created_at, role, **fields)
        if self.voice.also(identity):
            self._append(f"{identity}-旁", f"旁边的人也说了一句，听到 {identity}。", created_at, role)

    def _append(self, identity: str, text: str, created_at: str, role: str, **fields: object) -> None:
        text = self.voice.words(identity, text)
        raw = {"id": identity, "role": role, "text": text, "createdAt": created_at, **fields}
        append(self.ws, [raw], _LATEST, b"")
        self.disk.ack(Acked(identity, text, created_at, role))

    def write(self, identity: str, text: str, created_at: str, role: str = "user", **fields: object) -> None:
        """Add a message as a program does that takes the lock and rewrites history.json, and acknowledge it."""
        text = self.voice.words(identity, text)
        raw = {"id": identity, "role": role, "text": text, "createdAt": created_at, **fields}
        self.ws.history.change(lambda history: (*history, read_message(raw, self.ws.zone)))
        self.disk.ack(Acked(identity, text, created_at, role))

    def revise(self, identity: str, text: str) -> None:
        """Give a message other words, as an assistant that streams does, and acknowledge them."""
        text = self.voice.words(f"{identity}~", text)

        def other(raw: Mapping[str, Any]) -> Any:
            return read_message({**raw, "text": text} if raw.get("id") == identity else raw, self.ws.zone)

        before = next(one for one in self.ws.history.read() if one.raw.get("id") == identity)
        if isinstance(before, Message) and not any(
            (one.id, one.text) == (identity, before.text)
            for path, data in self.disk.tree().items()
            if DATED.fullmatch(path) and (found := read_dated(data))
            for one in found.words
        ):
            self.disk.ack(Replaced(identity, before.text))
        history = self.ws.history.change(lambda history: tuple(other(entry.raw) for entry in history))
        raw = next(entry.raw for entry in history if entry.raw.get("id") == identity)
        self.disk.ack(Acked(identity, text, raw["createdAt"]))

    # ── what recalld does ────────────────────────────────────────────────────

    def start(self) -> None:
        """What a supervisor does first."""
        self.ws.prepare()
        sweep(self.ws)
        reclaim(self.ws)

    def round(self, now: datetime, runs: Literal["due", "all"] = "all") -> Round:
        """One round; a damaged history is restored as after a quiet minute, any other error is raised."""
        done = run_round(self.ws, now, runs)
        damaged = [error for error in done.errors.values() if isinstance(error, BadFile)]
        if damaged and not restore_history(self.ws, now):
            raise damaged[0]
        done.seen += len(damaged)  # there is more to do
        for error in done.errors.values():
            if error not in damaged:
                raise error
        return done

    def work(self, now: datetime) -> None:
        """Let a worker do what is queued."""
        self.provider.is_down = self.provider.is_down and now == self.now
        self.now = now
        worker = Worker(self.files, self.ws.layout, self.config, self.provider, frozen(now))
        while (result := worker.run_once()) and result.reason != "provider":
            pass

    def settle(self, now: str) -> None:
        """Start, and go on until nothing is left to do at *now*, as `run --until-settled`; time never goes back on a disk."""
        now = max(now, clock_of(self.disk))
        self.disk.plant(_CLOCK, now.encode())
        at = from_wire(now)
        with self.files.lock(self.ws.layout.supervisor_lock, wait_s=0):
            self.start()
            self.disk.bare()  # a start tidies up, and keeps nothing in mind
            for _ in range(_CALM):
                done = self.round(at)
                self.work(at)
                if not done.did and not self.ws.spool.in_flight():
                    return
        raise NotCalm(f"not calm after {_CALM} rounds at {to_wire(at)}: {self.events.told[-8:]}")

    # ── whether the model is asked in vain ───────────────────────────────────

    def _asked(self, task: Task) -> None:
        """Judge a question to the model: for what stands already, or before the group has waited, it is money for nothing."""
        tree = self.disk.tree()
        standing = read_summary(tree.get(f"memory/summary/{task.period}.md", b""))
        stands = all(standing.sources.get(source.name) == source.digest for source in task.sources)
        if stands and not task.redo and (self.provider.extract or standing.head.get("extract") != "true"):
            raise AssertionError(f"the model is asked again for {task.group}, which stands")
        failed = json.loads(tree.get(f"worker/failed/{task.group}.json", b"{}"))
        if self.provider.is_down:
            raise AssertionError("the provider is asked again at once")
        if failed and from_wire(failed["nextAt"]) > self.now and not task.redo:
            raise AssertionError(f"{task.group} is asked for before {failed['nextAt']}")


def clock_of(disk: ModelDisk) -> str:
    """When recalld last ran on this disk, "" for never."""
    return disk.tree().get(_CLOCK, b"").decode()


def wait(now: str, **span: float) -> str:
    """The time so much later."""
    return to_wire(from_wire(now) + timedelta(**span))
