"""
History and the seen journal: look, put back, settle, the archive run, trim; one `yield` after each durable write.

Follows protocol.md 2, 3 and 5. A run marks, writes one dated file a day and notes it; only settling says `true`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.model.coverage import Coverage
from tests.model.state import DAY, Dated, Flag, Group, Message, Seen

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_RUN_WAIT: Final = 10  # minutes between runs that could not write


class DiskFullError(Exception):
    """No room for new bytes; what was there is untouched."""


class Archiving(Coverage):
    """The steps of a round that handle messages; the two fields are all that a process remembers."""

    run_wait = 0  # minutes
    run_not_before = 0  # of the monotonic clock

    def room(self) -> None:
        """Stop before a write that would not fit."""
        if self.disk.full:
            raise DiskFullError

    def note_written(self) -> Iterator[str]:
        """After a crash between a dated file and its note: the file is the evidence."""
        filed = self.filed()
        late = [(key, s) for key, s in self.disk.journal.items() if not s.written and self.written(key, s.text, filed)]
        if late:
            self.room()
            for key, seen in late:
                seen.written, seen.file = True, filed[key][0].name
            yield "note"

    def look(self) -> Iterator[str]:
        """Give every entry its id, then let the journal hold the words of all that is new."""
        if any(message.id is None for message in self.disk.history):
            self.room()
            for message in self.disk.history:
                if message.id is None:
                    message.id = self.identity(message)
            yield "ids"
        filed, journal = self.filed(), self.disk.journal
        current = {self.key_of(m, filed): m for m in self.disk.history if m.id is not None}
        news = {key: m for key, m in current.items() if key not in journal or journal[key].text != m.text}
        bases = {message.id for message in current.values()}
        outdone = [
            key
            for key, seen in journal.items()
            if "~" in key and key.partition("~")[0] in bases and key not in current
            if not self.written(key, seen.text, filed)
        ]
        if news or outdone:
            self.room()
            for key, message in news.items():
                journal[key] = Seen(message.text, message.at, put_back=key in journal and journal[key].put_back)
            for key in outdone:
                del journal[key]
            yield "journal"

    def put_back(self) -> Iterator[str]:
        """What vanished un-written returns to history, once; gone again, the journal's copy is archived."""
        filed = self.filed()
        gone = [key for key, seen in self.disk.journal.items() if not seen.put_back and self.vanished(key, filed)]
        if not gone:
            return
        self.room()
        for key in gone:
            self.disk.journal[key].put_back = True
        yield "journal"
        self.room()
        for key in gone:
            seen = self.disk.journal[key]
            if self.vanished(key, filed):  # looked at once more under the lock
                at = sum(message.at <= seen.at for message in self.disk.history)
                self.disk.history.insert(at, Message(key.partition("~")[0], seen.text, seen.at))
        yield "put back"

    def vanished(self, key: str, filed: dict[str, tuple[Dated, str]]) -> bool:
        """Whether words left history un-written. An entry without id may be them: then it is not known yet."""
        seen, base = self.disk.journal[key], key.partition("~")[0]
        if self.written(key, seen.text, filed) or any(message.id in (base, None) for message in self.disk.history):
            return False
        return all(self.key_of(message, filed) != key for message in self.disk.history)

    def settle(self) -> Iterator[str]:
        """Every flag as the evidence has it; the only place where `false` may become `true`."""
        filed, busy, moves = self.filed(), self.in_flight(), []
        for message in self.disk.history:
            if message.flag != "true" and message.id is not None:
                flag = self.settled(message, filed, busy)
                if flag != message.flag:
                    moves.append((message, flag))
        if moves:
            self.room()
            for message, flag in moves:
                message.flag = flag
            yield "settle"

    def settled(self, message: Message, filed: dict[str, tuple[Dated, str]], busy: set[Group]) -> Flag:
        """The flag a message should have."""
        key = self.key_of(message, filed)
        if not self.written(key, message.text, filed):
            return "false"
        file = filed[key][0] if key in filed else None
        if file is None or not self.old(file.day) or self.covered(file):
            return "true"  # no file: a person took the words out, nothing is left to summarise
        return "pending" if self.group(file.day) in busy else "false"

    def run(self, unwritten: list[str]) -> Iterator[str]:
        """Mark pending, one dated file a day, note; the caller settles the flags."""
        try:
            taken = {key: self.disk.journal[key] for key in unwritten}
            if self.mark(set(taken)):
                yield "mark"
            words = {key: (seen.text, seen.at // DAY) for key, seen in taken.items()}
            for day in sorted({day for _, day in words.values()}):
                blocks = {key: text for key, (text, of) in words.items() if of == day}
                self.room()
                name = self.free_name(day)
                self.disk.dated[name] = Dated(name, day, self.disk.now, dict(blocks))
                yield "dated"
                self.room()
                for key, text in blocks.items():
                    seen = self.disk.journal[key]
                    seen.text, seen.written, seen.file = text, True, name
                yield "note"
            self.run_wait = 0
        except DiskFullError:
            self.run_wait = min(LONGEST_RUN_WAIT, max(1, 2 * self.run_wait))
            self.run_not_before = self.disk.uptime + self.run_wait
            raise

    def mark(self, keys: set[str]) -> bool:
        """`false` → `pending` for what is filed under these keys; whether there was anything to mark."""
        filed, waiting = self.filed(), [m for m in self.disk.history if m.flag == "false" and m.id is not None]
        marked = [message for message in waiting if self.key_of(message, filed) in keys]
        if marked:
            self.room()
        for message in marked:
            message.flag = "pending"
        return bool(marked)

    def trim(self) -> Iterator[str]:
        """Written messages leave a history beyond its caps, oldest first; the newest and the un-written never."""
        filed, history = self.filed(), self.disk.history
        leaving: list[Message] = []
        for cap, flags in ((self.limits.soft, ("true",)), (self.limits.hard, ("true", "pending", "false"))):
            for message in history[: max(0, len(history) - self.limits.newest)]:
                if len(history) - len(leaving) > cap and message.flag in flags and message not in leaving:
                    leaving += [message] if self.may_leave(message, filed) else []
        if leaving:
            self.room()
            self.disk.history = [m for m in history if not any(m is gone for gone in leaving)]
            yield "trim"

    def may_leave(self, message: Message, filed: dict[str, tuple[Dated, str]]) -> bool:
        """Whether a message's words are safe elsewhere; the flag does not say so."""
        return message.id is not None and self.written(self.key_of(message, filed), message.text, filed)
