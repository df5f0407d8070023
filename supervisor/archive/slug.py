"""The slug in the name of a dated file: its most telling words, Chinese ones in pinyin (003, 记忆文件命名与 slug 规则)."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Final, Literal, TypeAlias

from ..protocol.paths import SLUG_CHARS
from ..text.chinese import cut_whole, han_frequency, is_noun, kind, pinyin, to_simplified
from ..text.language import ENGLISH, HAN
from ..text.lazy_re import lazy_re
from ..text.redact import names_secret, redacted
from ..text.secret_forms import SECRET_STEMS
from ..text.tokenizer import stem
from ..text.word_frequency import rarity_of

#: How many files of other days say what words are worth.
BESIDE: Final = 30
#: How Chinese words are written: in pinyin, or as they are.
Script: TypeAlias = Literal["ascii", "hanzi"]
_MOST_WORDS: Final = 3
#: A word of less rarity says nothing about a day, and one that occurs more often in a million words is no part of a name.
_LEAST_RARITY: Final = 0.4
_EVERYDAY: Final = 100.0
#: A Chinese word of less rarity names no day alone, unless two messages have it, or it is a person, place, body or brand.
_ALONE: Final = 0.65
_PROPER: Final = frozenset({"nr", "ns", "nt", "nz"})
_NO_PEOPLE: Final = frozenset({"assistant", "system", "tool"})
#: Characters of a message that its slug is made from.
_SLUG_READS: Final = 20_000
#: Words that are joined are one, and one with a digit may be a password: plum-otter-1931, falcon9x.
_LATIN: Final = lazy_re(r"[^\W_]+(?:[-._'’][^\W_]+)*")
_LATIN_WORD: Final = lazy_re(r"[a-z]{3,}(?:[-._][a-z]+)*")
#: Two words without their apostrophe: dont, hes, theyve.
_TWO_WORDS: Final = lazy_re(r"(.+?)(?:nt|t|s|m|re|ve|ll|d)")
#: The mark in the place of a secret; and a word that one may stand beside, though no label of one: "The new code:".
_HIDDEN: Final = "\0"
_LATIN_STEMS, _OTHER_STEMS = ("|".join(word for word in SECRET_STEMS if word.isascii() is latin) for latin in (True, False))
_SECRET: Final = lazy_re(
    rf"(?<![a-z])(?:(?:{_LATIN_STEMS}|combo)(?:s|word|code|phrase)?s?|wi-?fi|wlan)(?![a-z])|{_OTHER_STEMS}|门禁|門禁",
    re.IGNORECASE,
)
#: A sentence with its end, and the ends of one that the next completes: "New password:", "The wifi?"
_SENTENCE: Final = lazy_re(r"\s*\S.*?(?:[\n。！？；!?;]|\.(?=\s)|\Z)", re.DOTALL)
_GOES_ON: Final = (":", "：", "?", "？")
#: What a client wrote in the place of a picture, which stands in brackets.
_OF_A_CLIENT: Final = lazy_re(r"\s*\[[^\[\]]*\]\s*")
_HAN_RUN: Final = lazy_re(f"[{HAN}]+")
#: Pronouns and particles: a word with one of them is a piece of a sentence, such as 我会 and 哪些地方.
_NO_NOUN: Final = frozenset("我你您他她它这那哪谁是让吗呢吧啊呀")


def slugs_of(
    days: Sequence[Sequence[tuple[str, str]]],
    length: int = SLUG_CHARS,
    script: Script = "ascii",
    beside: Sequence[str] = (),
) -> list[str]:
    """
    Return for each day of messages (role, text) up to three of its most telling words, in the order in which they were said.

    They are words of the people, and the assistant's only where the people have none. A term is more telling the more messages
    of the day have it, the fewer of the other days and of the texts *beside* them, and the rarer it is in its language, as in a
    question. Of Chinese, nouns and what they are joined with count. A sentence that may tell a secret is left out, and so is
    all but the beginning of a very long message. "" is for a day that has no such word. In the *script* "hanzi" Chinese stays
    as it is.
    """
    counted = [_counted(messages) for messages in days]
    on_days = Counter(term for terms in counted for term in terms)
    texts = [_in_simplified(text[:_SLUG_READS]).lower() for text in beside]
    for term in on_days:
        on_days[term] += sum(any(word in text for word in term.split()) for text in texts)
    return [_most_telling(terms, on_days, len(days) + len(beside), length, script) for terms in counted]


def _counted(messages: Sequence[tuple[str, str]]) -> Counter[str]:
    plain = list(_without_secrets([(role, text) for role, text in messages if not _OF_A_CLIENT.fullmatch(text)]))
    by_people = _terms([text for role, text in plain if role not in _NO_PEOPLE])
    return by_people or _terms([text for role, text in plain if role in _NO_PEOPLE])


def _terms(texts: Sequence[str]) -> Counter[str]:
    placed = (sorted([*_latin(text), *_han(text)], key=lambda at_term: at_term[0]) for text in texts)
    terms = (term for of in placed for term in dict.fromkeys(term for _, term in of))
    return Counter(term for term in terms if _rarity(term) >= _LEAST_RARITY)


def _most_telling(terms: Mapping[str, int], on_days: Mapping[str, int], days: int, length: int, script: Script) -> str:
    def worth(term: str) -> float:
        return math.sqrt(terms[term]) * _rarity(term) * math.log(1 + days / on_days[term])

    chosen: dict[str, list[str]] = {}
    for term in sorted(terms, key=worth, reverse=True):
        before = [word for spelled in chosen.values() for word in spelled]
        words = [word if script == "hanzi" or word.isascii() else pinyin(word) for word in re.split(r"[-._ ]", term)]
        is_new = len({*words}) == len(words) and not any(word in old or old in word for word in words for old in before)
        if is_new and len(before + words) <= _MOST_WORDS and len("-".join(before + words)) <= length:
            chosen[term] = words
    # one everyday word says nothing of a day, two tell it from others
    is_good = len(chosen) > 1 or any(
        terms[term] > 1 or term.isascii() or _rarity(term) >= _ALONE or any(kind(word)[:2] in _PROPER for word in term.split())
        for term in chosen
    )
    return "-".join(word for term in terms if term in chosen for word in chosen[term]) if is_good else ""


def _rarity(term: str) -> float:
    return max(rarity_of(stem(word) if word.isascii() else word) for word in term.split())


def _latin(text: str) -> Iterator[tuple[int, str]]:
    for match in _LATIN.finditer(text):
        word = match[0].lower()
        two = _TWO_WORDS.fullmatch(word)
        says_nothing = two and two[1] in ENGLISH and rarity_of(stem(word)) == 1.0  # unlike shed, English does not know it
        if _LATIN_WORD.fullmatch(word) and not says_nothing:
            yield match.start(), word


def _han(text: str) -> Iterator[tuple[int, str]]:
    """
    Yield the Chinese terms of the text, their words with blanks between them, and where the run of each begins.

    A term is a noun with the nouns beside it.
    """
    for match in _HAN_RUN.finditer(text):
        for is_term, beside in groupby(cut_whole(_in_simplified(match[0])), _may_join):
            term = [*beside]
            if is_term and any(len(word) > 1 and kind(word) != "vn" for word in term):
                yield match.start(), _joined(term)


def _in_simplified(text: str) -> str:
    """Return the text in simplified form; one without traditional characters keeps its words (程序 is 进程 in Taiwan)."""
    return text if all(to_simplified(char) == char for char in set(text)) else to_simplified(text)


def _may_join(word: str) -> bool:
    if len(word) == len("太晚") and kind(word[0]) == "d" and kind(word[1])[:1] in {"a", "t"}:  # a name in jieba's dictionary
        return False
    return is_noun(word) and not _NO_NOUN.intersection(word) and (len(word) > 1 or han_frequency(word) < _EVERYDAY)


def _joined(words: Sequence[str]) -> str:
    """Return the last of the words with blanks between them; a single character is part of its neighbour (攀岩馆, 梁老师)."""
    joined: list[str] = []
    for word in words:
        if joined and 1 in {len(word), len(joined[-1])}:
            joined[-1] += word
        else:
            joined.append(word)
    return " ".join(joined[-_MOST_WORDS:])


def short_id(identity: str) -> str:
    """Return the first 8 letters and digits of an id, in lower case; of an id without any, 8 hex digits of its bytes."""
    plain = re.sub(r"[^a-z0-9]", "", identity.lower())
    return (plain or identity.encode("utf-8", "surrogatepass").hex() or "0")[:8]


def free_name(day: date, slug: str, taken: Collection[str]) -> str:
    """Return the name of the file of the day for *slug*; when it is taken, with ``-2``, ``-3`` … appended to the slug."""
    n, name = 1, f"{day}-{slug}.md"
    while name in taken:
        n += 1
        tail = f"-{n}"
        name = f"{day}-{slug[: SLUG_CHARS - len(tail)].rstrip('-')}{tail}.md"
    return name


def _without_secrets(messages: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the messages without the sentences that may tell a secret: with a word for one, or after one that asks for it."""
    is_answer = False
    for role, text in messages:
        kept, sentences = "", _SENTENCE.findall(redacted(text[:_SLUG_READS], _HIDDEN))
        # the last one is cut off there, and may have the half of a secret
        for sentence in sentences[: -1 if len(text) > _SLUG_READS else None]:
            has_word = _HIDDEN in sentence or names_secret(sentence) or _SECRET.search(sentence) is not None
            kept += "" if has_word or is_answer else sentence
            is_answer = has_word and sentence.rstrip().endswith(_GOES_ON)
        yield role, kept
