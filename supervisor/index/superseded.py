"""
What the best answer says may be over: "cancelled puregym, I'm at the climbing hall now" has no word of "which gym am i in".

A newer message that says so names what the answer names, and not what is asked. So it is looked for by the words of the best
answer that the question lacks: beside one of them it has to say that something is over (关门, "closed", "left"). Or it says of
what is asked that it is at another time or place (饭改到周六我家), and of nothing else. It goes first, and the answer stays
right behind it. Pure. What has more words in common with the question and the answer is found by `newest`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from recalld.supervisor.index.hit import NEWEST
from recalld.supervisor.index.newest import is_anothers, is_by_name, is_newer, owners_in, without_values
from recalld.supervisor.index.overtaken import CLAUSE, TOLD, when
from recalld.supervisor.index.ranking import LOOKED_AT, Scored
from recalld.supervisor.query.calendar import is_day
from recalld.supervisor.query.related_words import WORTH as RELATED_WORTH
from recalld.supervisor.query.tense import asks_past
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import HAN, tokens
from recalld.supervisor.text.word_frequency import rarity_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from recalld.supervisor.index.bm25 import Candidate, Corpus
    from recalld.supervisor.query.parse import Query

#: How many words of the best answer, the rarest, find what became of it, and how rare in the language one of them is at least.
_WORDS: Final = 6
_RARE: Final = 0.24
#: An answer with more words says more than what is asked.
_LONG: Final = 24
#: The part of the worth of the question's words that an answer has at least.
_WORTH: Final = 0.65
#: The part of the worth of the question's words in the answer that what has moved has at least, where it names no other of its.
_TOPIC: Final = 0.45
#: How near a word is at least that means nearly the same, by its worth in a search.
_NEARLY: Final = 0.9 * RELATED_WORTH
#: So many words away from the sign that something is over is what is over: "finally left talktalk", 丰巢坏了.
_BESIDE: Final = 2
#: A part of a text that says one thing; many who write Chinese set a blank in place of a comma.
_SENTENCE: Final = lazy_re(rf"(?:[^.!?;:。！？；：\n ]|(?<![{HAN}]) | (?![{HAN}])|(?<=\w)[.:](?=\w))+")
#: The score of what became of it, relative to it.
_AHEAD: Final = 1.001
#: Signs that something is at another time or place, before it.
_MOVED: Final = lazy_re(
    r"\b(?:(?:mov|chang|push|switch|shift|swap|postpon)\w*(?: back| forward)? (?:to|til)|rebooked"
    r"|(?:is|['\u2019]s|are|['\u2019]re) now|now (?:at|on|in))\b"
    r"|[改挪换转移调推约][到去至]|改[在成约]?(?=[周星礼下明后\d一二三四五六七八九十])",
    re.IGNORECASE,
)
#: Signs that something is over. That somebody is ill or away for a while is none.
_OVER: Final = lazy_re(
    r"\b(?:clos(?:ed|ing)|shut(?:ting)? (?:down|for)|retir(?:ed|ing)|quit|cancel\w*|double[ -]?booked|fell through|stopped"
    r"|given up|gave up|ditched|binned|scrapped|swapped|switched from|replaced|moved (?:away|out|on)|no more|no longer"
    r"|done with|finished with|fed up with|instead of|not at)\b"
    r"|关[了门张停闭]|倒闭|跑路|搬走|退[了掉租]|停[业掉用产]|辞[了职退]|离职|取消|黄了|收回|闭馆|歇业|封了|拆[了迁]"
    r"|不[做干去租]了|换掉|撂挑子",
    re.IGNORECASE,
)
#: The same where the message goes on to say what is instead: "polo died. got a secondhand yaris", but not "left Hackney at 8".
_MAY_BE_OVER: Final = lazy_re(
    r"\b(?:died|dead|broken?|packed (?:up|in)|gone|went back|(?<!the )left|leaving|sold|booked (?:up|out)|let (?:us|me) down"
    r"|(?:is|was|['\u2019]s) (?:full|off))\b|没[了位空房货]|满[了员]|坏了|走了|搬家|回老家|卖[了掉]|死了|丢了|报废",
    re.IGNORECASE,
)


def with_what_ended(
    query: Query,
    hits: Sequence[Scored],
    found: Callable[[Mapping[str, float]], Iterable[Candidate]],
    corpus: Corpus,
) -> list[Scored]:
    """
    Return the hits, best first, with the newest passage before the best that says that what the best one names is over.

    *found* returns the candidates for words with their weights.
    """
    best = hits[0] if hits else None
    if best is None or not _may_be_over(query, best):
        return [*hits]
    values = _values(query, best, corpus)
    known = {one.candidate.source for one in hits[:LOOKED_AT]}
    about = {*values, *best.own(query.words)}
    told = [
        Scored(one, 0.0)
        for one in (found(values) if values else ())
        if one.source not in known and _may_be_later(one, best) and not about.isdisjoint(one.text.split())
    ]
    newer = [one for one in (*hits[1:LOOKED_AT], *told) if _is_newer(one, best)]
    over = [one for one in newer if _says_over(one, values) or _says_moved(query, one, best, values)]
    if not over:
        return [*hits]
    first = max(over, key=when)
    first.score, first.worth = best.score * _AHEAD, max(first.worth or 0.0, best.worth or 0.0)
    first.because.append(NEWEST)
    return [first, *(one for one in hits if one.candidate.source != first.candidate.source)]


def _may_be_over(query: Query, best: Scored) -> bool:
    """Return whether an answer is the user's, short, has much of the question, and tells what may be over by now."""
    if len(query.asked) != 1 or asks_past(query.text) or best.candidate.role == "assistant" or not best.candidate.day:
        return False
    return best.candidate.lengths[0] <= _LONG and (best.worth or 0.0) >= _WORTH and not is_by_name(query, best)


