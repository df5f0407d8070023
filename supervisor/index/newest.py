"""
Of passages about the same thing the newest comes first: what was said later may have made the others untrue.

Among the best answers, the user's passages that have most of what the best one has of the question's words are about the same
thing, unless one of them names what the other lacks. The newest of them goes first, the oldest where the question is for what
was before a change (原来, "originally"); a question for what was keeps the order. The others stay right behind: two birthdays
look alike, too.

What became of a fact is mostly said in other words ("okafor retired so my teeth are with new smile"), and "what can my wife not
eat" is answered by "Priya is coeliac", since "my wife is Priya". So each of the three best answers brings statements of the
user's: later ones that are near to it by meaning, and any that have a name of it. Pure. The numbers were measured
(docs/explanation/recall.md).
"""

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ..query.calendar import is_day
from ..query.intent import TENSE_WORDS, asks_before, asks_past
from ..query.parse import Query
from ..text.lazy_re import lazy_re
from ..text.tokenizer import tokens
from ..text.word_frequency import rarity_of
from .chunking import PAUSE_S
from .hit import LATER, LINK, PartName
from .ranking import LOOKED_AT, Corpus, Scored, begins_with_a_word

#: The reason of the passage that goes before an older one about the same thing, or, where the past is asked for, a newer one.
_NEWEST: Final = "newest"
_OLDEST: Final = "oldest"
#: The share of the best score from which a passage may go before the best one, and the user's before an assistant's.
_NEAR: Final = 0.5
_USERS: Final = 0.6
#: The share of the worth of the question's words in the best passage that another one about the same thing has as well.
_SHARED: Final = 0.65
#: How many of the best answers bring other statements with them, and how many each brings by meaning and by a name.
BRING: Final = 3
_MOST_ALIKE: Final = 5
_MOST_NAMED: Final = 3
#: How many passages have a name at most, and how rare it is in the language.
_NAMED: Final = 3
_NAME: Final = 0.6
#: From this part of the nearness from which two are alike a later statement comes along; so many may be close behind.
LEAST_ALIKE: Final = 0.7
_CLOSE: Final = 2
#: The score that a later statement has at least, as a share: close behind the best answer, or where there is room. Before the
#: best one it would hold down the answer in 2 to 7 of 100 questions (recall-tried.md, "Later statements").
_BEHIND_BEST: Final = 0.999
_IN_ROOM: Final = 0.3
#: A word that is rarer than this is no everyday word of the language.
_EVERYDAY: Final = 0.6
#: The score of the passage that goes first, relative to the best one.
_AHEAD: Final = 1.001
_WORDS: Final = lazy_re(r"\w+")
#: The name of who speaks before the words.
_SPEAKER: Final = lazy_re(r"\w{1,20}[:：]")


def newest_first(
    query: Query,
    hits: Sequence[Scored],
    alike: Mapping[int, Mapping[int, float]] | None = None,
    names: Mapping[int, frozenset[str]] = MappingProxyType({}),
) -> list[Scored]:
    """
    Return the answers, best first; of those about the same thing as the best one the newest, or the oldest, is before it.

    *alike* has for the best answers (names of vectors) what is near to them by meaning, 1.0 where two are alike; None: it is
    not known. Those about the same thing are alike, too. *names* has the names in each of the best answers, by which other
    statements are about the same.
    """
    is_of_before = asks_before(query.text)
    if not hits or (asks_past(query.text) and not is_of_before):
        return list(hits)
    best = hits[0]
    first = (min if is_of_before else max)([best, *_of_the_same(query, hits, alike)], key=when)
    if not is_of_before:
        hits = _with_company(query, hits, first, alike or {}, names)
    if first is best:
        return list(hits)
    first.because.append(_OLDEST if is_of_before else _NEWEST)
    return _ahead(first, [best, *(hit for hit in hits if hit is not best)], "days")


def is_of_user(hit: Scored) -> bool:
    """True if the passage has a day and is not the assistant's."""
    return bool(hit.candidate.day) and hit.candidate.role != "assistant"


def answered_by(answer: Scored, hits: Sequence[Scored]) -> Scored | None:
    """Return the user's message of these that came last before this *answer* of the assistant's, in its talk; else None."""
    at, session = answer.passage.moment[1], answer.passage.session
    of_talk = [hit for hit in hits if hit.candidate.role == "user" and hit.passage.session == session]
    before = [hit for hit in of_talk if 0 <= at - hit.passage.moment[1] <= PAUSE_S]
    return max(before, key=when, default=None) if answer.candidate.role == "assistant" else None


def is_statement(hit: Scored) -> bool:
    """True if the passage is of the user and does not end in a question."""
    return is_of_user(hit) and not hit.passage.asks


