"""
Parse a question: its words with their weights, the days it names, and the role it asks for.

Words that only ask have a low weight: a young memory has them in no message, so they would weigh most. Where a day is named,
they and its date are not searched for. Messages before the question are used only if it refers back (它, 那个, "that one") or
has no words of its own, since they hurt a question that is complete by itself (measured). In a longer input the sentences that
ask have full weight, the others little. Source: docs/explanation/recall.md.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from ..text.language import is_chitchat, is_small_talk
from ..text.lazy_re import lazy_re
from ..text.tokenizer import spelled, tokens
from ..text.word_frequency import rarity_of
from .calendar import Days, day_tokens, occasions
from .dates import Span, days_meant, due_days, plain, spans
from .intent import OVER, TENSE_WORDS, is_chatter, role_asked_for, without_asking

#: The weight of a word that only asks (when, said), or only names a day.
REQUEST_WEIGHT: Final = 0.1
#: The words that ask which day or time it is, and what was on a day.
_WHICH: Final = lazy_re(
    r"几月几[号日]|几[号点月]|多少号|(?:星期|礼拜|周)几|哪一?[天日]|什么日子|日期"
    r"|\b(?:what|which)(?:'s| is)? (?:the )?(?:day|date|time)\b|\bthe date\b",
    re.IGNORECASE,
)
_HAPPENED: Final = lazy_re(r"发生|\bhappen\w*", re.IGNORECASE)


def weight_terms(sentence: str, dates: Sequence[Span]) -> dict[str, float]:
    """
    Return the words of *sentence* (NFKC) with their weights, at most 1.0, in order; *dates* are the spans that it names.

    >>> weight_terms("我妈现在生日几号", ())
    {'妈': 1.0, '现在': 0.1, '生日': 1.0, '几号': 0.1}
    """
    asking = [match.span() for pattern in (_WHICH, _HAPPENED, TENSE_WORDS) for match in pattern.finditer(sentence)]
    undated = _without(sentence, asking)
    others = tokens(_without(undated, [(span.start, span.end) for span in dates])) if dates else tokens(undated)
    # subtle: the rest may be tokenised differently: 这段话, and 话
    return dict.fromkeys(tokens(sentence), REQUEST_WEIGHT) | dict.fromkeys(others, 1.0)


def _without(sentence: str, stretches: Iterable[tuple[int, int]]) -> str:
    for start, end in stretches:
        sentence = sentence[:start] + " " * (end - start) + sentence[end:]
    return sentence


#: Weights: a word of a sentence that does not ask; a word of the messages before.
_OTHER_WEIGHT: Final = 0.2
_BEFORE_WEIGHT: Final = 0.5
#: The most words taken from the messages before, the rarest; a question with more words than this never refers back.
_MAX_BEFORE: Final = 8
_FEW: Final = 3
#: A day to come that is no farther away is meant, not the same one of last year: 8 December, asked in November.
_SOON_DAYS: Final = 31
#: The most sentences that are scored one by one, the last.
_MOST_ASKED: Final = 6
#: Only this many characters of an input are read: a longer one is a document.
MOST_CHARS: Final = 4_000
_SENTENCE: Final = lazy_re(r"[^。！？!?\n]+[。！？!?\n]*")
_ASKS: Final = lazy_re(r"[?？][\s!！」』”\"')）]*$")
_BACK: Final = lazy_re(
    r"[它牠]|(?:这|那)个?(?=[，。？！,.?!\s吗呢呀吧啊的怎是为有在要能会还后多]|$)|(?:那|这)(?:件事|事儿?|家|样|次|里|儿|本书?|部)|上面|刚才|刚刚|继续|后来呢"
    r"|\b(?:it|its|that|that one|this one|those|these ones?|the same|the (?:first|second|last|other) one)\b",
    re.IGNORECASE,
)
_PERSON: Final = lazy_re(r"\b(?:he|she|him|her|them|they)\b", re.IGNORECASE)
#: A capitalised word inside a sentence is probably a name: whom "she" means, or what the question is about.
NAMED: Final = lazy_re(r"(?<=[\w,;:]\s)(?!I\b)[A-Z][\w'’-]+")


@dataclass(frozen=True, slots=True)
class Query:
    """
    What a question asks for.

    *text* is the input, of the day *today*. *words* are its words with their weights (at most 1), in order; *rarity* has the
    rarity of each in the language, 1.0 for a name; *sentences* are the words of each sentence that asks; *day_words* are days,
    as messages have them that are about these days; *occasions* has for such a day what else a message about it may have.
    *days* are the days that the question names; *role* is "assistant" or "user" if it asks for the words of one of them.
    *only_days*: it asks for what happened on its days and nothing else.

    `known_words` adds what memory has: *respelled* are the words that it reads as another word too. *related* are the words of
    memory that mean nearly the same as a word, with their worth relative to it (`with_related_words`).
    """

    words: Mapping[str, float]
    rarity: Mapping[str, float] = field(default_factory=dict)
    days: tuple[Days, ...] = ()
    role: str = ""
    text: str = ""
    sentences: tuple[tuple[str, ...], ...] = ()
    only_days: bool = False
    respelled: frozenset[str] = frozenset()
    related: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    day_words: frozenset[str] = frozenset()
    occasions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    today: date = date.max

    @property
    def is_of_days(self) -> bool:
        """Whether it asks what is to be done on some days, and for nothing else."""
        return bool(self.words) and not self.days and self.words.keys() <= self.occasions.keys()

    @property
    def names_no_day_but_today(self) -> bool:
        """Whether it can be small talk."""
        return not self.occasions and {*self.days} <= {Days(self.today, self.today)}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search for."""
        return not self.words and not self.days


