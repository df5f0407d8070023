"""
What lies on the disk of the modelled workspace, and nothing else.

Words are short strings that are never used twice, so that "the same message" can be seen from outside; a digest is a
checksum of the blocks. Time is minutes; a month has `Limits.month_days` days. Fields called *ghost* are written by
the model and read by the checker alone: they say what a text was really made from.
Follows protocol.md 1 to 6; the turns, formats and bytes are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal
from zlib import crc32

DAY: Final = 1440  # minutes

Flag = Literal["false", "pending", "true"]
Group = tuple[Literal["day", "month"], int]  # ("day", 41): the 42nd day of the model's calendar
Pair = tuple[str, int]  # the name of a dated file and the digest it had
Status = Literal["done", "failed", "provider"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers of 003, each with its default."""

    young_days: int = 5
    month_days: int = 30
    due_messages: int = 100
    due_minutes: int = 360
    soft: int = 200
    hard: int = 300
    newest: int = 20
    queued: int = 8
    context: int = 60  # dated files that one month task may carry as they are


#: The same rules in small, so that a walk of sixty moves meets every cap and several month ends.
SMALL: Final = Limits(month_days=12, due_messages=3, soft=8, hard=12, newest=3, queued=3, context=3)


@dataclass(slots=True)
class Message:
    """One entry of history.json; *id* is None where a program took it off."""

    id: str | None
    text: str
    at: int
    flag: Flag = "false"


@dataclass(slots=True)
class Seen:
    """One entry of the seen journal: the words while un-written, afterwards only that they were written, and where."""

    text: str
    at: int
    written: bool = False
    file: str = ""
    put_back: bool = False


@dataclass(slots=True)
class Dated:
    """A dated file: the words of one day, one run."""

    name: str
    day: int
    created: int
    blocks: dict[str, str]  # id as filed (`a7`, `a7~…` for a revision) → words
    moved: bool = False  # lies in originals/
    digest: int = 0

    def __post_init__(self) -> None:
        self.seal()

    def seal(self) -> None:
        """Let the digest follow the blocks."""
        self.digest = crc32(repr(self.blocks).encode())


@dataclass(slots=True)
class Summary:
    """A standing summary/<period>.md; *text* numbers its last machine part (0: a person wrote all of it)."""

    sources: dict[str, int]
    text: int
    extract: bool = False
    notes: list[str] = field(default_factory=list)  # what a person wrote into it
    read: frozenset[Pair] = frozenset()  # ghost: all that the text was made from, extracts counted
    knows: frozenset[Pair] = frozenset()  # ghost: the same by way of models alone


@dataclass(frozen=True, slots=True)
class Task:
    """A file in worker/queue or worker/running."""

    id: str
    group: Group
    sources: dict[str, int]
    attempt: int
    previous: int | None  # the text that it carries on from
    redo: bool
    extract_inside: bool  # the material holds an extract
    read: frozenset[Pair]  # ghost, as in Summary
    knows: frozenset[Pair]  # ghost


@dataclass(slots=True)
class Running:
    """A claimed task; *silent* once its worker has not touched the file for two minutes."""

    task: Task
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """A file in worker/results."""

    task: Task
    status: Status
    sources: dict[str, int]  # as echoed
    extract: bool
    text: int
    started: int


@dataclass(slots=True)
class Wait:
    """worker/failed/<group>.json or provider.json."""

    attempts: int
    failed_at: int
    next_at: int


@dataclass(slots=True)
class Disk:
    """All that survives a crash, and the two settings of the world that the supervisor reads: the clock, the provider."""

    now: int
    history: list[Message] = field(default_factory=list)
    journal: dict[str, Seen] = field(default_factory=dict)
    dated: dict[str, Dated] = field(default_factory=dict)
    summaries: dict[Group, Summary] = field(default_factory=dict)
    queue: dict[str, Task] = field(default_factory=dict)
    running: dict[str, Running] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    failed: dict[Group, Wait] = field(default_factory=dict)
    provider: Wait | None = None
    uptime: int = 0  # monotonic minutes
    model: bool = True  # False: only extracts can be made
    full: bool = False  # no room for new bytes

    @property
    def today(self) -> int:
        """The local day."""
        return self.now // DAY


def task_id(group: Group, sources: dict[str, int], attempt: int) -> str:
    """The name of a task, from what it is about alone: submitting it twice makes one file."""
    return f"{group[0]}-{group[1]}-{crc32(repr(sorted(sources.items())).encode()):08x}-{attempt}"
