"""
A long text that a model reads piece by piece, each piece together with the summary of those before it. Pure.

This module says which piece is next; the caller, a worker for a day or a program for a conversation, makes the prompts. The
model's server counts tokens better than the estimate: if it refuses a piece as too long, that piece and all later ones are
halved.
"""

from __future__ import annotations

from sys import maxsize
from typing import TYPE_CHECKING, Final

from .quoting import take_entries, taken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .language import Language
    from .quoting import Entry

#: The tokens of the smallest piece that is worth a call: if even that is too long, the cause is not the piece.
MIN_PIECE: Final = 64


class Fold:
    """
    Entries that are read in pieces: those that are *left*, and the summary *so_far*.

    >>> from recalld.supervisor.text.quoting import Entry
    >>> fold = Fold([Entry("09:00 user", "花" * 100), Entry("09:01 user", "茶" * 100)], "", "zh", 1.0)
    >>> while fold.left:
    ...     print(fold.piece(120)[:16], fold.is_last)
    ...     fold.take(f"{fold.so_far}摘要。")
    09:00 user: 花花花花 False
    09:01 user: 茶茶茶茶 True
    >>> fold.so_far
    '摘要。摘要。'
    """

    def __init__(self, entries: Sequence[Entry], so_far: str, language: Language, cjk_weight: float) -> None:
        self.left, self.so_far, self.language = list(entries), so_far, language
        self._cjk_weight = cjk_weight
        self._most = maxsize
        self._size = 0
        self._rest: list[Entry] = []

    def piece(self, room: int) -> str:
        """Return the next entries, as many as *room* tokens hold, as a model reads them."""
        text, self._size, self._rest = take_entries(self.left, min(room, self._most), self.language, self._cjk_weight)
        return text

    @property
    def read(self) -> list[Entry]:
        """The entries of the piece."""
        return taken(self.left, self._rest)

    @property
    def is_last(self) -> bool:
        """Whether nothing is left after the piece."""
        return not self._rest

    def halve(self) -> bool:
        """Halve the length of this piece and all later ones; return False if that would be too short to be worth a call."""
        if self._size // 2 < MIN_PIECE:
            return False
        self._most = self._size // 2
        return True

    def take(self, summary: str) -> None:
        """Go on to the next piece; the *summary* includes this one."""
        self.so_far, self.left = summary, self._rest
