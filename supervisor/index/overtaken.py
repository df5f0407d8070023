"""
Plans that were moved or called off: who asks what is on is shown what has become of each, before the plan itself.

A message about the day need not be true any more, and the one that says so ("Tom's barbecue is off") mostly names no day, so
that it is looked for by what the plan is about. Nothing is hidden: what is overtaken stands behind what is still on. Pure.
"""

from __future__ import annotations

import math
import re
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple

from recalld.supervisor.index.hit import NEWEST, OVERTAKEN
from recalld.supervisor.index.newest import (
    CALLED_OFF,
    CHANGED,
    TIME,
    is_anothers,
    is_newer,
    owners_in,
    rare_words,
    without_values,
)
from recalld.supervisor.index.ranking import Scored
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from recalld.supervisor.index.bm25 import Candidate, Corpus

#: How many hits, the best, and lines of each are looked at, and how many words of a line, the rarest, find what became of it.
_MOST: Final = 12
_WORDS: Final = 4
#: A message with more words is seldom about a plan.
_LONG_WORDS: Final = 60
#: The share of the worth of a plan's rare words, or of those of the change, which both have.
_COMMON: Final = 0.5
#: So many words before the sign of a change, everyday ones as well, say what it is about: "school fair cancelled".
_SUBJECT: Final = 2
#: The score of a plan that is overtaken, relative to the last that is still on, and of what became of it, to the plan.
_LEFT: Final = 0.9
_AHEAD: Final = 1.001
#: More signs that a plan will not be: "Jess can't make Saturday", "the sitter let us down", "so no museum".
_NOT: Final = lazy_re(
    r"\b(?:can(?:['\u2019]?t|not| not)|(?:won|couldn)['\u2019]t|let (?:us|me) down|fell through|call(?:ed|ing) (?:it )?off)\b"
    r"|['\u2019]s off\b|\bnot (?:going|happening|coming)\b|\b(?:so|there's|and) no\b"
    r"|黄了|泡汤|没戏|去不成|[办来去成]不[了成]|不用去|鸽了|[往推]后[推延挪]?",
    re.IGNORECASE,
)
#: Signs of other changes, which move no plan: "a new piano", "Anna left the firm", 换了老师.
_OTHER: Final = lazy_re(
    r"new|left|cut|quit|retired|upgraded|any ?more|these days|up to|down to|[换变涨降搬]|加到|减到|升级", re.IGNORECASE
)
#: A word with a capital, or of somebody: a name says who, and not what.
_NAME: Final = lazy_re(r"(?<=\w )[A-Z][a-z]+|[A-Za-z]+(?=['\u2019]s\b)")
#: How a change was told is no thing: 打电话改12月4号了.
TOLD: Final = frozenset(["打电话", "电话", "微信", "短信", "通知", "call", "phone", "rang", "ring", "text", "email", "messag"])
CLAUSE: Final = lazy_re(r"[^,.;:!?，。；！？\n]+")


def with_changes(
    hits: Sequence[Scored], found: Callable[[Mapping[str, float]], Iterable[Candidate]], corpus: Corpus
) -> list[Scored]:
    """
    Return the hits, best first, each that was changed later behind what says so, and both behind what is still on.

    A section that tells of several plans stays where it is. *found* returns the candidates for words with their weights.
    """
    plans = [plan for one in hits[:_MOST] if one.candidate.role != "assistant" for plan in _plans(one, corpus)]
    wanted: dict[str, float] = {}
    for plan in plans:
        rarity = without_values({word: corpus.idf(word) for word in tokens(plan.text)})
        wanted |= dict(sorted(rarity.items(), key=lambda word: -word[1])[:_WORDS])
    if not wanted:
        return [*hits]
    known = {one.candidate.source: one for one in hits}
    told = [one for one in found(wanted) if one.day and one.role != "assistant" and not one.asks]
    changes = [one for one in (known.get(one.source) or Scored(one, 0.0) for one in told) if _signs(one.passage.text)]
    later = [(plan, [one for one in changes if _overtakes(one, plan, corpus)]) for plan in plans]
    became = [(plan, max(those, key=when)) for plan, those in later if those]
    gone = [plan.hit for plan, change in became if plan.is_alone and _is_over(change)]
    least = min((one.score for one in hits if one not in gone), default=math.inf)
    ordered = [*hits]
    for plan, change in became:
        _put_before(plan, change, least)
        ordered += [change] * (change not in ordered)
    return sorted(ordered, key=lambda one: -one.score)


