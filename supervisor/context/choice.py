"""
Which hits of a search are worth a place in the memory block, and in which order they go in. Pure.

Each number was measured (docs/explanation/recall.md).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from recalld.supervisor.index.hit import LONG
from recalld.supervisor.recall.neighbours import is_answer, is_neighbour, only_neighbours
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from recalld.supervisor.index.hit import Hit
    from recalld.supervisor.text.language import Language

#: What the next best line of a file adds to the worth of the file, as a share of what the line before it added.
_NEXT_LINE: Final = 0.3
#: Hits below this share of the third best score are not worth their place; it is not the best score, so that one lucky hit
#: hides no others. The second number is for an input with several questions, since the best hit of one may be worth less.
_WORTH: Final = 0.4
_WORTH_OF_SEVERAL: Final = 0.3
_THIRD: Final = 2
#: One question is hardly ever answered behind so many hits: from there on the share is this, nothing that the assistant said is
#: shown unless that is asked for, and nothing at all where all hits were found by meaning alone.
_HEAD: Final = 8
_WORTH_OF_TAIL: Final = 0.42
#: Where a hit has this part of the worth of the question's words (`Hit.worth`), the share for one behind the third that has
#: less of it than the last part of what the fullest hit has.
_MUCH: Final = 0.6
_WORTH_OF_LITTLE: Final = 0.6
_LITTLE: Final = 0.3
#: Where a hit has nearly all of that worth, the share of the best score for one that has hardly any: in a small memory the
#: third best is noise, too.
_NEARLY_ALL: Final = 0.9
_HARDLY: Final = 0.2
_WORTH_OF_HARDLY: Final = 0.5
#: Where the assistant's words are not asked for: the share of the best score for a long answer that is none of the three best
#: hits, and the part of the worth of the fullest hit that any answer behind the third must have.
_LONG_ANSWER: Final = 0.5
#: Who speaks by name is a person, in a chat of several; "Noted: …" is the assistant.
_BY_NAME: Final = lazy_re(r"(?!(?:Noted?|Done|Saved|Recorded|Reminder|Summary|Update)\b)[A-Z][a-z]+: ")
_ANSWER: Final = 0.3
#: The score of a passage with more characters is divided by the root of its length in these, so that it goes in later.
_LONG_CHARS: Final = 500
#: A hit that is only the neighbour of an answer, without a word of the question, goes in as if it had this share of its score.
#: Its score must be at least the second share of the best.
_NEIGHBOUR: Final = 0.6
_NEAR: Final = 0.4


@record(kw_only=True)
class BlockLimits:
    """What a memory block may hold and how it is written; the defaults are those of 003, except `hit` and `max_hits`."""

    tokens: int = 2048
    max_hits: int = 15  # 0: no limit
    hit: Literal["file", "line"] = "file"
    line_chars: int = 300  # 0: every message whole, however few then fit
    pinned_tokens: int = 0  # of the pinned lines of memory.md, in addition to *tokens*
    max_chars: int = 0  # of the block, header and tags included (001); 0: no limit
    citations: bool = True  # line numbers in the tags
    days: bool = True  # after the tags
    today: date | None = None  # the day of the question, for the head
    note: bool = True  # the line that says that nothing here is an instruction; never with hit = "line"
    names: bool = True  # of dated files; their words may be from a chat that the readers did not take part in
    hide: Callable[[str], str] = str  # the secrets of a text
    role: str = ""  # whose words are asked for
    questions: int = 1  # how many the input has
    cjk_weight: float = 1.0
    language: Language = "en"


def worthy(hits: Sequence[Hit], limits: BlockLimits) -> tuple[list[Hit], list[Hit]]:
    """
    Return the hits that are worth their place, the best for their length first, and the others.

    The assistant's answer to one of the best hits, a question of the user's, goes with it, whatever its score; a long one comes
    last, where there is room.
    """
    if limits.hit == "line":
        return list(hits), []
    best = sorted(hits, key=lambda hit: -hit.rank)
    scores = _Scores.of(best)
    aside = only_neighbours(hits)
    kept: list[Hit] = []
    left_out: list[Hit] = []
    for place, hit in enumerate(best):
        (kept if hit.rank >= _least(hit, place, scores, limits, is_aside=hit in aside) else left_out).append(hit)
    answered = _answered([hit for hit in best[: _THIRD + 1] if hit in kept], best)

    def value(hit: Hit) -> float:
        own = _density(hit, limits) * (_NEIGHBOUR if hit in aside else 1.0)
        return max(own, value(answered[hit])) if hit in answered and LONG not in hit.because else own

    brought = [hit for hit in left_out if hit in answered]
    last = [hit for hit in brought if LONG in hit.because]
    kept += [hit for hit in brought if hit not in last]
    order = sorted(kept, key=lambda hit: (-value(hit), hit in answered))
    return order + last, [hit for hit in left_out if hit not in answered]


def _answered(questions: Sequence[Hit], hits: Sequence[Hit]) -> dict[Hit, Hit]:
    """Return the answer of each hit that asks with a word of the question, the first of the *hits*, and what it answers."""
    answered = {}
    for question in questions:
        answers = [hit for hit in hits if not is_neighbour(question) and is_answer(hit.unit, question.unit)]
        if answers:
            answered[min(answers, key=_when)] = question
    return answered


def _when(hit: Hit) -> tuple[float, int]:
    return hit.unit.at.timestamp() if hit.unit.at else 0.0, hit.unit.start


class _Scores(NamedTuple):
    """
    The best score, the third best, and the largest part of the worth of the question's words that a hit has.

    *are_by_meaning*: words have found nothing.
    """

    first: float
    third: float
    worth: float
    are_by_meaning: bool

    @classmethod
    def of(cls, best: Sequence[Hit]) -> _Scores:
        """Return those of the hits, best first."""
        first, third = (max(best[place].rank, 0.0) if len(best) > place else 0.0 for place in (0, _THIRD))
        worth = max((hit.worth or 0.0 for hit in best), default=0.0)
        return cls(first, third, worth, all(hit.is_by_meaning for hit in best))


def _least(hit: Hit, place: int, scores: _Scores, limits: BlockLimits, *, is_aside: bool) -> float:
    """Return the score that the hit at this *place*, by score, must have."""
    is_behind = limits.questions == 1 and place > _THIRD
    if is_behind and place >= _HEAD and scores.are_by_meaning:
        return math.inf
    least = [_share_of_third(hit, place, scores, limits) * scores.third]
    if limits.questions == 1 and place and _has_less(hit, scores, _NEARLY_ALL, _HARDLY):
        least.append(_WORTH_OF_HARDLY * scores.first)
    if is_aside:
        least.append(_NEAR * scores.first)
    if hit.unit.role == "assistant" and limits.role != "assistant" and not _BY_NAME.match(hit.unit.text):
        if is_aside or (is_behind and (place >= _HEAD or _says_back(hit, scores))):
            return math.inf
        if place > _THIRD and LONG in hit.because:
            least.append(_LONG_ANSWER * scores.first)
    return max(least)


def _share_of_third(hit: Hit, place: int, scores: _Scores, limits: BlockLimits) -> float:
    """Return the share of the third best score that the hit at this *place* must have."""
    if limits.questions > 1:
        return _WORTH_OF_SEVERAL
    if place > _THIRD and _has_less(hit, scores, _MUCH, _LITTLE):
        return _WORTH_OF_LITTLE
    return _WORTH_OF_TAIL if place >= _HEAD else _WORTH


def _has_less(hit: Hit, scores: _Scores, much: float, part: float) -> bool:
    """Return whether a hit has as *much* of the worth of the question's words, and this one less than that *part* of it."""
    return hit.worth is not None and scores.worth >= much and hit.worth < part * scores.worth


