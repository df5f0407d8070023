"""What a check is, what it finds, and the look at a workspace that all checks share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ..archive.coverage import MemoryFile
from ..archive.deletions import Absences
from ..archive.identity import assign_ids
from ..archive.intake import unwritten
from ..protocol.message import History, Message
from ..storage.clock import local
from ..storage.errors import BadFile
from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from ..workspace import Workspace

if TYPE_CHECKING:
    from .fsck import Ledger

State: TypeAlias = Literal["good", "odd", "bad"]

#: A command in a sentence.
_COMMAND: Final = lazy_re(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Finding:
    """
    What a *check* found: "odd" if it may be intended, "bad" if it stops recalld or a part of it, "good" if nothing is wrong.

    *why* is a sentence, "" if it is good; *mend* is the command that it names.
    """

    state: State
    why: str
    check: str = ""
    mend: str | None = None

    def __post_init__(self) -> None:
        if self.mend is None and (match := _COMMAND.search(self.why)):
            object.__setattr__(self, "mend", match[1])


Faults: TypeAlias = Iterator[Finding]


def odd(why: str, /, **fields: object) -> Finding:
    """Return a fault that may be intended: a Text, or the sentence of one with its fields."""
    return Finding("odd", why if isinstance(why, Text) else Text(why, **fields))


def bad(why: str, /, **fields: object) -> Finding:
    """Return a fault that stops recalld, or a part of it: a Text, or the sentence of one with its fields."""
    return Finding("bad", why if isinstance(why, Text) else Text(why, **fields))


@dataclass(eq=False)
class Look:
    """
    A look at a workspace: what the checks read, and what one check found out for the others.

    *ask* returns the version of the supervisor at the socket, "" if it does not respond or is too old to report one, None if
    nobody listens. *version* returns the installed version. A *slow* look may take its time.
    """

    ws: Workspace
    now: datetime
    ask: Callable[[], str | None] = lambda: None
    version: Callable[[], str] = lambda: ""
    slow: bool = False

    @cached_property
    def ledger(self) -> Ledger:
        """The account of all messages."""
        from .fsck import fsck  # imported here, since `status` does not need it

        return fsck(self.ws)

    @cached_property
    def is_running(self) -> bool:
        """Whether a supervisor runs in the workspace."""
        return self.ws.files.disk.is_locked(self.ws.paths.supervisor_lock)

    @cached_property
    def no_history(self) -> BadFile | None:
        """Why history.json can't be read; None if it can."""
        self.ws.journal.refresh()
        try:
            self.ws.history.read()
        except BadFile as error:
            return error
        return None

    @cached_property
    def history(self) -> History:
        """The messages of history.json; none if it can't be read."""
        messages = () if self.no_history else self.ws.history.read()
        # they may have no ids before a supervisor has looked at them
        return assign_ids(messages, self.ws.journal.known, self.now, self.ws.config.archive.future_limit)

    @cached_property
    def files(self) -> tuple[MemoryFile, ...]:
        """The dated files."""
        return self.ws.memory.dated()

    @cached_property
    def absences(self) -> Absences:
        """What the dated files no longer hold."""
        return self.ws.deletions.absences(self.files)

    @cached_property
    def dropped(self) -> tuple[list[Message], dict[str, str]]:
        """The messages of the drop-box, which no supervisor has taken in yet, and why other files in it can't be read."""
        return self.ws.drop_box.read()

    @cached_property
    def waiting(self) -> list[Message]:
        """The messages of history.json and of the drop-box that are in no dated file yet."""
        waiting, file_of = unwritten(self.history, self.ws.journal), self.ws.journal.file_of
        known = {entry.id for entry in self.history if isinstance(entry, Message)}
        return waiting + [message for message in self.dropped[0] if message.id not in known and file_of(message.key) is None]

    def local_time(self, time: datetime) -> str:
        """Return the time as people read it, in the time zone of the workspace."""
        return f"{local(time, self.ws.zone):%Y-%m-%d %H:%M}"


@dataclass(frozen=True, slots=True)
class Check:
    """
    A row of the table: the *name* under which `doctor` lists the check, and what finds its faults.

    A *slow* one is for a slow look alone. `status` tells also what one that *advises* finds odd; `fsck` tells what one that
    *counts* finds.
    """

    name: str
    find: Callable[[Look], Faults]
    slow: bool = False
    advises: bool = False
    counts: bool = False