def is_plan(hit: Scored) -> bool:
    """Return whether a hit for a day is the user's and short: what it says of the day is a plan, however low its score."""
    return hit.candidate.role != "assistant" and hit.candidate.lengths[0] <= _LONG_WORDS


class _Plan(NamedTuple):
    """One line of a hit, with its rare words that say what it is and not when; *is_alone*: the hit has no other line."""

    hit: Scored
    text: str
    things: Mapping[str, float]
    is_alone: bool


def _plans(hit: Scored, corpus: Corpus) -> list[_Plan]:
    worth = without_values(rare_words(hit, corpus))
    lines = [line for line in hit.passage.text.splitlines() if line.strip() and not line.startswith("#")][:_MOST]
    return [_Plan(hit, line, {word: worth[word] for word in tokens(line) if word in worth}, len(lines) == 1) for line in lines]


def _put_before(plan: _Plan, change: Scored, least: float) -> None:
    """Give what became of a plan a little more than the plan, and the plan less than all that is still on."""
    hit = plan.hit
    if plan.is_alone and _is_over(change) and OVERTAKEN not in hit.because:
        hit.score = _LEFT * min(hit.score, least)
        hit.because.append(OVERTAKEN)
    change.score = max(change.score, hit.score * _AHEAD)
    if NEWEST not in change.because:
        change.because.append(NEWEST)
    change.worth = max(change.worth or 0.0, hit.worth or 0.0)


def _is_over(change: Scored) -> bool:
    """Return whether what became of a plan is that it is off, or at another time; it may have another place alone."""
    text = change.passage.text
    return bool(CALLED_OFF.search(text) or _NOT.search(text) or TIME.search(text))


def when(one: Scored) -> tuple[date, float]:
    """Return the sort key by the time at which a passage was said."""
    at = one.passage.at
    return one.candidate.day or date.min, at.timestamp() if at else 0.0


def _overtakes(change: Scored, plan: _Plan, corpus: Corpus) -> bool:
    """Return whether a newer passage tells, in one clause, of a change of what the plan is about."""
    if change is plan.hit or not is_newer(change, plan.hit) or is_anothers(owners_in(plan.text), change):
        return False
    worth, known = without_values(rare_words(change, corpus)), {*tokens(plan.text)}
    things = plan.things.keys() - TOLD - {*tokens(" ".join((*_NAME.findall(change.passage.text), *_NAME.findall(plan.text))))}
    before = ""
    for clause in CLAUSE.findall(change.passage.text):
        for sign in _signs(clause):
            around = without_values(dict.fromkeys(tokens(f"{clause[: sign.start()]} {clause[sign.end() :]}"), 1.0))
            there = {word: worth[word] for word in around or tokens(before) if word in worth}
            least = min(sum(there.values()), sum(plan.things.values()))
            if there.keys() & things and sum(there[word] for word in there.keys() & plan.things.keys()) >= _COMMON * least:
                return True
            subject = without_values(dict.fromkeys(tokens(clause[: sign.start()]), 1.0))
            if len(subject) >= _SUBJECT and subject.keys() <= known:
                return True
        before = clause
    return False


def _signs(text: str) -> list[re.Match[str]]:
    changes = [match for match in CHANGED.finditer(text) if not _OTHER.fullmatch(match[0])]
    return [*changes, *_NOT.finditer(text)]
