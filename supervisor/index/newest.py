"""
Of passages about the same thing the newest comes first: what was said later may have made the others untrue.

The best passage gives way to a newer one that has the same words of the question, or all but everyday ones; that is nobody
else's (my shoe size, Anna's); that has rare words in common with it, or both say little else; and that may answer: a time where
the question is when. A question for what was before a change (原来, "originally") has the oldest first, one for what was keeps
the order. The others stay right behind: two birthdays look alike, too. Pure. The numbers were measured (recall.md).
"""

from __future__ import annotations

import itertools
import math
import re
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from recalld.supervisor.index.hit import NEWEST, OLDEST
from recalld.supervisor.index.ranking import LOOKED_AT, begins_with_a_word, own_words
from recalld.supervisor.query.parse import REQUEST_WEIGHT
from recalld.supervisor.query.said_apart import VERBS
from recalld.supervisor.query.tense import TENSE_WORDS, asks_before, asks_now, asks_past
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import tokens
from recalld.supervisor.text.word_frequency import rarity_asked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from recalld.supervisor.index.bm25 import Corpus
    from recalld.supervisor.index.ranking import Scored
    from recalld.supervisor.query.parse import Query

#: The share of the best score from which a passage with the same words of the question may contradict the best one.
_ALIKE: Final = 0.8
#: The same where the question does not ask what was, and where the passage lacks only everyday words of the question.
_NEAR: Final = 0.4
#: The share of the worth of the question's words in the best passage that another one has as well; less is enough for one that
#: tells of a change.
_WORTH: Final = 0.65
_WORTH_OF_A_CHANGE: Final = 0.45
_WORTH_OF_ALL: Final = 0.8
#: The least worth of the words that two passages which say little have in common with the question.
_TELLING: Final = 0.2
#: A longer question has words that are not about the thing.
_LONG_QUESTION: Final = 80
#: The share of the rare words of a passage that another one about the same thing has; less of one with the same words of the
#: question and nearly the same score. Two that have hardly more rare words than this, by their worth, need have none in common:
#: they say only what is asked.
_COMMON: Final = 0.25
_COMMON_OF_EQUALS: Final = 0.12
_LITTLE: Final = 2.5
#: A word that is rarer than this is no everyday word of the language.
_EVERYDAY: Final = 0.6
#: Two passages are about the same thing from this cosine of their rare words on; and how rare a word has to be.
_SAME_THING: Final = 0.3
_RARE: Final = 0.15
#: A word of the question that is as rare as this is its subject: a passage without it is about somebody else.
_SUBJECT: Final = 0.8
#: How many rare words two such passages share at least.
_SHARED: Final = 2
#: The score of the passage that goes first, relative to the best one.
_AHEAD: Final = 1.001
#: The share of an assistant's score from which the user's words go before it, which have as much of the question.
_USERS: Final = 0.6
#: What is somebody else's has at least this share of the score of what it gives way to.
_ANOTHERS: Final = 0.7
_OWN_WORTH: Final = 0.5
CHANGED: Final = lazy_re(
    r"[改换变涨降]|加到|减到|调[到整成了]|取消|不.{0,8}了|重新|推迟|提前|延[期到]|搬|挪|转到|退了|更正|升级|作罢|轮到"
    r"|\b(?:now|instead|chang\w+|mov(?:ed|ing)|switch\w*|swap\w*|new|from .{1,20} to|up to|down to|cut|cancel\w*|no longer"
    r"|any ?more|left|postpon\w*|resched\w*|pushed|replac\w*|turns out|withdrew|gave up|double booked|correction|renamed"
    r"|upgraded|extended|slipped|quit|retired|dropped|declined|rebooked|is off|these days)\b",
    re.IGNORECASE,
)
#: Whose something is: of two passages with the same words the one is about me, and the other about her.
_OWNER: Final = lazy_re(
    r"我|妈妈?|爸爸?|婆婆|公公|老婆|老公|媳妇|儿子|女儿|爷爷|奶奶|外公|外婆|姥姥|姥爷|岳父|岳母|[大二三]?(?:[伯叔姑舅]|(?<!阿)姨)|[哥姐弟妹]{2}|[大二三小]宝"
    r"|\b(?:mum|mom|dad|grandma|grandpa|husband|wife|son|daughter|sister|brother)\b"
    r"|(?<![A-Za-z'’])(?-i:[A-HJ-Z])(?![A-Za-z'’]|[ -]?[\d区座栋楼幢口馆排])|\b(?:my|our|i|we|(?-i:[A-Z])\w+['’]s)(?!\w)",
    re.IGNORECASE,
)
#: 妈妈 is 妈.
_TWICE: Final = lazy_re(r"^(.)\1$")
#: A question that ends in its verb: "when do the fitters come", "where is the car parked".
_VERB_LAST: Final = lazy_re(r"\b(?:do|does|did|will|can)\b.*|\w+ed\W*$")
_WORDS: Final = lazy_re(r"\w+")
_ASKS_WHEN: Final = lazy_re(
    r"\b(?:when|what (?:time|date)|which day|deadline|the date)\b|哪[一]?天|几[号点月]|什么时[候间]|何时|多少号", re.IGNORECASE
)
_ASKS_NUMBER: Final = lazy_re(r"\bhow (?:much|many)\b|多少|几[个片节人]", re.IGNORECASE)
_NUMBER: Final = lazy_re(
    r"\d(?!\d*(?:st|nd|rd|th|:\d|[号日月点]))(?<!:\d)(?<!\d:\d\d)|[一二两三四五六七八九十百千万半]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|half)\b",
    re.IGNORECASE,
)
TIME: Final = lazy_re(
    r"\d|[一二三四五六七八九十]+[月号日点]|[周礼]拜?[一二三四五六日天末]|星期|[明后今]天|月底|上午|下午|晚上|年"
    r"|\b(?:\w+day|to(?:morrow|night)|january|february|march|april|may|june|july|august|september|october|november|december|spring"
    r"|summer|autumn|winter|morning|evening|noon|midnight|eight|nine|ten|week\w*|month|year|after|before|soon|half past)s?\b",
    re.IGNORECASE,
)
CALLED_OFF: Final = lazy_re(
    r"取消|退了|不.{1,6}了|作罢|\b(?:cancel\w*|called off|is off|dropped|withdrew|declined|sold|no longer|not any ?more)\b",
    re.IGNORECASE,
)
#: The name of who speaks before the words.
_SPEAKER: Final = lazy_re(r"\w{1,20}[:：]")
#: Characters of a passage in which whose it is is looked for.
_READ: Final = 400
_OURS: Final = frozenset({"my", "our", "i", "we"})
_DAY: Final = lazy_re(r"\d{4}-\d\d-\d\d")
#: How words begin that say that they replace others; before them may stand day and source of an entry.
_CORRECTS: Final = lazy_re(r"(?:[-*+]\s+)?(?:\d{4}-\d\d-\d\d\|[^|\n]*\|\s*)?(?:更正|correction) ?[:：]", re.IGNORECASE)


