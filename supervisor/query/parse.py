"""
What each word of a question counts: those of a request, of a date, and those that ask for one, count little.

In a young memory 帮我, "please" and 几号 are words that nobody ever used, and so would weigh the most; and 推荐一部电影 asks
for a film, not for what was once recommended. A request is known by its place, at the beginning or the end of a clause:
谁帮我修的 asks for help that was given.

What is searched for: the words of a question and what each counts, the days it names, and whose words it asks for.

The words are those of the question. Those of the messages before it hurt a question that stands alone (measured), and are
taken only where it refers back (它, 那个, "that one") or says nothing by itself. Of a longer input the sentences that ask
count in full, what is told around them little. Source: 003, 关键词提取; design of recall.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from supervisor.query.calendar import Days
from supervisor.query.dates import spans
from supervisor.text.small_talk import is_chitchat, is_small_talk
from supervisor.text.tokenizer import tokens
from supervisor.text.word_frequency import rarity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from supervisor.query.dates import Span

#: What a polite word of request counts; one of a date, beside the day itself; an English one of a stretch of days: "June" and
#: "year" stand in what people say, as 月 and 号 do not (measured).
ASIDE: Final = 0.1
_DATED: Final = 0.2
_STRETCH: Final = 0.9
_POLITE: Final = (
    "你好|您好|早上好|下午好|晚上好|请问|请教|请(?![假客帖柬])|麻烦|劳驾|拜托|能不能|能否|可不可以|可否|可以|能|你|您|我想让?"
    "|我要|想|要|帮忙|帮(?![派手扶])我?|[给替为跟和]我|让我|一下|再|先|快|顺便|告诉我?|知不知道|知道|还?记不记得|还?记得"
)
_LOOK: Final = r"([看想说讲翻问算查找搜])\1|(?:[看想说讲翻问算查找搜]|回[忆想])一?下|查(?![理尔收验体])|找(?![零到])|搜索?|列出"
_MAKE: Final = "推荐|介绍|翻译|写|画|讲|生成|解释|总结|列举|编|起草|润色|改写|设计"
_AMOUNT: Final = "[一几这那两]?[首部本个篇段些种点下句张封份位]"
#: 帮我查一下, 请推荐一本; without a polite word before it a verb is an order only where it says how many: 写一首, not 写的简历.
_BEFORE_ASIDE: Final = (
    rf"(?:^|(?<=[，,。！!；;：:~\s]))(?:(?:{_POLITE})+(?:{_LOOK}|一下)*(?:我的?)?(?:(?:{_MAKE})(?![的过了])(?:{_AMOUNT})?)?"
    rf"|(?:{_LOOK})+|(?:{_MAKE}){_AMOUNT})"
)
_AFTER: Final = rf"(?:(?:请|麻烦)?[你您]?帮我?(?:{_LOOK})[吧呗]?|谢谢你?|多谢|感谢)\W*$"
_ORDER: Final = "(?:recommend|suggest|translate|write|draw|explain|summari[sz]e|describe|draft)"
_WHAT: Final = r"(?= (?:me|us|an?|the|some|this|that)\b)"
_ENGLISH: Final = re.compile(
    r"(?:^|(?<=[,.!;:])\s*)(?:(?:please|pls|kindly|hey|hi|hello|could|can|would|will|do|you|i'd like(?: you)? to|i want you to"
    r"|me|to|help|tell|show|give|find|look(?: up)?|search(?: for)?|check|let|know|remember|remind|just|if)\b[ ,]*)+"
    rf"(?:{_ORDER}{_WHAT})?|^{_ORDER}{_WHAT}|\b(?:please|thanks|thank you)\W*$",
    re.IGNORECASE,
)
#: The words that ask which day or time it is, or was.
_WHICH: Final = re.compile(
    r"几月几[号日]|几[号点月]|多少号|(?:星期|礼拜|周)几|哪一?[天日]|什么日子|日期"
    r"|\b(?:what|which)(?:'s| is)? (?:the )?(?:day|date|time)\b|\bthe date\b",
    re.IGNORECASE,
)
_HAPPENED: Final = re.compile(
    r"做了|干了|发生|有(?:什么|哪些|啥)|安排|日程|待办|计划|聊|说|讨论|提到|记|[了过](?:什么|啥|哪|谁|多少|几)"
    r"|\b(?:did|was|were|had|happen\w*|have (?:i|we)|schedul\w*|plan\w*|agenda|appointments?|meetings?)\b"
    r"|\b(?:talk\w*|discuss\w*|said|told)\b",
    re.IGNORECASE,
)


def weight_terms(sentence: str, dates: Sequence[Span]) -> dict[str, float]:
    """
    Return the words of *sentence* (NFKC), in order, each with what it counts, 1.0 in full; *dates* are those that it names.

    >>> weighed("麻烦帮我查一下我妈生日几号", ())
    {'麻烦': 0.1, '帮': 0.1, '查': 0.1, '妈': 1.0, '生日': 1.0, '几号': 0.1}
    """
    asides = (*([] if sentence.isascii() else _chinese()), _ENGLISH, _WHICH)
    undated = _without(sentence, [match.span() for pattern in asides for match in pattern.finditer(sentence)])
    known = tokens(undated)
    plain = tokens(_without(undated, [(span.start, span.end) for span in dates])) if dates else known
    # subtle: what is left may be cut otherwise: 这段话, and 话
    words = dict.fromkeys(tokens(sentence), ASIDE)
    words |= dict.fromkeys(known, _DATED)
    for span in dates:
        if span.days.length > 1:
            words |= {word: _STRETCH for word in tokens(sentence[span.start : span.end]) if word.isascii() and word.isalpha()}
    return words | dict.fromkeys(plain, 1.0)


def asks_which_day(text: str) -> bool:
    """Tell whether it asks which day or time it is or was: 今天几号, "what day is it"."""
    return bool(_WHICH.search(text))


def asks_what_happened(text: str) -> bool:
    """Tell whether it asks for what was done, said or planned: 今天做了什么, "what did I do today"."""
    return bool(_HAPPENED.search(text))


@cache
def _chinese() -> tuple[re.Pattern[str], ...]:
    """Return the Chinese patterns, compiled where there is Chinese to be read: it takes longer than the reading."""
    return re.compile(_BEFORE_ASIDE), re.compile(_AFTER)


def _without(sentence: str, stretches: Iterable[tuple[int, int]]) -> str:
    """Return the sentence with blanks in place of these stretches."""
    for start, end in stretches:
        sentence = sentence[:start] + " " * (end - start) + sentence[end:]
    return sentence


#: What a word counts that is told around the question, and one of the messages before it.
_TOLD: Final = 0.2
_BEFORE: Final = 0.5
#: Words taken from the messages before, the rarest; words beyond which a question is never said to refer back.
_MOST_BEFORE: Final = 8
_FEW: Final = 3
#: Sentences that are asked one by one, the last.
_MOST_ASKED: Final = 6
#: An input longer than this is a document; its words are read up to here.
_MOST_CHARS: Final = 4_000
_SENTENCE: Final = re.compile(r"[^。！？!?\n]+[。！？!?\n]*")
_ASKS: Final = re.compile(r"[?？][\s!！」』”\"')）]*$")
_BACK: Final = re.compile(
    r"[它牠]|(?:这|那)个?(?=[，。？！,.?!\s吗呢呀吧啊的怎是为有在要能会还后多]|$)|(?:那|这)(?:件事|事儿?|家|样|次|里|儿|本书?|部)|上面|刚才|刚刚|继续|后来呢"
    r"|\b(?:it|its|that|that one|this one|those|these ones?|the same|the (?:first|second|last|other) one)\b",
    re.IGNORECASE,
)
_PERSON: Final = re.compile(r"\b(?:he|she|him|her|them|they)\b", re.IGNORECASE)
#: A capital inside the question, so a name: whoever "she" is, is probably named.
_NAMED: Final = re.compile(r"(?<=\s)(?!I\b)[A-Z]\w+")
_THEIRS: Final = r"推荐|建议|告诉|提到|提过|介绍|教|提供|回答|说"
_YOU: Final = re.compile(
    rf"你.{{0,12}}(?:{_THEIRS})|\byou\b.{{0,25}}\b(?:recommend|suggest|told|tell|said|say|mention|advise|give|gave|offer|propose)"
    r"|\byour (?:recommendation|suggestion|advice|answer)|\b(?:recommend|suggest)\w* (?:to|for) me\b",
    re.IGNORECASE,
)
_I: Final = re.compile(
    rf"我.{{0,12}}(?:向|和|给|跟|对)你.{{0,4}}(?:{_THEIRS}|分享)|\bI\b.{{0,20}}\b(?:recommend|mention|told|suggest|said)\w*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Query:
    """
    What is searched for.

    *words* with what each counts (1 in full), in the order of the input; *days* that it names; *role* "assistant" or "user"
    where it says whose words it asks for; *text* is the input itself; *asked* are the words of each sentence that asks.
    *only_days* where it asks for what was on its days and for nothing else; *is_now* where all it names is today, and it does
    not ask what happened: "what's the weather today".
    """

    words: Mapping[str, float]
    days: tuple[Days, ...] = ()
    role: str = ""
    text: str = ""
    refers_back: bool = field(default=False)
    asked: tuple[tuple[str, ...], ...] = ()
    only_days: bool = False
    is_now: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search for."""
        return not self.words and not self.days


