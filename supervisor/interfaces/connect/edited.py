"""
A text and what was put into it: the pieces can be taken out again, to the byte. Pure.

`connect` only puts in. It keeps each piece with its place (`protocol/connections`), so that `disconnect` takes out exactly
these from a file that nobody has changed since; in one that was changed it looks for recalld's entries (`plan.py`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@record
class Edited:
    """The *text* with the pieces in it, and which of its characters were put in."""

    text: str
    mask: bytes  # a byte for each character: 1 where it was put in

    @classmethod
    def of(cls, text: str) -> Edited:
        """Return the text as it was found."""
        return cls(text, bytes(len(text)))

    def put(self, pieces: Iterable[tuple[int, str]]) -> Edited:
        """Return the text with each piece at its place, which is one in the present text."""
        text, mask = self.text, self.mask
        for place, piece in sorted(pieces, key=lambda one: -one[0]):
            text = text[:place] + piece + text[place:]
            mask = mask[:place] + b"\1" * len(piece) + mask[place:]
        return Edited(text, mask)

    @property
    def pieces(self) -> tuple[tuple[int, str], ...]:
        """The pieces that were put in, with their places in the text, first to last."""
        return tuple((found.start(), self.text[slice(*found.span())]) for found in re.finditer(b"\1+", self.mask))


def without_pieces(text: str, pieces: Sequence[tuple[int, str]]) -> str:
    """Return the text without the *pieces*, which are at their places: nobody has changed it since they were put in."""
    for place, piece in sorted(pieces, key=lambda one: -one[0]):
        text = text[:place] + text[place + len(piece) :]
    return text
