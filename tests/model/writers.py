"""
Those who write history.json: through the lock, around it, with ids or without; and the words they are owed.

`Writers.live` is what the promise is about: the words that must be somewhere, until a person takes them out. Words are
added the moment they stand in history; a program without the lock may still lose what no look has seen.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from tests.model.protocol_model import Supervisor
from tests.model.state import DAY, SMALL, Disk, Limits, Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.model.state import Dated, Group, Task

START_DAY = 40


class Writers:
    """A disk, the supervisor on it, and the programs around. Moves that are not possible now do nothing."""

    def __init__(self, limits: Limits = SMALL, make: type[Supervisor] = Supervisor) -> None:
        self.disk = Disk(now=START_DAY * DAY + 600)
        self.limits = limits
        self.make = make
        self.supervisor = make(self.disk, limits)
        self.held: list[tuple[Task, int]] = []  # tasks in the hands of suspended workers, and since when
        self.snapshot: list[Message] | None = None  # what a program without the lock has read
        self.trash: list[Dated] = []
        self.live: dict[str, None] = {}  # words that must be somewhere
        self.taken_out: set[str] = set()  # words that a person took out
        self.gone: set[str] = set()  # those of them that the journal knew to be written
        self.failures: dict[Group, int] = {}
        self.deleted_texts: set[int] = set()
        self.serial = 0
        self.on_write: Callable[[str], None] = lambda _label: None
        self.log: list[str] = []

    def words(self, what: str) -> str:
        """Words never said before."""
        self.serial += 1
        return f"{what}{self.serial}"

    def append(self, *, days_ago: int = 0, text: str | None = None) -> Message:
        """A message, under the lock; a late one has an old createdAt."""
        text = text or self.words("句")
        message = Message(f"a{self.serial}", text, self.disk.now - days_ago * DAY)
        self.disk.history.append(message)
        self.stands(message.text)
        return message

    def stands(self, text: str) -> None:
        """Words are in history now, and may not be lost from here on."""
        if text not in self.gone:
            self.live[text] = None

    def revise(self, index: int) -> None:
        """Other words under the same id (an assistant that streams, or corrects itself)."""
        if self.disk.history:
            message = self.disk.history[index % len(self.disk.history)]
            old, message.text = message.text, self.words(f"{message.text.partition('改')[0]}改")
            self.forget_unless_filed(old)
            self.stands(message.text)

    def forget_unless_filed(self, text: str) -> None:
        """Words that their own writer took back before they were written are owed to nobody."""
        if text not in self.filed_words():
            self.live.pop(text, None)

    def filed_words(self) -> set[str]:
        """All words in dated files."""
        return {text for file in self.disk.dated.values() for text in file.blocks.values()}

    def strip_ids(self) -> None:
        """A program rewrites history with the fields it knows: no ids, no flags."""
        for message in self.disk.history:
            message.id, message.flag = None, "false"

    def foreign_reads(self) -> None:
        """A program without the lock reads history."""
        self.snapshot = [copy(message) for message in self.disk.history]

    def foreign_writes(self, *, strips: bool = False) -> None:
        """It writes what it had read, with a message more: what came in between is not in it."""
        if self.snapshot is None:
            return
        self.replace([*self.snapshot, Message(f"f{self.serial}", self.words("外"), self.disk.now)])
        self.snapshot = None
        if strips:
            self.strip_ids()

    def foreign_cap(self, kept: int) -> None:
        """A program with a cap of its own drops the oldest."""
        self.replace([copy(message) for message in self.disk.history[-kept:]])

    def replace(self, history: list[Message]) -> None:
        """History as another program wants it; what no look has seen, or an entry's other words, may be lost by that."""
        before, self.disk.history = self.disk.history, history
        now, kept = {message.text for message in history}, self.filed_words()
        taken_back = {text.partition("改")[0] for text in now}
        copies = {seen.text for seen in self.disk.journal.values() if not seen.written}
        for text in [*(message.text for message in before), *(text for text in self.live if text in copies)]:
            if text not in now | kept and (text not in copies or text.partition("改")[0] in taken_back):
                self.live.pop(text, None)
        for text in now:
            self.stands(text)