def parse_query(question: str, today: date, recent: Sequence[str] = (), most: int = 0, *, is_input: bool = True) -> Query:
    """
    Return what *question* asks for; *recent* are the texts before it, oldest first.

    Of more than *most* words (0: no limit) the rarest are kept. A greeting or thanks asks for nothing, unless it is no input
    but typed in order to search, nor does chatter that names no day but today.
    """
    question = question[:MOST_CHARS]
    if is_input and is_small_talk(question):
        return Query({})
    asking, others = _parts(plain(question))
    text = " ".join(asking)
    days, sentences, day_words, occasion_words = _days_and_words(asking, today)
    is_today = {*days} == {Days(today, today)}
    if is_input and is_chatter(question) and not occasion_words and (is_today or not days):
        return Query({})
    least = REQUEST_WEIGHT if days else 0.0  # 号 and 30 are in messages of other days
    words = {word: max(each.get(word, 0.0) for each in sentences) for each in sentences for word in each if each[word] > least}
    only_days = bool(days) and not words
    if only_days and is_today and _WHICH.search(text):  # 今天几号
        return Query({})
    for sentence in others:
        words |= {word: _OTHER_WEIGHT for word in tokens(sentence) if word not in words}
    back = refers_back(question, len(days) + sum(counts > REQUEST_WEIGHT for counts in words.values()))
    before = {word: _BEFORE_WEIGHT for word in _telling(recent) if word not in words} if back else {}
    if words and not before:
        scale = max(words.values())
        words = {word: counts / scale for word, counts in words.items()}
    only_days = only_days and not before
    day_words = frozenset() if only_days or not words else day_words - words.keys()
    words |= before | dict.fromkeys(sorted(day_words), 1.0)
    if 0 < most < len(words):
        rarest = set(sorted(words, key=lambda word: (-words[word], -rarity_of(word)))[:most])
        words = {word: counts for word, counts in words.items() if word in rarest}
    each = tuple(filter(None, (tuple(word for word in sentence if word in words) for sentence in sentences[-_MOST_ASKED:])))
    names = {token for name in NAMED.findall(question) for token in tokens(name)}
    # a month is written like a name but is not one: "February"
    rarity = {word: 1.0 if word in names and counts > REQUEST_WEIGHT else rarity_of(word) for word, counts in words.items()}
    role = role_asked_for(text)
    day_words &= words.keys()
    return Query(words, rarity, days, role, question, each, only_days, frozenset(), {}, day_words, occasion_words, today)


