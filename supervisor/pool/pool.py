"""
What passes through a pool of workers, which may forget everything at any moment.

Files are the truth: what a pool loses is offered again, what it repeats adds nothing. A *cargo* is a task with all that is
needed to do it, sealed; an *answer* is a result, or why there is none, sealed as well. Outside its workspace a task is named
by its *uid*, the workspace's name and the task's id. Source: docs/reference/protocol.md, 6.11.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from ..text.record import record

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
