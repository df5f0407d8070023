"""Shows the same words once: of hits with the same words, and of summaries that quote a message that is shown. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from recalld.supervisor.context.render import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recalld.supervisor.index.hit import Hit, Passage

#: A shorter message is too short to be recognised as quoted in a summary. In characters without blanks.
_MIN_QUOTE: Final = 6


def distinct(hits: Sequence[Hit], pinned: Sequence[Hit]) -> tuple[list[Hit], list[tuple[Hit, str]]]:
    """Return the hits to show in addition to the *pinned* ones, best first, and the rejected: "same words" or "empty"."""
    places = {lines_of(hit.unit) for hit in pinned}
    seen: set[tuple[object, ...]] = {_words_of(hit.unit) for hit in pinned}
    kept: list[Hit] = []
    rejected: list[tuple[Hit, str]] = []
    told = _Told([], [])
    for hit in sorted(hits, key=lambda hit: -hit.rank):
        unit = hit.unit
        keys = {lines_of(unit), _words_of(unit)}
        if lines_of(unit) in places:
            continue
        if not is_visible(unit.text):
            rejected.append((hit, "empty"))
            continue
        left = None if seen & keys else told.without(hit)
        if left:
            kept.append(left)
        else:
            rejected.append((hit, "same words"))
        seen |= keys
    return kept, rejected


class _Told(NamedTuple):
    """
    The words of better hits, without blanks.

    A summary and its messages may both be found. An extract quotes its messages, and the same words are not shown twice.
    """

    messages: list[str]
    summaries: list[str]

    def without(self, hit: Hit) -> Hit | None:
        """Return the hit, a section of a summary without the lines that quote a message; None if nothing new is left."""
        unit, words = hit.unit, _joined(hit.unit.text)
        if unit.tier != "summary":
            if len(words) < _MIN_QUOTE or not unit.role:
                return hit
            self.messages.append(words)
            return None if any(words in summary for summary in self.summaries) else hit
        self.summaries.append(words)
        lines = unit.text.split("\n")
        left = [line for line in lines if not any(said in _joined(line) for said in self.messages)]
        if len(left) == len(lines):
            return hit
        is_empty = not any(line.strip() and not line.startswith("#") for line in left)
        return None if is_empty else replace(hit, unit=replace(unit, text="\n".join(left)))


def _joined(text: str) -> str:
    return "".join(text.split())


def lines_of(unit: Passage) -> tuple[str, int, int]:
    """Return the place of a passage."""
    return (unit.path, unit.start, unit.end)


def _words_of(unit: Passage) -> tuple[object, ...]:
    return (unit.day, unit.role, unit.speaker, unit.text)


def is_visible(text: str) -> bool:
    """Return whether the text has a visible character."""
    return bool(text.strip()) and (text.isprintable() or bool(shown(text, 1)))