def parse_query(question: str, today: date, recent: Sequence[str] = (), most: int = 0) -> Query:
    """
    Return what *question* asks for; *recent* are the texts before it, oldest first; *most* words at most (0: all).

    Where there are more words, the rarest count, in the order of the input. Who greets or thanks asks for nothing.
    """
    question = question[:_MOST_CHARS]
    if is_small_talk(question):
        return Query({})
    asking, told = _parts(unicodedata.normalize("NFKC", question))
    text = " ".join(asking)
    named = [spans(sentence, today) for sentence in asking]
    days = tuple(span.days for of_sentence in named for span in of_sentence)
    asked = [weight_terms(sentence, dates) for sentence, dates in zip(asking, named, strict=True)]
    words = {word: max(weights.get(word, 0.0) for weights in asked) for weights in asked for word in weights}
    only_days = bool(days) and max(words.values(), default=0.0) < 1.0
    if only_days and asks_which_day(text) and not asks_what_happened(text):
        return Query({})
    for sentence in told:
        words |= {word: _TOLD for word in tokens(sentence) if word not in words}
    back = refers_back(question, sum(counts > ASIDE for counts in words.values()))
    before = {word: _BEFORE for word in _telling(recent) if word not in words} if back else {}
    if words and not before:
        scale = max(words.values())
        words = {word: counts / scale for word, counts in words.items()}
    only_days = only_days and not before
    words |= before
    if 0 < most < len(words):
        rarest = set(sorted(words, key=lambda word: (-words[word], -rarity(word)))[:most])
        words = {word: counts for word, counts in words.items() if word in rarest}
    each = tuple(filter(None, (tuple(word for word in sentence if word in words) for sentence in asked[-_MOST_ASKED:])))
    is_now = bool(days) and all(span == Days(today, today) for span in days) and not asks_what_happened(text)
    return Query(words, days, _role(text), question, back, each, only_days, is_now and not only_days)