def newest_first(query: Query, found: Sequence[Scored], corpus: Corpus) -> list[Scored]:
    """
    Return the answers, best first; of those about the same thing as the best one the newest is before it.

    A question for what was before a change has the oldest before it.
    """
    if not found or query.only_days or query.is_of_days:
        return list(found)
    found = _users_first(query, _own_first(query, found))
    best = found[0]
    asked = own_words(query.words, best.candidate)
    if not best.candidate.day or not asked:
        return found
    is_of_before = asks_before(query.text)
    same = _about_the_same(query, best, found[1:LOOKED_AT], corpus)
    if not same:
        return found
    first = (min if is_of_before else max)(same, key=_when)
    first.score = best.score * _AHEAD
    first.because.append(OLDEST if is_of_before else NEWEST)
    return [first, *(one for one in found if one is not first)]


def newest_of_equals(found: Sequence[Scored], order: Mapping[str, int]) -> list[Scored]:
    """Return the answers; those of one day and *order*, by content, with the same score, side by side, the newest first."""

    def place(one: Scored) -> tuple[float, int, date | None]:
        return one.score, order[one.candidate.source[0]], one.candidate.day

    def moment(one: Scored) -> tuple[float, int]:
        return one.passage.at.timestamp() if one.passage.at else 0.0, one.passage.start

    ordered: list[Scored] = []
    for _, run in itertools.groupby(found, key=place):
        equals = list(run)
        ordered += sorted(equals, key=moment, reverse=True) if len(equals) > 1 else equals
    return ordered


