"""
The port to a pool of workers, which may forget everything at any moment, and what passes through it.

Files are the truth: what a pool loses is offered again, what it repeats adds nothing. A *cargo* is a task with all that is
needed to do it, sealed; an *answer* is a result, or why there is none, sealed as well. Outside its workspace a task is named
by its *uid*, the workspace's name and the task's id. Source: docs/reference/protocol.md, 6.11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from ..text.record import record

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ..protocol.task import Result

Uid: TypeAlias = str
#: What became of a task that was offered: it waits for a worker, a worker has it, or its answer waits for its host.
Sign: TypeAlias = Literal["waits", "runs", "done"]


@record
class Cargo:
    """A sealed task on its way to the pool; a person waits for one that *is_asked*."""

    uid: Uid
    sealed: bytes
    is_asked: bool = False


@record
class Answer:
    """What the pool has made of a task, sealed; *refused* says in one word why a worker could not read the cargo."""

    uid: Uid
    sealed: bytes
    refused: str = ""


class PoolAway(Exception):
    """The pool can't be reached, or can't be used; the sentence says why. What was asked of it is asked again."""


class Pool(Protocol):
    """A pool as a courier sees it. Every call may raise PoolAway, and may have been carried out all the same."""

    def room(self) -> int:
        """Return how many tasks may be offered now."""
        ...

    def offer(self, cargo: Cargo) -> Literal["new", "known", "done"]:
        """Offer a task. One that is known is left alone; the answer of one that is done comes again."""
        ...

    def signs(self, uids: Collection[Uid]) -> Mapping[Uid, Sign]:
        """Return what is known of these tasks; one of which nothing is known is missing in it."""
        ...

    def withdraw(self, uids: Collection[Uid]) -> None:
        """Take back what no worker has begun, as far as that can be done."""
        ...

    def take(self) -> Sequence[Answer]:
        """Return the answers that have come; each comes again until it was `taken`."""
        ...

    def report(self, workspace: str, profile: str, spent: int) -> None:
        """Say how many calls the workspace has spent today: without that it gets none."""
        ...

    def taken(self, answers: Sequence[Answer]) -> None:
        """Forget these answers, which are durable here."""
        ...

    def come_again(self, uid: Uid) -> None:
        """Have the answer of a task that is done come to this host, if it is not on its way."""
        ...

    def leave(self, answers: Sequence[Answer]) -> None:
        """Leave these answers to whoever offers their tasks again."""
        ...


class Hold(Protocol):
    """A task as a pool worker has it, by a lock that this process renews; every call may raise PoolAway."""

    uid: Uid
    sealed: bytes

    @property
    def lost(self) -> bool:
        """Whether another has it, or nobody wants it any more."""
        ...

    def deliver(self, answer: Answer, host: str) -> None:
        """Give the answer to the host, once, and end the lock; goes on until the pool has it."""
        ...

    def find(self, name: str) -> bytes | None:
        """Return what was kept under this name for a while."""
        ...

    def keep(self, name: str, data: bytes) -> None:
        """Keep it for a while."""
        ...

    def forget(self, names: Collection[str]) -> None:
        """Delete what was kept."""
        ...


class Limits(Protocol):
    """What all workers of the pool may ask of a provider together."""

    def pause_s(self) -> int:
        """Return for how many seconds the provider is left alone, 0 where it may be asked."""
        ...

    def turn(self, host: str, tokens: int) -> tuple[Literal["busy", "spent"], int] | None:
        """Wait for a turn with the provider and count the call; or why there is none, and for how many seconds."""
        ...

    def ended(self, result: Result) -> None:
        """Note what a task has cost; after a fault of the provider no worker of the pool asks it for a while."""
        ...