def refers_back(question: str, words: int) -> bool:
    """
    Tell whether the question is understood only by what was said before; *words* is how many it has itself.

    >>> refers_back("它多少钱？", 1), refers_back("那个喜欢下棋的人是谁", 3), refers_back("What about that one?", 0)
    (True, False, True)
    >>> refers_back("Where did she buy them?", 1), refers_back("Where did Anna buy her hats?", 3)
    (True, False)
    """
    if not words or words > _FEW:
        return not words
    return bool(_BACK.search(question)) or (bool(_PERSON.search(question)) and not _NAMED.search(question))


def _parts(question: str) -> tuple[list[str], list[str]]:
    """Return the sentences that ask, and those around them; all ask where none shows that it does."""
    sentences = _SENTENCE.findall(question)
    asking = [sentence for sentence in sentences if _ASKS.search(sentence)]
    return (asking, [sentence for sentence in sentences if sentence not in asking]) if asking else (sentences, [])


def _telling(recent: Sequence[str]) -> list[str]:
    """Return the rarest words of what was said before, the last said first among equals."""
    found = dict.fromkeys(word for text in reversed(recent) if not is_chitchat(text) for word in tokens(text[:_MOST_CHARS]))
    return sorted(found, key=lambda word: -rarity(word))[:_MOST_BEFORE]


def _role(question: str) -> str:
    if _I.search(question):
        return "user"
    return "assistant" if _YOU.search(question) else ""
