"""
What a summary keeps of its material, and what it says that is nowhere in it. Text in, figures out; no files.

For an extract, which quotes, the figures are exact. For a model they are bounds, and the inventions are to be read: what was worked
out (days added up, an amount converted) counts as invented, a common word wrongly used does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from bench.pieces import NUMBER, Piece, bare, in_digits, number, pieces, plain, shaped
from recalld.supervisor.text.redact import HIDDEN
from recalld.supervisor.text.tokenizer import tokens
from recalld.supervisor.text.word_frequency import telling_words

#: Characters of a message that are looked for as one, and the share of them that counts as the whole.
SHINGLE: Final = 10
WHOLE: Final = 0.9
_SENTENCE: Final = re.compile(r"(?<=[。！？!?])|(?<=[.;；])\s|\n+")
#: What closes a sentence or opens a line of Markdown: an extract quotes without it.
_EDGES: Final = " \t。！？!?.;；,，:：…>*_`#|-+~"
#: Words with which the day before or after is as good as said.
_NEAR: Final = {
    1: re.compile(r"明[天早晚日]|tomorrow", re.IGNORECASE),
    -1: re.compile(r"昨[天晚日]|yesterday|last night", re.IGNORECASE),
}
#: Months from when it was said within which a date without a year lies.
_NEAR_MONTHS: Final = 8
_BLANK: Final = re.compile(r"\s+")
_UNIT: Final = re.compile(r"(?<=\d)(?=[A-Za-z])")  # 8TB says TB too


class WindowMessage(NamedTuple):
    """One message of the material, and when it was said, in local time."""

    at: datetime
    text: str


def covered(message: str, summary: str) -> float:
    """Return the share of the message's characters that are in the summary in runs of at least ten; both are `bare`."""
    if message in summary:
        return 1.0
    starts = (start for start in range(len(message) - SHINGLE + 1) if message[start : start + SHINGLE] in summary)
    return len({place for start in starts for place in range(start, start + SHINGLE)}) / len(message)


def says_a_sentence(message: str, summary: str) -> bool:
    """Return whether a sentence of the message that tells something is whole in the summary, which is `bare`."""
    sentences = [sentence for sentence in _SENTENCE.split(plain(message)) if telling_words(sentence)] or [message]
    return any(bare(sentence.strip(_EDGES)) in summary for sentence in sentences)


def told(message: str, words: set[str]) -> float | None:
    """Return the share of the message's telling words among *words*; None where it has none."""
    own = telling_words(message)
    return len(own & words) / len(own) if own else None


def inventions(summary: str, material: Iterable[WindowMessage]) -> list[Piece]:
    """Return the pieces of a summary that its material doesn't hold; the mark of what is hidden is none."""
    ground = Ground(material)
    for mark in HIDDEN.values():
        summary = summary.replace(mark, "")
    return [piece for piece in pieces(summary) if not ground.holds(piece)]


class Ground:
    """What a summary may say: the words of its material in any usual spelling, and the days and times they were said at."""

    def __init__(self, material: Iterable[WindowMessage]) -> None:
        said = list(material)
        text = "\n".join(plain(one.text) for one in said)
        read = f"{text}\n{in_digits(text)}"  # 七点 is in the material where a summary says 7:00
        days = {one.at.date() for one in said}
        days |= {one.at.date() + timedelta(near) for one in said for near in _NEAR if _NEAR[near].search(one.text)}
        self._text, self._bare = text.casefold(), _BLANK.sub("", text).casefold()
        self._words = set(tokens(f"{text}\n{_UNIT.sub(' ', text)}"))
        self._months = {one.at.year * 12 + one.at.month for one in said}
        found = shaped(read)[0]
        self._means = {(piece.kind, piece.means) for piece in found}
        self._means |= {("time", (one.at.hour % 12, one.at.minute)) for one in said}
        self._dates: set[tuple[int, ...]] = {(day.year, day.month, day.day) for day in days}
        self._numbers = {number(str(part)) for date in self._dates for part in date}
        self._dates |= {piece.means for piece in found if piece.kind == "date" and isinstance(piece.means, tuple)}
        self._numbers |= {number(match[0]) for match in NUMBER.finditer(read)}

    def holds(self, piece: Piece) -> bool:
        """Return whether the piece is in the material, or is another spelling of what stands there."""
        folded = piece.text.casefold()
        if not folded.isascii():
            stands = _BLANK.sub("", folded) in self._bare or (piece.kind == "name" and self._is_guessed(folded))
        else:
            stands = bool(re.search(rf"(?<![a-z0-9]){re.escape(folded)}(?![a-z0-9])", self._text))
        if stands or (piece.kind, piece.means) in self._means:
            return True
        if isinstance(piece.means, tuple):
            return piece.kind == "date" and self._holds_date(*piece.means)
        if piece.kind in {"number", "version"}:
            return piece.means in self._numbers
        return piece.kind == "name" and folded.isascii() and set(tokens(folded)) <= self._words

    def _is_guessed(self, name: str) -> bool:
        """Return whether a Chinese name is one of the material with a word before or after it that the tokeniser took for its part."""
        if len(name) == len("陈带"):  # 老陈带她去
            return any(f"{title}{name[0]}" in self._bare for title in "老小阿") and name[1] in self._bare
        return len(name) > len("陈带") and (name[:-1] in self._bare or name[1:] in self._bare)

    def _holds_date(self, year: int, month: int, day: int) -> bool:
        """Return whether the material has the date; less may be said of it, and the year that it can only mean."""
        near = any(abs(year * 12 + month - said) <= _NEAR_MONTHS for said in self._months)
        years = {year, 0} if near else {year}
        return any(m == month and day in {d, 0} and (not year or y in years) for y, m, d in self._dates)
