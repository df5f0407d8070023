"""The whole of recalld over one disk of the model: a supervisor and a worker in one thread, as the explorer runs them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from supervisor.protocol.clock import from_wire, frozen, to_wire
from supervisor.protocol.config import Config, load
from supervisor.protocol.files import Files
from supervisor.protocol.message import read_message
from supervisor.recover import reclaim, sweep
from supervisor.round import Round, run_round
from supervisor.workspace import Workspace
from tests.checker.checker import Acked
from worker.loop import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from supervisor.protocol.dated import Block
    from supervisor.protocol.task import Task
    from tests.crash.model_disk import ModelDisk

ZONE = "Asia/Shanghai"
#: Rounds after which a workspace that still finds something to do is no longer waited for.
_CALM = 40


@lru_cache
def config(*pairs: tuple[str, str]) -> Config:
    """The configuration that these variables make, in the zone of the workloads."""
    return load(None, {"RECALLD_ARCHIVE_TIMEZONE": ZONE, **dict(pairs)})


class Brief:
    """A provider that takes the first letters of each message; *fails* as often as it is told to, first."""

    name, model = "brief", ""

    def __init__(self, *, extract: bool = True, fails: int = 0) -> None:
        self.extract = extract
        self.fails = fails

    def summarise(self, task: Task, blocks: Sequence[Block]) -> str:
        if self.fails:
            self.fails -= 1
            raise ValueError("不行")
        return "\n".join(["## 摘要", task.previous, *(f"- {block.text[:12]}" for block in blocks)])


class Sink:
    """Where events go; *then* is called with each, as another program would act at that moment."""

    def __init__(self) -> None:
        self.then: Callable[[str], None] = lambda _: None
        self.told: list[str] = []

    def emit(self, event: str, **_: object) -> None:
        self.told.append(event)
        self.then(event)

    def edge(self, event: str, state: object, over: str = "", **_: object) -> None:
        if state:
            self.emit(event)


class Program:
    """One life of recalld on *disk*; a mutant changes its parts."""

    def __init__(self, disk: ModelDisk, found: Config, provider: Brief | None = None, through: Any = None) -> None:
        self.disk = disk
        self.events = Sink()
        self.config = found
        self.provider = provider or Brief()
        self.files = Files(through or disk, token="life", pause=lambda _: None)  # noqa: S106 - part of a name, no secret
        self.ws = Workspace(disk.root, found, self.files, self.events)

    def append(self, identity: str, text: str, created_at: str, role: str = "user", **fields: object) -> None:
        """Add a message to history.json as `recalld append` does, and acknowledge it."""
        raw = {"id": identity, "role": role, "text": text, "createdAt": created_at, **fields}
        self.ws.history.change(lambda history: (*history, read_message(raw, self.ws.zone)))
        self.disk.ack(Acked(identity, text, created_at))

    def revise(self, identity: str, text: str) -> None:
        """Give a message other words, as an assistant that streams does, and acknowledge them."""

        def other(raw: Mapping[str, Any]) -> Any:
            return read_message({**raw, "text": text} if raw.get("id") == identity else raw, self.ws.zone)

        history = self.ws.history.change(lambda history: tuple(other(entry.raw) for entry in history))
        raw = next(entry.raw for entry in history if entry.raw.get("id") == identity)
        self.disk.ack(Acked(identity, text, raw["createdAt"]))

    def start(self) -> None:
        """What a supervisor does first."""
        self.ws.prepare()
        sweep(self.ws)
        reclaim(self.ws)

    def round(self, now: datetime, runs: Literal["due", "all"] = "all") -> Round:
        """One round; an error of any of its steps is raised."""
        done = run_round(self.ws, now, runs)
        for error in done.errors.values():
            raise error
        return done

    def work(self, now: datetime) -> None:
        """Let a worker do what is queued."""
        worker = Worker(self.files, self.ws.layout, self.config, self.provider, frozen(now))
        while worker.run_once():
            pass

    def settle(self, now: str) -> None:
        """Start, and go on until nothing is left to do at *now*, as `run --until-settled`."""
        at = from_wire(now)
        with self.files.lock(self.ws.layout.supervisor_lock, wait_s=0):
            self.start()
            for _ in range(_CALM):
                done = self.round(at)
                self.work(at)
                if not done.did and not self.ws.spool.in_flight():
                    return
        raise AssertionError(f"not calm after {_CALM} rounds at {to_wire(at)}: {self.events.told[-8:]}")
