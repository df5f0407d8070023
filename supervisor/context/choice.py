"""
The order in which hits of a search are offered to the memory block, and what says the same, which goes in once. Pure.

What is the same but for case, width, punctuation, courtesy or the day on which it was said is shown once, the newest
(`text/same_words`). A text of several lines has to be the same to the letter. Each number was measured
(docs/explanation/recall.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Final, Literal

from ..index.hit import LONG, Hit, Passage
from ..recall.neighbours import company, is_neighbour
from ..text.comparing import same_words
from ..text.language import Language
from ..text.record import record
from .render import shown

#: How many of the best hits bring what they need beside them.
_BEST: Final = 3
#: The score of a passage with more characters is divided by the root of its length in these, so that it goes in later.
_LONG_CHARS: Final = 500
#: A hit that is only the neighbour of an answer, without a word of the question, goes in as if it had this share of its score.
_NEIGHBOUR: Final = 0.6


@record(kw_only=True)
class BlockLimits:
    """What a memory block may hold and how it is written."""

    tokens: int
    max_hits: int  # 0: no limit
    hit: Literal["file", "line"] = "file"
    line_chars: int  # 0: every message whole, however few then fit
    pinned_tokens: int = 0  # of the pinned lines of memory.md, in addition to *tokens*
    max_chars: int = 0  # of the block, header and tags included (001); 0: no limit
    citations: bool = True  # line numbers in the tags
    today: date | None = None  # the day of the question, for the head
    note: bool  # the line that says that nothing here is an instruction; never with hit = "line"
    names: bool = True  # of dated files; their words may be from a chat that the readers did not take part in
    hide: Callable[[str], str] = str  # the secrets of a text
    role: str = ""  # whose words are asked for
    cjk_weight: float
    language: Language = "en"


def in_order(hits: Sequence[Hit], limits: BlockLimits) -> list[Hit]:
    """
    Return the hits in the order in which they go into the block: the best for their length first.

    What one of the best hits needs beside it (`neighbours.company`) goes in with it, a long answer of the assistant's later,
    and so does what is only a neighbour.
    """
    best = sorted(hits, key=lambda hit: -hit.rank)
    if limits.hit == "line":
        return best
    needed = company([hit for hit in best if not is_neighbour(hit)][:_BEST], best)

    def value(hit: Hit) -> float:
        worth = _density(hit, limits) * (_NEIGHBOUR if is_neighbour(hit) else 1.0)
        return max(worth, _density(needed[hit], limits)) if hit in needed and LONG not in hit.because else worth

    return sorted(best, key=lambda hit: (-value(hit), hit in needed))


def _density(hit: Hit, limits: BlockLimits) -> float:
    """Return the worth of the hit for its length; for the assistant's words, if they are asked for, length does not matter."""
    if limits.role == hit.unit.role == "assistant":
        return hit.rank
    return hit.rank / math.sqrt(max(1.0, len(hit.unit.text) / _LONG_CHARS))


def group_of(hit: Hit, limits: BlockLimits) -> object:
    """Return what counts as one hit of 003: the file, or the single line."""
    unit = hit.unit
    return unit.file if limits.hit == "file" else (unit.path, unit.start, unit.end)


def distinct(hits: Sequence[Hit], pinned: Sequence[Hit]) -> tuple[list[Hit], list[tuple[Hit, str]]]:
    """Return the hits to show beside the *pinned* ones, best first, and the others: "same words" or "empty"."""
    places, present = {lines_of(hit.unit) for hit in pinned}, {_words_of(hit.unit) for hit in pinned}
    seen: set[tuple[str, int, int]] = set()
    groups: dict[str, list[Hit]] = {}
    rejected: list[tuple[Hit, str]] = []
    for hit in sorted((hit for hit in hits if lines_of(hit.unit) not in places), key=lambda hit: -hit.rank):
        if not is_visible(hit.unit.text):
            rejected.append((hit, "empty"))
        elif lines_of(hit.unit) in seen:
            rejected.append((hit, "same words"))
        else:
            seen.add(lines_of(hit.unit))
            groups.setdefault(_words_of(hit.unit), []).append(hit)
    kept = []
    for words, group in groups.items():
        newest = max(group, key=_of_the_user_then_newest)
        if words not in present:
            kept.append(replace(newest, score=group[0].score, parts=group[0].parts))
        rejected += [(hit, "same words") for hit in group if words in present or hit is not newest]
    return kept, rejected


def _of_the_user_then_newest(hit: Hit) -> tuple[bool, date, float]:
    unit = hit.unit
    return unit.role != "assistant", unit.day or date.min, unit.at.timestamp() if unit.at else 0.0


def lines_of(unit: Passage) -> tuple[str, int, int]:
    """Return the place of a passage."""
    return (unit.path, unit.start, unit.end)


def _words_of(unit: Passage) -> str:
    """Return the words by which passages are compared; who said them counts where somebody has a name."""
    return f"{unit.speaker}\n{unit.text if chr(10) in unit.text else same_words(unit.text)}"


def is_visible(text: str) -> bool:
    """Return whether the text has a visible character."""
    return bool(text.strip()) and (text.isprintable() or bool(shown(text, 1)))
