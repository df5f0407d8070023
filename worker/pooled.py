"""
A task of the pool as a claim: its cargo is opened in memory, and what becomes of it is sealed again and delivered.

A pool worker has no workspace and no state on disk. A call is made only within what the workspace has reserved; a task that
needs more goes back without a failure, and its host offers it again with more.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from recalld.supervisor.pool.cargo import Contents, Outcome, PoolAway, Seal, Unsealable, Why, rendered, unpacked
from recalld.supervisor.protocol.config import Config
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.llm import Account
from recalld.supervisor.protocol.prompts import PromptTemplate, read_template, shipped_template
from recalld.supervisor.protocol.task import AskedTask, NewerVersion, Result, Task, result_of
from recalld.supervisor.storage.clock import Clock
from recalld.supervisor.storage.texts import Text
from recalld.supervisor.text.language import Language

from .providers import NoCall

if TYPE_CHECKING:
    from .crew import RedisHold


def opened(hold: RedisHold, seal: Seal) -> Contents:
    """Return what is in the cargo; Unsealable where this worker can't read it."""
    data = seal.unseal("cargo", hold.uid, hold.sealed)
    try:
        cargo = unpacked(data)
    except NewerVersion:
        raise Unsealable("newer") from None
    except ValueError:
        raise Unsealable("changed") from None
    if not hold.uid.endswith(f".{cargo.task.id}"):
        raise Unsealable("changed")
    return cargo


@dataclass(slots=True, eq=False)
class PoolClaim:
    """One task of the pool (`desk.Claim`), its log of calls (`calls.CallBook`), and its finished pieces (`desk.Kept`)."""

    hold: RedisHold
    contents: Contents
    seal: Seal
    used: int = 0
    _why: Why = "ended"
    _names: set[str] = field(default_factory=set)

    @property
    def task(self) -> Task | AskedTask:
        """What is to be done."""
        return self.contents.task

    @property
    def config(self) -> Config:
        """The workspace's, as far as a worker needs it."""
        return self.contents.config

    @property
    def log(self) -> PoolClaim:
        """Counts calls against what was reserved."""
        return self

    @property
    def kept(self) -> PoolClaim:
        """Keeps finished pieces in the pool."""
        return self

    @property
    def lost(self) -> bool:
        """Whether another has it, or nobody wants it."""
        return self.hold.lost

    def material(self, *, with_extracts: bool) -> list[Block]:  # noqa: ARG002 - its host has seen to that
        """Return the messages of the cargo."""
        return list(self.contents.blocks)

    def template(self, name: str, language: Language) -> PromptTemplate:
        """Return the workspace's own prompt, else the one that this worker ships."""
        file = f"{name}.{language}.md"
        prompt = self.contents.prompts.get(file)
        return shipped_template(name, language) if prompt is None else read_template(name, file, prompt.encode())

    # ── calls ────────────────────────────────────────────────────────────────

    def begin(self, now: datetime, most: int | None, account: Account = "summaries") -> bool:  # noqa: ARG002 - the host has counted
        """Count one call; NoCall where it may not be made now."""
        if self.used >= self.contents.reserve.calls:
            self._why = "short"
            raise NoCall(Text("the task needs more calls than were reserved for it"))
        self.used += 1
        return True

    @property
    def _workspace(self) -> str:
        return self.hold.uid.partition(".")[0]

    # ── pieces ───────────────────────────────────────────────────────────────

    def find(self, request: str) -> str | None:
        """Return the kept answer to *request*."""
        name = self._name(request)
        with suppress(PoolAway, Unsealable):
            sealed = self.hold.find(name)
            return self.seal.unseal("kept", name, sealed).decode() if sealed else None
        return None

    def keep(self, request: str, answer: str) -> None:
        """Keep the answer for a while; a pool that is away costs this piece at the next try, not the summary."""
        name = self._name(request)
        with suppress(PoolAway):
            self.hold.keep(name, self.seal.seal("kept", name, answer.encode("utf-8", "replace")))

    def clear(self) -> None:
        """Delete the pieces that were used."""
        with suppress(PoolAway):
            self.hold.forget(self._names)

    def _name(self, request: str) -> str:
        name = hashlib.sha256(f"{self._workspace}\n{self.task.group}\n{request}".encode("utf-8", "replace")).hexdigest()
        self._names.add(name)
        return name

    # ── the end ──────────────────────────────────────────────────────────────

    def held(self) -> bool:
        """Return whether this process still has the task."""
        return not self.hold.lost

    def finish(self, result: Result) -> None:
        """Deliver the result; a task that only needs more calls than were reserved goes back."""
        if result.reason == "spent" and self._why == "short":
            self.give_back()
            return
        self._deliver(Outcome(reserve=self.contents.reserve, used=self.used, result=result))

    def give_back(self) -> None:
        """Tell the host why the task was not done."""
        if not self.hold.lost:
            self._deliver(Outcome(reserve=self.contents.reserve, used=self.used, why=self._why))

    def _deliver(self, outcome: Outcome) -> None:
        self.hold.deliver(self.seal.seal("answer", self.hold.uid, rendered(outcome)))


def ended_twice(hold: RedisHold, contents: Contents, seal: Seal, clock: Clock) -> None:
    """Deliver that two workers have ended over this task: it is not begun a third time, and its group waits."""
    now = clock()
    result = result_of(contents.task, now, now, status="failed", reason="input", error=Text("its worker ended twice"))
    outcome = Outcome(reserve=contents.reserve, used=contents.reserve.calls, result=result)
    hold.deliver(seal.seal("answer", hold.uid, rendered(outcome)))