def _says_back(hit: Hit, scores: _Scores) -> bool:
    """Return whether an answer has so little of the question that it may as well be one to anything else."""
    return hit.is_by_meaning or (hit.worth is not None and hit.worth < _ANSWER * scores.worth and not is_neighbour(hit))


def _density(hit: Hit, limits: BlockLimits) -> float:
    """Return the worth of the hit for its length; for the assistant's words, if they are asked for, length does not matter."""
    if limits.role == hit.unit.role == "assistant":
        return hit.rank
    return hit.rank / math.sqrt(max(1.0, len(hit.unit.text) / _LONG_CHARS))


def best_files_first(hits: Sequence[Hit], limits: BlockLimits) -> list[Hit]:
    """Return the hits, those of the max_hits best files first; the others are used if one of these has no line that fits."""
    worth: dict[object, float] = {}
    share: dict[object, float] = {}
    for hit in sorted(hits, key=lambda hit: -hit.rank):
        group = group_of(hit, limits)
        share[group] = share[group] * _NEXT_LINE if group in share else 1.0
        worth[group] = worth.get(group, 0.0) + share[group] * hit.rank
    if not 0 < limits.max_hits < len(worth):
        return list(hits)
    best = set(sorted(worth, key=lambda group: -worth[group])[: limits.max_hits])
    return sorted(hits, key=lambda hit: group_of(hit, limits) not in best)


def group_of(hit: Hit, limits: BlockLimits) -> object:
    """Return what counts as one hit of 003: the file, or the single line."""
    unit = hit.unit
    return unit.file if limits.hit == "file" else (unit.path, unit.start, unit.end)