def _about_the_same(query: Query, best: Scored, found: Iterable[Scored], corpus: Corpus) -> list[Scored]:
    """Return the other answers that may go before the best one: newer ones, or older ones where these are asked for."""
    asked, is_of_before = own_words(query.words, best.candidate), asks_before(query.text)
    said = [one for one in found if one.candidate.day and one.candidate.role != "assistant"]
    others = [one for one in said if (is_newer(best, one) if is_of_before else is_newer(one, best))]
    if asks_past(query.text) and not is_of_before:
        return [one for one in others if one.score >= _ALIKE * best.score and own_words(query.words, one.candidate) == asked]
    same = [one for one in others if _is_same(query, best, one, corpus) and _may_answer(query, one)]
    owners = owners_in(query.text) & owners_in(_text(best))
    own = [one for one in same if owners & owners_in(_text(one))]
    same = own or ([] if owners and is_of_before else same)
    lacks = [len({*asked} - {*own_words(query.words, one.candidate)}) for one in same]
    same = [one for one, count in zip(same, lacks, strict=True) if count == min(lacks)]
    return same or ([] if is_of_before else _changes(best, _subjects(query, asked), others, corpus))


def _own_first(query: Query, found: Sequence[Scored]) -> list[Scored]:
    """Return the answers with the first one that is not somebody else's before one that is."""
    owners = owners_in(query.text)
    best = found[0]
    if not owners or owners & owners_in(_text(best)):
        return list(found)
    worth = _worth(query, own_words(query.words, best.candidate))
    for one in found[1:LOOKED_AT]:
        shared = sum(worth.get(word, 0.0) for word in own_words(worth, one.candidate))
        if (
            shared >= _OWN_WORTH * sum(worth.values())
            and owners & owners_in(_text(one))
            and one.score >= _ANOTHERS * best.score
        ):
            one.score = best.score * _AHEAD
            return [one, *(other for other in found if other is not one)]
    return list(found)


def _users_first(query: Query, found: Sequence[Scored]) -> list[Scored]:
    """
    Return the answers with the first one of the user's that has as much of the question before one of the assistant's.

    The assistant mostly says back what it was told. An answer stays that is asked for, or by somebody whom the question names.
    """
    best = found[0]
    if best.candidate.role != "assistant" or query.role == "assistant" or is_by_name(query, best):
        return list(found)
    worth = sum(_worth(query, own_words(query.words, best.candidate)).values())
    for one in found[1:LOOKED_AT]:
        is_near = one.candidate.role != "assistant" and one.score >= _USERS * best.score
        if is_near and sum(_worth(query, own_words(query.words, one.candidate)).values()) >= worth:
            one.score = best.score * _AHEAD
            return [one, *(other for other in found if other is not one)]
    return list(found)


def is_by_name(query: Query, one: Scored) -> bool:
    """Return whether the passage begins with a name of the question, as in a chat of two people: "Anna: I'm back"."""
    return begins_with_a_word(query, one.candidate) and bool(_SPEAKER.match(_text(one)))