def _values(query: Query, best: Scored, corpus: Corpus) -> dict[str, float]:
    """Return the rarest words of the best answer that the question does not have: what it answers, and not what is asked."""
    asked = {*query.words, *(other for others in query.related.values() for other in others)}
    said_in = [{*tokens(_MAY_BE_OVER.sub(" ", _OVER.sub(" ", sentence)))} for sentence in _SENTENCE.findall(best.passage.text)]
    there = {word for words in said_in if not asked.isdisjoint(words) for word in words - asked}
    worth = {word: corpus.idf(word) for word in there if _may_end(word)}
    return dict(sorted(without_values(worth).items(), key=lambda one: -one[1])[:_WORDS])


def _may_end(word: str) -> bool:
    return (word.isascii() or len(word) > 1) and not word[0].isdigit() and not is_day(word) and rarity_asked(word) >= _RARE


def _may_be_later(one: Candidate, best: Scored) -> bool:
    """Return whether a candidate may be a later telling of the user's, by what can be seen without decoding it."""
    days = one.day, best.candidate.day
    return one.role != "assistant" and not one.asks and bool(days[0] and days[1] and days[0] >= days[1])


def _is_newer(one: Scored, best: Scored) -> bool:
    """Return whether a passage is a later one of the user's, which tells, and not of somebody whom the best does not name."""
    if one.candidate.role == "assistant" or one.candidate.asks or not is_newer(one, best):
        return False
    theirs = {name.removesuffix("'s").removesuffix("’s") for name in owners_in(one.passage.text)}
    return not is_anothers(owners_in(best.passage.text), one) or not theirs.isdisjoint(best.words)


def _says_over(one: Scored, values: Mapping[str, float]) -> bool:
    """Return whether the passage says, of one of the *values* of the best answer, that it is over."""
    clauses = CLAUSE.findall(one.passage.text)
    for place, clause in enumerate(clauses):
        goes_on = any(_topic(other) for other in clauses[place + 1 :])
        for sign in (*_OVER.finditer(clause), *(_MAY_BE_OVER.finditer(clause) if goes_on else ())):
            beside = {*tokens(clause[: sign.start()])[-_BESIDE:], *tokens(clause[sign.end() :])[:_BESIDE]}
            if beside & values.keys():
                return True
    return False


def _says_moved(query: Query, one: Scored, best: Scored, values: Mapping[str, float]) -> bool:
    """
    Return whether the passage says that what is asked about is at another time or place: 饭改到周六我家.

    It says so of nothing else, and names most of it, or one of the *values* of the best answer as well. What it is about may
    stand in the clause before: 牙医那天有手术，约到19号.
    """
    asked = {word: query.rarity.get(word, 1.0) for word in best.own(query.words) if query.words[word] == 1.0}
    before: list[str] = []
    for clause in CLAUSE.findall(one.passage.text):
        topic = _topic(clause)
        if sign := _MOVED.search(clause):
            topic = _topic(clause[: sign.start()])
            meant = {word: _meant(word, asked, query) for word in topic or before}
            has = sum(asked[word] for word in set().union(*meant.values()))
            is_alone = not topic or all(meant[word] or any(word in other for other in best.words) for word in topic)
            least = (_TOPIC if topic else _WORTH) * sum(asked.values())
            if has and is_alone and (has >= least or (topic and not values.keys().isdisjoint(one.words))):
                return True
        before = topic
    return False


def _meant(word: str, asked: Iterable[str], query: Query) -> set[str]:
    """Return the words of the question that a word stands for: itself, one nearly the same, one in it (牙 of 牙医)."""
    return {
        one
        for one in asked
        if one == word or query.related.get(one, {}).get(word, 0.0) >= _NEARLY or (not one.isascii() and one in word)
    }


def _topic(text: str) -> list[str]:
    """Return the words that say what a text is about, and not when."""
    return [*without_values({word: 1.0 for word in tokens(text) if word not in TOLD})]
