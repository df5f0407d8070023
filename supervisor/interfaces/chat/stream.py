"""What a person sees of an answer while it comes in: no thinking, and not the request at its end. Pure."""

from __future__ import annotations

from typing import Final

from recalld.supervisor.protocol.lookup_request import MARK_LINES
from recalld.supervisor.text.thinking import after_thoughts

#: How a line begins that is no part of an answer: a request, or the mark that a model repeats, with its bracket or without.
_HIDDEN: Final = ("```recalld", *(line.partition("{")[0][skipped:] for line in MARK_LINES.values() for skipped in (0, 1)))
#: The longest tag that may begin thinking: so much of an answer is held back until it is clear that it begins none.
_TAG_CHARS: Final = 12


class Seen:
    """An answer piece by piece; what may still turn out to be thinking or a request is held back."""

    def __init__(self) -> None:
        self._text = ""
        self._begun = False
        self._shown = 0

    def add(self, piece: str) -> str:
        """Take one more piece, and return what can be shown now."""
        self._text += piece
        if not self._begun:
            said = after_thoughts(self._text).lstrip()
            if not said or (said[0] == "<" and len(said) < _TAG_CHARS):
                return ""
            self._begun, self._text = True, said
        end = self._end()
        now, self._shown = self._text[self._shown : end], max(end, self._shown)
        return now

    @property
    def text(self) -> str:
        """What was shown so far."""
        return self._text[: self._shown].rstrip() if self._begun else ""

    def rest(self, whole: str) -> str:
        """Return what of the *whole* answer was not shown yet."""
        shown = self._text[: self._shown] if self._begun else ""
        if whole.startswith(shown.rstrip()):
            return whole[len(shown) :] if whole.startswith(shown) else ""
        return whole if not shown else f"\n{whole}"

    def _end(self) -> int:
        """Return how far the text can be shown: to the line before one that is, or may become, a request."""
        place = self._text.rfind("\n", 0, self._shown) + 1
        while place >= 0:
            line_end = self._text.find("\n", place)
            line = self._text[place:] if line_end < 0 else self._text[place:line_end]
            is_partial = line_end < 0 and bool(line) and any(hidden.startswith(line) for hidden in _HIDDEN)
            if is_partial or line.startswith(_HIDDEN):
                return len(self._text[:place].rstrip("\n"))
            if line_end < 0:
                break
            place = line_end + 1
        return len(self._text.rstrip("\n"))