def _is_same(query: Query, best: Scored, one: Scored, corpus: Corpus) -> bool:
    """Return whether a passage has what the question asks about, as the best one has it, and is nobody else's."""
    asked, there = (set(own_words(query.words, scored.candidate)) for scored in (best, one))
    mine, theirs = owners_in(query.text), owners_in(_text(best))
    # what "we" do may be at Anna's
    if one.score < _NEAR * best.score or is_anothers(mine if mine & theirs else mine | theirs, one):
        return False
    if asks_now(query.text) and _is_the_thing_now(query, best, one, corpus):
        return True
    newer = max(best, one, key=_when)
    is_known = sum(_worth(query, asked & there).values()) >= _TELLING
    if is_known and _is_only_a_change(newer, best if newer is one else one, corpus):
        return True
    if any(_tells_apart(query, word, asked & there) for word in asked - there):
        return False
    rare = [rare_words(scored, corpus) for scored in (best, one)]
    says_little = max(sum(words.values()) for words in rare) <= _LITTLE
    is_equal = asked <= there and one.score >= _ALIKE * best.score
    if not says_little and _common(*rare) < (_COMMON_OF_EQUALS if is_equal else _COMMON):
        return False
    worth = _worth(query, asked)
    if is_equal or len(query.asked) > 1 or len(query.text) > _LONG_QUESTION:
        return is_equal
    if asked <= there and says_little:
        return sum(worth.values()) >= _TELLING
    return _shares_enough(query, worth, asked & there, newer)


def _is_the_thing_now(query: Query, best: Scored, one: Scored, corpus: Corpus) -> bool:
    """
    Return whether a passage says of the thing itself what the best one said: the same words, but for verbs and what changes.

    Of 车现在停在哪里 the thing is 车, which 车改停到C区 has in no word of its own; numbers and times are what changes.
    """
    asked, text = own_words(query.words, best.candidate), _text(one)
    there = {*one.candidate.text.split(), *(word for word in asked if len(word) == 1 and word in text)}
    things = {word for word in asked if word not in VERBS and not _is_last_verb(query, word)}
    if not things or not things <= there or len(query.asked) > 1 or len(query.text) > _LONG_QUESTION:
        return False
    rare = [without_values(rare_words(scored, corpus)) for scored in (best, one)]
    says_little = {*asked} <= there and max(sum(words.values()) for words in rare) <= _LITTLE
    return says_little or _common(*rare) >= _COMMON


def _is_last_verb(query: Query, word: str) -> bool:
    text = TENSE_WORDS.sub(" ", query.text.casefold())
    return word.isascii() and bool(_VERB_LAST.search(text)) and word == [*query.words][-1]


def without_values(words: Mapping[str, float]) -> dict[str, float]:
    """Return the words that are no number, day or time."""
    return {word: worth for word, worth in words.items() if not TIME.search(word)}


def _shares_enough(query: Query, worth: Mapping[str, float], shared: Collection[str], newer: Scored) -> bool:
    """Return whether two passages that do not have the same words of the question share enough of their *worth*."""
    share = sum(worth[word] for word in shared) / sum(worth.values())
    if CHANGED.search(_text(newer)):
        return share >= _WORTH_OF_A_CHANGE
    if asks_now(query.text) or asks_before(query.text):
        return share >= _WORTH
    # what one of them has besides is a verb (开, "come"), since 时间 and 地点 of one thing are two facts
    return share >= _WORTH_OF_ALL and all(word.isascii() or len(word) == 1 for word in worth.keys() - set(shared))


def _worth(query: Query, words: Iterable[str]) -> dict[str, float]:
    return {word: query.words[word] * max(query.rarity.get(word, 1.0), 0.1) for word in words}


def _tells_apart(query: Query, word: str, shared: Collection[str]) -> bool:
    """Return whether a passage without the *word* is about something else: it is rare, or stands right before a shared word."""
    if any(match[0].casefold().startswith(word) for match in CHANGED.finditer(query.text)):
        return False
    if not word.isascii() and re.search(f"(?:哪[儿里]?|几[点号]|时候|怎么){re.escape(word)}", query.text):
        return False  # it is what is asked of the thing: 读书会在哪碰头
    if query.rarity.get(word, 1.0) >= _EVERYDAY or query.words[word] < 1.0:
        return True
    text = TENSE_WORDS.sub(" ", query.text.casefold())
    if not word.isascii():
        return any(re.search(f"{re.escape(word)}的?{re.escape(one)}", text) for one in shared)
    is_verb = _is_last_verb(query, word)
    stems = [next(iter(tokens(one)), "") for one in _WORDS.findall(text)]
    beside = {other for one, other in itertools.pairwise(stems) if one == word}
    before = {one for one, other in itertools.pairwise(stems) if other == word and not is_verb}
    return bool((beside | before) & set(shared))


