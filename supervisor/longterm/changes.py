"""What was done to the long-term file, as its callers are told it."""

from __future__ import annotations

from datetime import date  # noqa: TC003 - the types of an answer's fields, and of arguments

from ..storage.texts import Text, msgid
from ..text.record import record


@record
class Written:
    """
    The line that has the words now, of *total*; not *is_new* where the file had them before.

    Written in a group, *line* and *total* count what may be seen there; not *is_shown*, and *line* 0, where it may not.
    *replaced* is the line that it replaces, as it is now: "42@1f3a9c0d"; *others* the line in which its other items go on.
    """

    path: str
    line: int
    total: int
    digest: str
    text: str
    is_new: bool
    is_shown: bool = True
    replaced: str = ""
    others: str = ""

    def told(self, new: str = msgid("written to memory, line {line} ({total} in all)")) -> Text:
        """Return where the words are, as a sentence: *new* if they are."""
        return Text(
            new if self.is_new else msgid("in memory already, line {line} ({total} in all)"), line=self.line, total=self.total
        )

    def told_replaced(self) -> list[Text]:
        """Return what became of the line that it replaces, in sentences."""
        replaced = (
            [Text("line {line} is struck: it is shown only where the past is asked for.", line=self.replaced)]
            if self.replaced
            else []
        )
        return [
            *replaced,
            *([Text("what else it said still holds, and goes on as line {line}.", line=self.others)] if self.others else []),
        ]


@record
class Deleted:
    """*count* lines were deleted, *total* are left."""

    path: str
    count: int
    total: int


@record
class Ended:
    """What is no longer true: *place* and *text* as they are now, and the day *until*."""

    place: str
    text: str
    until: date