def _days_and_words(
    asking: Sequence[str], today: date
) -> tuple[tuple[Days, ...], list[dict[str, float]], frozenset[str], dict[str, tuple[str, ...]]]:
    """
    Return the days that the sentences name, the words of each with their weights, and days that messages may be about.

    The last are the days to come that they name, each with what else a message about it may have.
    """
    days: list[Days] = []
    words: list[dict[str, float]] = []
    day_words: set[str] = set()
    occasion_words: dict[str, tuple[str, ...]] = {}
    for sentence in asking:
        if ahead := due_days(sentence, today):
            words.append(_what_is_due(sentence, ahead))
            for span in ahead:
                occasion_words |= occasions(span.days)
        else:
            named = spans(sentence, today)
            mentioned = days_meant(sentence, today)
            soon = [
                span for span in mentioned if 0 < (span.days.first - today).days <= _SOON_DAYS and not OVER.search(sentence)
            ]
            days += [span.days for span in named if not any(map(span.overlaps, soon))]
            words.append(weight_terms(sentence, named))
            for day in _single(sentence, (*named, *mentioned), today):
                day_words |= {*day_tokens(day)}
                occasion_words |= occasions(day)
    return tuple(days), words, frozenset(day_words), occasion_words


def _single(sentence: str, named: Iterable[Span], today: date) -> list[Days]:
    """Return the single days that messages of other days may be about: those to come, and those with a date."""
    single = [span for span in named if span.days.length == 1]
    return [span.days for span in single if span.days.first > today or any(map(str.isdigit, sentence[span.start : span.end]))]


def _what_is_due(sentence: str, ahead: Sequence[Span]) -> dict[str, float]:
    """Return the words of a sentence that asks what is to be done: its days, and the other words of the question."""
    words = weight_terms(without_asking(sentence), ahead)
    others = {word: counts for word, counts in words.items() if counts == 1.0}
    return others | {token: 1.0 for span in ahead for token in day_tokens(span.days)}


def refers_back(question: str, words: int) -> bool:
    """
    Return whether the question needs the messages before it to be understood; *words* is the number of its own words.

    >>> refers_back("它多少钱？", 1), refers_back("那个喜欢下棋的人是谁", 3), refers_back("What about that one?", 0)
    (True, False, True)
    >>> refers_back("Where did she buy them?", 1), refers_back("Where did Anna buy her hats?", 3)
    (True, False)
    """
    if not words or words > _FEW:
        return not words
    return bool(_BACK.search(question)) or (bool(_PERSON.search(question)) and not NAMED.search(question))


def _parts(question: str) -> tuple[list[str], list[str]]:
    """Return the sentences that ask, and the others; if none has a question mark, all of them ask."""
    sentences = _SENTENCE.findall(question)
    asking = [sentence for sentence in sentences if _ASKS.search(sentence)]
    return (asking, [sentence for sentence in sentences if sentence not in asking]) if asking else (sentences, [])


def _telling(recent: Sequence[str]) -> list[str]:
    """Return the rarest words of the *recent* messages; of equally rare ones the latest first."""
    words = dict.fromkeys(word for text in reversed(recent) if not is_chitchat(text) for word in tokens(text[:MOST_CHARS]))
    return sorted(words, key=lambda word: -rarity_of(word))[:_MAX_BEFORE]


# ── what a word weighs ───────────────────────────────────────────────────────

#: The share of its weight that an everyday word of the language loses.
_EVERYDAY_LOSS: Final = 0.5

#: The most words that are named, the rarest, and the most characters of one.
_MOST_NAMED: Final = 3
_MOST_WORD: Final = 40
#: The share of the rarest word's rarity from which another word is named with it.
_SHARE_NAMED: Final = 0.8


def weighed(query: Query) -> dict[str, float]:
    """Return the words of the question with their weights where passages are compared."""
    left = {word: 1 - _EVERYDAY_LOSS * (1 - query.rarity.get(word, 1.0)) for word in query.words}
    return {word: counts * left[word] for word, counts in query.words.items()}


def subject_of(query: Query) -> tuple[str, ...]:
    """
    Return the rarest words of the question as they were typed, in its order; none if it has no word of its own.

    >>> from datetime import date
    >>> subject_of(parse_query("What did we say about Kubernetes?", date(2026, 1, 31)))
    ('Kubernetes',)
    >>> subject_of(parse_query("麻烦帮我查一下花生过敏", date(2026, 1, 31)))
    ('花生', '过敏')
    """
    words = {word: query.rarity.get(word, 1.0) for word, counts in query.words.items() if counts > REQUEST_WEIGHT}
    least = _SHARE_NAMED * max(words.values(), default=0.0)
    return as_typed(query.text, [word for word in words if words[word] >= least])[:_MOST_NAMED]


def as_typed(text: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return those of the tokens *wanted* that are whole words of the text, as they are written there, in its order."""
    return tuple(dict.fromkeys(written[:_MOST_WORD] for written, token in spelled(text[:MOST_CHARS]) if token in wanted))
