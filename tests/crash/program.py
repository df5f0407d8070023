"""The whole of recalld over one disk of the model: a supervisor and a worker in one thread, as the explorer runs them."""

import hashlib
import json
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, Self

from recalld.supervisor.events import Events
from recalld.supervisor.host.round import Round
from recalld.supervisor.protocol.config import Config, load
from recalld.supervisor.protocol.config_keys import Log
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.message import Message, read_message
from recalld.supervisor.protocol.task import Task
from recalld.supervisor.storage.clock import from_wire, to_wire
from recalld.supervisor.storage.errors import BadFile, SupervisorError
from recalld.supervisor.text.word_frequency import telling_words
from recalld.worker.providers import ProviderError, Usage
from tests.checker.checker import Acked
from tests.checker.formats import read_dated, read_summary
from tests.checker.reading import DATED
from tests.checker.spoken import strings
from tests.crash.model_disk import ModelDisk
from tests.simulation.talk import ODD
from tests.world import Clock, World, message

#: Rounds after which a workspace that still finds something to do is no longer waited for.
_CALM = 60
#: Every time in a workload is before it: a message's time is never taken for one in the future.
_LATEST = datetime(2100, 1, 1, tzinfo=UTC)


#: No file of recalld: the trials keep their time in it.
_CLOCK = "clock"

ZONE = "Asia/Shanghai"
_ZONES = (
    ZONE, "UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "Pacific/Kiritimati",
    "Pacific/Honolulu", "Europe/Berlin",
)  # fmt: skip


@lru_cache
def config(*pairs: tuple[str, str], zone: str = ZONE) -> Config:
    """The configuration that these variables make; every day has a summary, however short, unless they say otherwise."""
    return load(None, {"RECALLD_ARCHIVE_TIMEZONE": zone, "RECALLD_SUMMARIZE_LEAST": "0", **dict(pairs)})


