"""
One wrong rule each, about messages: identity, flags, runs, trim: what the walks must be able to tell from the protocol.

Random walks find most; a few need the scene that `cases_messages` plays for them. A mutant that is not found is a rule
that nothing proves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.model.protocol_model import Supervisor
from tests.model.state import Dated, Flag, Group, Message, Result, Seen

if TYPE_CHECKING:
    from collections.abc import Iterator

Filed = dict[str, tuple[Dated, str]]


class FlagBeforeFile(Supervisor):
    """B7, H10: what is taken is `true` at once."""

    def run(self, unwritten: list[str]) -> Iterator[str]:
        for message in self.disk.history:
            if message.id in unwritten:
                message.flag = "true"
        yield "mark"
        yield from super().run(unwritten)


class FalseStaysFalse(Supervisor):
    """4H.1: only the messages of a group in flight can become `true`."""

    def settled(self, message: Message, filed: Filed, busy: set[Group]) -> Flag:
        flag = super().settled(message, filed, busy)
        return "false" if (message.flag, flag) == ("false", "true") else flag


class NamesAreReused(Supervisor):
    """4H.6, half: a name is free when no file has it."""

    def free_name(self, day: int) -> str:
        return next(name for n in range(1, 10_000) if (name := f"{day}-部署-{n}") not in self.disk.dated)


class WrittenIsForgotten(Supervisor):
    """4H.7: only the dated files say what was written."""

    def written(self, key: str, text: str, filed: Filed) -> bool:
        return key in filed and filed[key][1] == text


class NewestAreTrimmed(Supervisor):
    """4H.10: the caps know no newest messages."""

    def trim(self) -> Iterator[str]:
        self.limits = replace(self.limits, newest=0)
        yield from super().trim()


class RunsAtTheCap(Supervisor):
    """4H.10: a history beyond its soft cap is archived at once, message by message."""

    def due(self, unwritten: list[str]) -> bool:
        return super().due(unwritten) or len(self.disk.history) >= self.limits.soft


class FutureRunCounts(Supervisor):
    """4H.11: a dated file from the future is the last run."""

    def last_run(self) -> int | None:
        return max((file.created for file in self.disk.dated.values()), default=None)

    def due(self, unwritten: list[str]) -> bool:
        last = self.last_run()
        many = len(unwritten) > self.limits.due_messages
        return many or (super().due(unwritten) if last is None else self.disk.now - last >= self.limits.due_minutes)


class TrimmedIsPutBack(Supervisor):
    """4H.12: whatever leaves history returns to it."""

    def vanished(self, key: str, filed: Filed) -> bool:
        here = any(message.id in (key.partition("~")[0], None) for message in self.disk.history)
        return super().vanished(key, filed) or not here


class PutBackForEver(Supervisor):
    """4H.12: a foreign program with a cap of its own is fought."""

    def put_back(self) -> Iterator[str]:
        for seen in self.disk.journal.values():
            seen.put_back = False
        yield from super().put_back()


class OrdinalIds(Supervisor):
    """4H.13: an id is the place in the array."""

    def identity(self, message: Message) -> str:
        return f"m-{next(n for n, other in enumerate(self.disk.history) if other is message)}"


class RevisionsAreDue(Supervisor):
    """4H.14: other words for a written message are written as soon as they are seen."""

    def due(self, unwritten: list[str]) -> bool:
        return super().due(unwritten) or any("~" in key for key in unwritten)


class RevisionAtEveryLook(Supervisor):
    """4H.14: other words under an id are a message of their own, written or not."""

    def key_of(self, message: Message, filed: Filed) -> str:
        key = super().key_of(message, filed)
        seen = self.disk.journal.get(key)
        return key if seen is None or seen.text == message.text else f"{message.id}~{message.text}"


class FullDiskIsTriedAtEveryPoll(Supervisor):
    """4H.15: a run that could not write is due at once."""

    def round(self, *, until_settled: bool = False) -> Iterator[str]:
        self.run_not_before = 0
        yield from super().round(until_settled=until_settled)


class TrimTakesUnwritten(Supervisor):
    """The hard cap takes what it finds."""

    def may_leave(self, message: Message, filed: Filed) -> bool:
        return super().may_leave(message, filed) or message.flag == "pending" or len(self.disk.history) > self.limits.hard


class TrimTrustsTheFlag(Supervisor):
    """`true` is taken for written, though the words may be other ones since."""

    def may_leave(self, message: Message, filed: Filed) -> bool:
        return super().may_leave(message, filed) or message.flag == "true"


class PendingIsNotSettled(Supervisor):
    """A8: only a result ends `pending`."""

    def settled(self, message: Message, filed: Filed, busy: set[Group]) -> Flag:
        flag = super().settled(message, filed, busy)
        return "pending" if (message.flag, flag) == ("pending", "false") else flag

    def unwritten(self) -> list[str]:
        held = {message.id for message in self.disk.history if message.flag == "pending"}
        return [key for key in super().unwritten() if key not in held]


class SupersededIsKept(Supervisor):
    """The journal starts its entry anew when words change, and forgets what it knew of them."""

    def look(self) -> Iterator[str]:
        for message in self.disk.history:
            seen = self.disk.journal.get(message.id or "")
            if seen is not None and seen.text != message.text:
                self.disk.journal[message.id or ""] = Seen(message.text, message.at)
        yield from super().look()


class PutBackUnseen(Supervisor):
    """What an entry without id is, is not asked before words are put back."""

    def vanished(self, key: str, filed: Filed) -> bool:
        seen, base = self.disk.journal[key], key.partition("~")[0]
        return base not in {m.id for m in self.disk.history} and not self.written(key, seen.text, filed)


class TwinIsNew(Supervisor):
    """An id that returns makes a new message of one that was known by its content."""

    def known(self, key: str, message: Message) -> bool:
        return message.id is None and super().known(key, message)


class EqualsAreOne(Supervisor):
    """Two entries without id, alike in all, get the same one."""

    def identity(self, message: Message) -> str:
        return super().identity(message).removesuffix("-2")


class FailureTakesTrueBack(Supervisor):
    """4H.2: a failure sends all of its group's messages back."""

    def count(self, result: Result, verdict: str) -> bool:
        keys = {key for file in self.files_of(result.task.group) for key in file.blocks}
        for message in self.disk.history:
            if message.id in keys:
                message.flag = "false"
        return super().count(result, verdict)
