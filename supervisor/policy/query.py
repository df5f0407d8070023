"""
What is searched for: the words of a question and what each counts, the days it names, and whose words it asks for.

The words are those of the question. Those of the messages before it hurt a question that stands alone (measured), and are
taken only where it refers back (它, 那个, "that one") or says nothing by itself. Of a longer input the sentences that ask
count in full, what is told around them little. Source: 003, 关键词提取; design of recall.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from supervisor.policy.asides import ASIDE, asks_what_happened, asks_which_day, weighed
from supervisor.policy.dates import spans
from supervisor.policy.days import Days
from supervisor.text.chitchat import is_chitchat, is_small_talk
from supervisor.text.rarity import rarity
from supervisor.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

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


def ask(question: str, today: date, recent: Sequence[str] = (), most: int = 0) -> Query:
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
    asked = [weighed(sentence, dates) for sentence, dates in zip(asking, named, strict=True)]
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
