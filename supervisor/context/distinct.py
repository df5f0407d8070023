"""
Shows the same words once: of hits that say the same, and of summaries that quote a message that is shown. Pure.

What is the same but for case, width, punctuation, courtesy or the day on which it was said is shown once, the newest, with how
often it was said (`text/same_words`). A text of several lines has to be the same to the letter.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple

from recalld.supervisor.context.render import shown
from recalld.supervisor.text.same_words import same_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recalld.supervisor.index.hit import Hit, Passage

#: A shorter message is too short to be recognised as quoted in a summary. In characters without blanks.
_MIN_QUOTE: Final = 6


class Distinct(NamedTuple):
    """The hits to *show*, best first, how often each was said, by its place, and the *rejected*: "same words" or "empty"."""

    show: list[Hit]
    said: Mapping[tuple[str, int, int], int]
    rejected: list[tuple[Hit, str]]


def distinct(hits: Sequence[Hit], pinned: Sequence[Hit]) -> Distinct:
    """Return the hits to show in addition to the *pinned* ones."""
    places, seen = {lines_of(hit.unit) for hit in pinned}, set[tuple[str, int, int]]()
    there = {_words_of(hit.unit) for hit in pinned}
    groups: dict[str, list[Hit]] = {}
    found = Distinct([], {}, [])
    said: dict[tuple[str, int, int], int] = {}
    for hit in sorted(hits, key=lambda hit: -hit.rank):
        if lines_of(hit.unit) in places:
            continue
        if not is_visible(hit.unit.text):
            found.rejected.append((hit, "empty"))
            continue
        if lines_of(hit.unit) in seen:
            found.rejected.append((hit, "same words"))
            continue
        seen.add(lines_of(hit.unit))
        groups.setdefault(_words_of(hit.unit), []).append(hit)
    told = _Told([], [])
    for words, group in groups.items():
        newest = max(group, key=_newest)
        left = None if words in there else told.without(replace(newest, score=group[0].score))
        if left:
            found.show.append(left)
            said[lines_of(left.unit)] = len(group)
        found.rejected.extend((hit, "same words") for hit in group if left is None or hit is not newest)
    return found._replace(said=said)


def _newest(hit: Hit) -> tuple[bool, date, float]:
    """Return the sort key of hits that say the same: the user's own words before the assistant's, then by time."""
    unit = hit.unit
    return unit.role != "assistant", unit.day or date.min, unit.at.timestamp() if unit.at else 0.0


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


def _words_of(unit: Passage) -> str:
    """Return the words by which passages are compared; who said them counts where somebody has a name."""
    return f"{unit.speaker}\n{unit.text if chr(10) in unit.text else same_words(unit.text)}"


def is_visible(text: str) -> bool:
    """Return whether the text has a visible character."""
    return bool(text.strip()) and (text.isprintable() or bool(shown(text, 1)))