def _of_the_same(query: Query, hits: Sequence[Scored], alike: Mapping[int, Mapping[int, float]] | None) -> list[Scored]:
    """
    Return the answers about the same thing as the best one: they have most of the worth that it has of the question.

    Neither names what the other lacks. Of two messages, of which each has one meaning, both are alike as well.
    """
    best, others = hits[0], hits[1:LOOKED_AT]
    worth = _worth(query, best.matching(query.words))
    if not worth or not is_of_user(best):
        return []
    near = (alike or {}).get(best.candidate.unit, {})

    def is_of_the_same(hit: Scored) -> bool:
        if not is_of_user(hit) or hit.score < _NEAR * best.score:
            return False
        are_messages = alike is not None and best.candidate.role and hit.candidate.role
        if are_messages and near.get(hit.candidate.unit, 0.0) < 1.0:
            return False
        shared = worth.keys() & hit.words
        is_most = sum(worth[word] for word in shared) >= _SHARED * sum(worth.values())
        return is_most and not any(_tells_apart(query, word, shared) for word in worth.keys() ^ {*hit.matching(query.words)})

    return [hit for hit in others if is_of_the_same(hit)]


def _with_company(
    query: Query,
    hits: Sequence[Scored],
    first: Scored,
    alike: Mapping[int, Mapping[int, float]],
    names: Mapping[int, frozenset[str]],
) -> list[Scored]:
    """Return the answers, in which the user's best bring later statements, and, for what they lack, those with a name."""
    least: dict[Scored, float] = {}
    for n, best in enumerate(hits[:BRING]):
        if not is_of_user(best):
            continue
        near, named = alike.get(best.candidate.unit, {}), names.get(best.candidate.unit, frozenset())
        lacks_a_word = len(best.matching(query.words)) < len(query.words)
        others = [hit for hit in hits if hit not in (best, first) and is_statement(hit)]
        later = sorted((hit for hit in others if when(hit) > when(best)), key=lambda hit: -near.get(hit.candidate.unit, 0.0))
        of_name = [hit for hit in others if not named.isdisjoint(hit.words) and (lacks_a_word or hit in later)][:_MOST_NAMED]
        more = [hit for hit in later[:_MOST_ALIKE] if near.get(hit.candidate.unit, 0.0) >= LEAST_ALIKE]
        close = [hit for hit in more[:_CLOSE] if near[hit.candidate.unit] >= 1.0]
        close += [hit for hit in of_name if hit in later and hit.candidate.unit in near]
        close = [hit for hit in close if hit.score]  # it has something of the question, too
        for scored in [*close, *of_name, *more]:
            least.setdefault(scored, best.score * (_BEHIND_BEST if n == 0 and scored in close else _IN_ROOM))
            scored.because += [reason] if (reason := LATER if scored in later else LINK) not in scored.because else []
    for scored, score in least.items():
        scored.parts = scored.parts.reaching(max(scored.score, score), "days")
    return sorted(hits, key=lambda hit: (-hit.score, hit in least and -when(hit)[0]))


def users_first(query: Query, hits: Sequence[Scored]) -> list[Scored]:
    """
    Return the answers with the first one of the user's that has as much of the question before one of the assistant's.

    The assistant mostly says back what it was told. An answer stays that is asked for, or by somebody whom the question names.
    """
    if not hits or query.only_days or query.is_of_days:
        return list(hits)
    best = hits[0]
    is_named = begins_with_a_word(query, best.candidate) and _SPEAKER.match(best.passage.text)
    if best.candidate.role != "assistant" or query.role == "assistant" or is_named:
        return list(hits)
    worth = sum(_worth(query, best.matching(query.words)).values())
    for other in hits[1:LOOKED_AT]:
        is_near = other.candidate.role != "assistant" and other.score >= _USERS * best.score
        if is_near and sum(_worth(query, other.matching(query.words)).values()) >= worth:
            return _ahead(other, hits, "who")
    return list(hits)


def _ahead(first: Scored, hits: Sequence[Scored], part: PartName) -> list[Scored]:
    first.parts = first.parts.reaching(hits[0].score * _AHEAD, part)
    return [first, *(hit for hit in hits if hit is not first)]


def when(hit: Scored) -> tuple[int, float, int]:
    """Return the sort key by time; lines of one day are in the order of their file."""
    return *hit.passage.moment, hit.passage.start


def _worth(query: Query, words: Iterable[str]) -> dict[str, float]:
    return {word: query.words[word] * max(query.rarity.get(word, 1.0), 0.1) for word in words}


def _tells_apart(query: Query, word: str, shared: Collection[str]) -> bool:
    """True if a passage without the *word* is about something else: it is rare, a number, or right before a shared word."""
    is_number = word.isnumeric() or any(map(str.isdigit, word))
    if is_number or query.rarity.get(word, 1.0) >= _EVERYDAY or query.words[word] < 1.0:
        return True
    text = TENSE_WORDS.sub(" ", query.text.casefold())
    if not word.isascii():
        return any(re.search(f"{re.escape(word)}的?{re.escape(other)}", text) for other in shared)
    stems = [next(iter(tokens(part)), "") for part in _WORDS.findall(text)]
    return any(before == word and after in shared for before, after in itertools.pairwise(stems))


def names_in(query: Query, hit: Scored, corpus: Corpus) -> frozenset[str]:
    """Return the words of the passage that few others have, and that are rare in the language: names, mostly."""
    words = (word for word in hit.words if word not in query.words and not is_day(word) and not any(map(str.isdigit, word)))
    return frozenset(word for word in words if 1 < corpus.frequency(word) <= _NAMED and rarity_of(word) >= _NAME)
