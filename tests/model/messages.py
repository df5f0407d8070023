"""
The questions about messages that the protocol answers from the files alone: who one is, whether it is written, what is due.

Each is a method of its own, so that a mutant can get exactly one of them wrong. Nothing here changes the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.model.state import Dated, Disk, Limits, Message


def derived_id(message: Message) -> str:
    """The id of a message that came without one, from its content alone."""
    return f"m-{message.at}-{message.text}"


class Messages:
    """What the supervisor reads off the disk about messages."""

    def __init__(self, disk: Disk, limits: Limits) -> None:
        self.disk = disk
        self.limits = limits

    def filed(self) -> dict[str, tuple[Dated, str]]:
        """Id as filed → its dated file and the words found there."""
        return {key: (file, text) for file in self.disk.dated.values() for key, text in file.blocks.items()}

    def written(self, key: str, text: str, filed: dict[str, tuple[Dated, str]]) -> bool:
        """Whether a dated file holds these words, or the journal says that one once did."""
        if key in filed and filed[key][1] == text:
            return True
        seen = self.disk.journal.get(key)
        return seen is not None and seen.written and seen.text == text

    def key_of(self, message: Message, filed: dict[str, tuple[Dated, str]]) -> str:
        """The id a message is filed under: its own, or `<id>~<words>` where other words of that id are written."""
        assert message.id is not None
        seen, twin = self.disk.journal.get(message.id), derived_id(message)
        if seen is not None and seen.text == message.text:
            return message.id
        if self.known(twin, message) and all(other.id != twin for other in self.disk.history):
            return twin  # seen once without its id, now another program's older copy brings that back
        if seen is None or not self.written(message.id, seen.text, filed):
            return message.id
        return f"{message.id}~{message.text}"

    def known(self, key: str, message: Message) -> bool:
        """Whether the journal holds this very message under that key."""
        seen = self.disk.journal.get(key)
        return seen is not None and (seen.at, seen.text) == (message.at, message.text)

    def identity(self, message: Message) -> str:
        """The id of an entry without one: that of the known message it is, else one made from its content."""
        present = {other.id for other in self.disk.history}
        for key in self.disk.journal:
            base = key.partition("~")[0]
            if self.known(key, message) and base not in present:
                return base
        derived = derived_id(message)
        numbers = (derived if n == 1 else f"{derived}-{n}" for n in range(1, len(self.disk.history) + 2))
        return next(name for name in numbers if name not in present)

    def unwritten(self) -> list[str]:
        """The keys whose words wait for a dated file: those in history, and those the journal alone still has."""
        filed = self.filed()
        here = {m.id: m.text for m in self.disk.history}
        waiting = [key for key, seen in self.disk.journal.items() if not self.written(key, seen.text, filed)]
        return [k for k in waiting if here.get(k.partition("~")[0], self.disk.journal[k].text) == self.disk.journal[k].text]

    def last_run(self) -> int | None:
        """When the newest dated file was made; one from the future says nothing."""
        return max((f.created for f in self.disk.dated.values() if f.created <= self.disk.now), default=None)

    def due(self, unwritten: list[str]) -> bool:
        """Whether a run is due. A wait that can't be known (createdAt ahead of the clock) is over."""
        if len(unwritten) > self.limits.due_messages:
            return True
        now, last = self.disk.now, self.last_run()
        since = min((self.disk.journal[key].at for key in unwritten), default=now) if last is None else last
        return bool(unwritten) and (since > now or now - since >= self.limits.due_minutes)

    def free_name(self, day: int) -> str:
        """A file name of that day that nothing has ever had."""
        taken = {*self.disk.dated, *(seen.file for seen in self.disk.journal.values())}
        for summary in self.disk.summaries.values():
            taken.update(summary.sources)
        return next(name for n in range(1, 10_000) if (name := f"{day}-部署-{n}") not in taken)