class Voice:
    """
    How the people and programs of one trial speak; *zone* is where they live.

    The seed decides the words, who else speaks, the time zone, how much the worker is given at once; equal seeds say the same. Seed 0
    changes nothing, so that a failure in CI reads as the workload does.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        rng = random.Random(f"zone {seed}")
        self.zone = rng.choice(_ZONES) if seed else ZONE
        self._queued = str(rng.choice((1, 2, 8))) if seed else "8"
        self.said: set[str] = set()  # every text, whether or not anybody came to promise that it is kept

    def config(self, *pairs: tuple[str, str]) -> Config:
        return config(("RECALLD_ARCHIVE_MAX_QUEUED", self._queued), *pairs, zone=self.zone)

    def words(self, identity: str, text: str) -> str:
        """What is said under this id in place of *text*."""
        text = self._words(identity, text)
        self.said.add(text)
        return text

    def _words(self, identity: str, text: str) -> str:
        if not self.seed:
            return text
        rng = random.Random(f"{self.seed} {identity} {text}")
        text = "，".join([text, *(f"第{rng.randrange(1000)}件事" for _ in range(rng.choice((0, 1, 3, 40))))])
        return rng.choice(ODD).format(text) if rng.random() < 0.7 else text

    def also(self, identity: str) -> bool:
        """Tell whether somebody else says something at the same time."""
        return bool(self.seed) and random.Random(f"{self.seed} also {identity}").random() < 0.4


class Brief:
    """
    A provider that takes the first letters of each message.

    *fails* as often as it is told to, first; *fault* says how. *before* is called with each task, before its text is made.
    """

    name, model = "brief", ""

    def __init__(self, *, extract: bool = True, fails: int = 0, fault: Literal["input", "provider"] = "input") -> None:
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
            raise ValueError("不行")
        return "\n".join(["## 摘要", task.previous, *(f"- {_gist(block)}" for block in blocks)])


def _gist(block: Block) -> str:
    """Words that tell, and four letters that no other message has: a text that is vague, or repeats itself, is refused."""
    digest = hashlib.sha256(f"{block.id} {block.text}".encode("utf-8", "surrogatepass")).digest()
    letters = "".join(chr(0x4E00 + byte * 64 + digest[0] % 64) for byte in digest[:4])
    return f"{' '.join(sorted(telling_words(block.text))[:4])} {letters}"


class Sink(Events):
    """Where events go; *then* is called with each, as another program would act at that moment. None may hold words of *said*."""

    def __init__(self, disk: ModelDisk, said: Collection[str]) -> None:
        super().__init__(Path("unused"), lambda: datetime.max.replace(tzinfo=UTC), Log())
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

    def transition(self, event: str, active: object, cleared: str = "", *, what: str = "", **fields: object) -> None:
        if active:
            self.emit(event, **fields)

    def report(self, key: str, errors: Iterable[SupervisorError], *, once: bool = False) -> None:
        for error in errors:
            self.emit("degraded", what=key, why=str(error))


class NotCalm(AssertionError):
    """After many rounds there is still something to do."""


class Replaced(NamedTuple):
    """Un-written words that their author may have said anew: they need not be kept."""

    id: str
    text: str


class Program(World):
    """One life of recalld on *disk*; a mutant changes its parts."""

    model: Brief
    events: Sink
    diary = True

    def __init__(
        self, disk: ModelDisk, found: Config, model: Brief | None = None, voice: Voice | None = None, called: str = "life"
    ) -> None:
        self.root = disk.root
        self.clock = Clock(_LATEST)
        self.random = Random(0)
        self.voice = voice or Voice()
        self.events = Sink(disk, self.voice.said)
        self.model = model or Brief()
        self.model.asked = self._asked
        self.open(found, disk, called)

    def at(self, now: str) -> Self:
        """Set the clock."""
        when = from_wire(now)
        self.model.is_down = self.model.is_down and when == self.clock()
        self.clock.now = when
        return self

    # ── what others say ──────────────────────────────────────────────────────

    def say(self, identity: str, text: str, created_at: str, role: str = "user", **fields: object) -> None:
        """Add a message as `recalld append` does, and acknowledge it; some seeds let another say something too."""
        self._say(identity, text, created_at, role, **fields)
        if self.voice.also(identity):
            self._say(f"{identity}-旁", f"旁边的人也说了一句，听到 {identity}。", created_at, role)

    def _say(self, identity: str, text: str, created_at: str, role: str, **fields: object) -> None:
        text = self.voice.words(identity, text)
        self.append(message(identity, created_at, text, role, **fields), now=_LATEST)
        self.disk.ack(Acked(identity, text, created_at, role))

    def say_under_lock(self, identity: str, text: str, created_at: str, role: str = "user", **fields: object) -> None:
        """Add a message as a program does that takes the lock and rewrites history.json, and acknowledge it."""
        text = self.voice.words(identity, text)
        raw = message(identity, created_at, text, role, **fields)
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

    def round(self, runs: Literal["due", "all"] = "all") -> Round:
        """One round; a damaged history is restored as after a quiet minute, any other error is raised."""
        done = super().round(runs)
        damaged = [error for error in done.errors.values() if isinstance(error, BadFile)]
        if damaged and not self.restore():
            raise damaged[0]
        done.seen += len(damaged)  # there is more to do
        for error in done.errors.values():
            if error not in damaged:
                raise error
        return done

    def settle(self, runs: Literal["due", "all"] = "all") -> None:
        """Start, and go on until nothing is left to do, as `run --until-settled`; time never goes back on a disk."""
        now = max(to_wire(self.clock()), clock_of(self.disk))
        self.at(now).put(_CLOCK, now)
        with self.disk.lock_for_life(self.paths.supervisor_lock, 0):
            self.start()
            self.disk.bare()  # a start tidies up, and keeps nothing in mind
            for _ in range(_CALM):
                done = self.round(runs)
                self.work()
                if not done.did and not self.ws.task_queue.active_groups():
                    return
        raise NotCalm(f"not calm after {_CALM} rounds at {now}: {self.events.told[-8:]}")

    # ── whether the model is asked in vain ───────────────────────────────────

    def _asked(self, task: Task) -> None:
        """Judge a question to the model: for what stands already, or before the group has waited, it is money for nothing."""
        tree = self.disk.tree()
        standing = read_summary(tree.get(f"memory/summary/{task.period}.md", b""))
        stands = all(standing.sources.get(source.name) == source.digest for source in task.sources)
        if stands and not task.redo and (self.model.extract or standing.head.get("extract") != "true"):
            raise AssertionError(f"the model is asked again for {task.group}, which stands")
        failed = json.loads(tree.get(f"worker/failed/{task.group}.json", b"{}"))
        if self.model.is_down:
            raise AssertionError("the provider is asked again at once")
        if failed and from_wire(failed["nextAt"]) > self.clock() and not task.redo:
            raise AssertionError(f"{task.group} is asked for before {failed['nextAt']}")


def clock_of(disk: ModelDisk) -> str:
    """When recalld last ran on this disk, "" for never."""
    return disk.tree().get(_CLOCK, b"").decode()


def wait(now: str, **span: float) -> str:
    """The time so much later."""
    return to_wire(from_wire(now) + timedelta(**span))
