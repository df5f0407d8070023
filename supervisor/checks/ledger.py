"""The account of all messages, which `fsck` makes, and the sentences by which one check knows what another has found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..storage.texts import msgid

#: Sentences by which one check knows what another has found.
NOT_WHOLE: Final = msgid(
    "{name} is no longer whole: its head or its end is missing, or it holds zeros; `recalld fsck --repair`, with the supervisor stopped, has the next run write its messages again"
)
ENDS_EARLY: Final = msgid(
    "{name} ends after {found} of its {count} messages: put a whole copy of it back, or `recalld fsck --repair` with the supervisor stopped; if you deleted the others, `recalld fsck --accept {name}`"
)
ATTACHMENT: Final = msgid("{name} {state}, and {by} names it: put a copy of it back, or delete the message")
IS_GONE: Final = msgid("is gone")
SERVICE_DOWN: Final = msgid(
    "the service is down: it is installed, and no supervisor runs; `{again}` starts it, `{status}` says why it ended."
)


@dataclass(slots=True, kw_only=True)
class Ledger:
    """
    Where all messages are. *seen* = *in_files* + *in_history* + *in_journal* + *set_aside* + *removed* + *pruned* + *lost*.

    A message that is in a dated file and in history.json counts as in a file. *removed* counts messages that a person took out
    of a file that still exists, or whose file a person accepted as gone (`archive/deletions`), wherever else their words are.
    *lost* has ids, *damage* has sentences; both are empty in a sound workspace. *copies* has a sentence for each copy of one of
    recalld's files: no copy is memory, and each can be deleted. *moved* says where files are that a person has moved or
    renamed. *attachments* counts the pictures and files that messages name; *unnamed* has the paths of the others.
    *faults* has a sentence for each other fault (checks/table.py), *advice* one that offers to forget what was deleted by hand.
    """

    seen: int = 0
    in_files: int = 0
    in_history: int = 0
    in_journal: int = 0
    set_aside: int = 0
    removed: int = 0
    removed_ids: list[str] = field(default_factory=list)
    pruned: int = 0
    forgotten: int = 0
    lost: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    dated_files: int = 0
    edited_files: int = 0
    summaries: int = 0
    covered_files: int = 0
    copies: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    attachments: int = 0
    unnamed: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is lost and nothing damaged."""
        return not self.lost and not self.damage

    @property
    def is_well(self) -> bool:
        """Whether nothing at all is wrong with the memory."""
        return self.is_sound and not self.faults
