"""
Words of memory that are a word of the question, or mean nearly the same: 丈母娘 for 岳母, "freezer" for fridge.

related_words.txt has a line for each of 18,000 stems, in order: the stem and those nearest to it in the GloVe vectors of words,
each with its similarity in hundredths (script/related-words makes it, THIRD_PARTY.md has its sources). The file is mapped into
memory and a line is found by bisection, so that a one-shot command reads only a few pages of it. everyday_words.txt has the
same form, in both languages, and is made by hand (script/everyday-words): kin, days, health, money, home, work; there 00 marks
another spelling of the same word.

Vectors show which words have the same words around them: hot is near cold, and each name is near all names. So a related word
is worth less than half of the word itself and opens no gate (`ranking.Gate`), and a name has no related words. Another spelling
counts as the word itself (`other_spellings`). Each number was measured (docs/explanation/recall.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from ..text.tokenizer import tokens
from ..text.word_frequency import line_of
from .parse import LIGHT_VERBS, NAMED, REQUEST_WEIGHT, Query

#: A line for each stem, in the order of their bytes.
TABLE: Final = Path(__file__).with_suffix(".txt")
EVERYDAY: Final = Path(__file__).with_name("everyday_words.txt")
#: The worth of a related word, relative to the word itself; it is multiplied by their similarity.
WORTH: Final = 0.4
#: The worth of another spelling of a word: as much as the word itself.
SAME: Final = 1.0
#: How many words of a question are looked up, the rarest, and how many words of memory are taken for each, the nearest.
_MOST_ASKED: Final = 6
_MOST_RELATED: Final = 8
#: The digits of a similarity.
_DIGITS: Final = 2


def with_related_words(query: Query, frequency: Callable[[str], int]) -> Query:
    """
    Return the query with the words of memory that are related to its own, or are other spellings of them.

    *frequency* returns the number of passages with a word.
    """
    names = {token for name in NAMED.findall(query.text) for token in tokens(name)}
    words = [word for word, counts in query.words.items() if counts > REQUEST_WEIGHT and word not in names]
    words.sort(key=lambda word: -query.words[word] * query.rarity.get(word, 1.0))
    near = {word: _of_memory(word, query, frequency) for word in words[:_MOST_ASKED]}
    related = {word: {**_spellings(word, query, frequency), **near.get(word, {})} for word in query.words}
    return replace(query, related={word: others for word, others in related.items() if others})


def other_spellings(query: Query) -> Mapping[str, str]:
    """Return the word of the question for each word of memory that is another spelling of it."""
    return {other: word for word, others in query.related.items() for other, worth in others.items() if worth == SAME}


def _spellings(word: str, query: Query, frequency: Callable[[str], int]) -> Mapping[str, float]:
    if query.words[word] <= REQUEST_WEIGHT:
        return {}
    return {other: SAME for other in same_words(word) if other not in query.words and frequency(other)}


def _of_memory(word: str, query: Query, frequency: Callable[[str], int]) -> Mapping[str, float]:
    """Return the worth of each word of memory that is related to *word* and not in the question."""
    near = (*related_words(word), *((other, 1.0) for other in query.occasions.get(word, ())))
    telling = ((other, alike) for other, alike in near if other not in query.words and other not in LIGHT_VERBS)
    known = [(other, alike) for other, alike in telling if frequency(other)]
    return {other: WORTH * alike for other, alike in known[:_MOST_RELATED]}


@lru_cache(maxsize=10_000)
def related_words(token: str) -> tuple[tuple[str, float], ...]:
    """
    Return the tokens that mean nearly the same as a token, the nearest first, with their similarity.

    >>> related_words("bicycl")[0], related_words("包裹")[0]
    (('motorcycl', 0.83), ('快递', 0.9))
    """
    alike = dict(_line_of(TABLE, token)) if token.isascii() else {}
    alike |= _line_of(EVERYDAY, token)
    near = [(other, similarity / 100) for other, similarity in alike.items() if similarity]
    return tuple(sorted(near, key=lambda pair: -pair[1]))


@lru_cache(maxsize=10_000)
def same_words(token: str) -> tuple[str, ...]:
    """
    Return the tokens that are other spellings of the same word.

    >>> same_words("双亲"), same_words("xmas"), same_words("手机")
    (('爸妈', '父母', '爹妈', '爹娘'), ('christma',), ())
    """
    return tuple(other for other, similarity in _line_of(EVERYDAY, token) if not similarity)


def _line_of(path: Path, token: str) -> Iterator[tuple[str, int]]:
    others = line_of(path, token) or ""
    yield from ((other[:-_DIGITS], int(other[-_DIGITS:])) for other in others.split())