def _is_only_a_change(newer: Scored, older: Scored, corpus: Corpus) -> bool:
    """
    Return whether the newer passage says nothing but what has become of what the older one is about: 健身改到周四了.

    What is said so leaves out what is known: whose it is, and 房 of 健身房.
    """
    changes = {word for found in CHANGED.finditer(_text(newer)) for word in tokens(found[0])}
    things = without_values(rare_words(newer, corpus)).keys() - changes
    known = older.candidate.text.split()
    return bool(changes and things) and all(any(thing in word for word in known) for thing in things)


def _may_answer(query: Query, one: Scored) -> bool:
    """Return whether the passage may answer the question: who asks when is told a time, who asks how much a number."""
    text = _text(one)
    if CALLED_OFF.search(text):
        return True
    return not (
        (_ASKS_WHEN.search(query.text) and not TIME.search(text))
        or (_ASKS_NUMBER.search(query.text) and not _NUMBER.search(text))
    )


def is_anothers(owners: Collection[str], one: Scored) -> bool:
    """Return whether the passage is about somebody's, and not about that of one of the *owners*."""
    theirs = owners_in(_text(one))
    return bool(owners and theirs) and not theirs & set(owners)


@lru_cache(maxsize=LOOKED_AT)
def owners_in(text: str) -> frozenset[str]:
    """Return whose something is by the text, "" for the user's."""
    found = {match[0].casefold() for match in _OWNER.finditer(text[:_READ])}
    return frozenset("" if one in _OURS or one == "我" else _TWICE.sub(r"\1", one) for one in found)


def _subjects(query: Query, asked: Iterable[str]) -> set[str]:
    return {word for word in asked if query.words[word] > REQUEST_WEIGHT and query.rarity.get(word, 1.0) >= _SUBJECT}


def _changes(old: Scored, subjects: set[str], newer: Iterable[Scored], corpus: Corpus) -> list[Scored]:
    """Return those of the *newer* answers that tell of a change of what *old* is about, the nearest one of each day."""
    worth = rare_words(old, corpus)
    near: dict[date | None, tuple[float, Scored]] = {}
    for one in newer:
        there = set(one.candidate.text.split())
        if not subjects <= there or len(there & worth.keys()) < _SHARED:
            continue
        alike = _cosine(worth, rare_words(one, corpus))
        if alike >= max(_SAME_THING, near.get(one.candidate.day, (0.0,))[0]) and CHANGED.search(_text(one)):
            near[one.candidate.day] = alike, one
    return [one for _, one in near.values()]


def rare_words(one: Scored, corpus: Corpus) -> Mapping[str, float]:
    """Return the words of the passage that are rare in the language and in memory, with their worth."""
    if one.rare is None:
        in_language = {word: rarity_asked(word) ** 2 for word in set(one.candidate.text.split())}
        worth = {word: rare * corpus.relative_idf(word) for word, rare in in_language.items() if rare >= _RARE}
        one.rare = {word: rare for word, rare in worth.items() if rare >= _RARE and not _DAY.fullmatch(word)}
    return one.rare


def _common(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return how much of the worth of the passage that says less is in the other one, too."""
    least = min(sum(one.values()), sum(other.values()))
    return sum(one[word] for word in one.keys() & other.keys()) / least if least else 0.0


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    both = sum(one[word] * other[word] for word in one.keys() & other.keys())
    return both / math.sqrt(sum(x * x for x in one.values()) * sum(x * x for x in other.values())) if both else 0.0


def _when(one: Scored) -> tuple[date, bool]:
    """Return the sort key by time: what says that it corrects comes behind the rest of its day."""
    return one.candidate.day or date.min, bool(_CORRECTS.match(_text(one)))


def is_newer(one: Scored, other: Scored) -> bool:
    """Return whether one is later than the other by `_when`; most are of different days, and need not be decoded."""
    days = one.candidate.day or date.min, other.candidate.day or date.min
    return days[0] > days[1] or (days[0] == days[1] and _when(one) > _when(other))


def _text(one: Scored) -> str:
    return one.passage.text
