"""
Words of a question that memory does not have, read as words that it has: typos, and Chinese words that are cut differently.

A typo is one letter too many, too few or wrong, or two that changed places, in a word of five letters or more that is not among
the common words of English. Its first letter is right: people notice a wrong one. Most such words are not typos but rare words
(latte, stove, Julia). So the word is kept, the word of memory is added to it, and one of these alone does not carry a request.
Two letters that changed places are looked for in shorter words too (jba for jab), and a stop word that is typed so asks for
nothing (teh, wehn).

A Chinese typo is another character of the same sound: 体捡 for 体检. It is looked for in two neighbouring characters that are
words by themselves (`chinese.sounding_like`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Final

from ..text.chinese import cut_for_search, sounding_like, to_simplified
from ..text.lazy_re import lazy_re
from ..text.tokenizer import CHINESE, ENGLISH, HAN, latin_words, stem, stems, tokens
from ..text.word_frequency import rarity_asked
from .parse import REQUEST_WEIGHT, Query

#: The number of letters of a word that may have a typo, and in how many words of a question typos are looked for: each takes
#: some 500 lookups.
_TYPED: Final = range(5, 25)
_MOST: Final = 3
#: The number of letters of a word in which only two letters that changed places are looked for.
_SHORT: Final = range(3, 5)
#: The most rarity of a guessed word: it carries no request by itself, not even one of a single word.
_GUESSED: Final = 0.47
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
#: Characters of a word that is a typo or in no passage (拔牙 where memory has 智齿要拔): the word's length, and their weight.
_PAIR: Final = 2
_CHARACTER: Final = 0.5
_RUN: Final = lazy_re(f"[{HAN}]+")


def known_words(query: Query, frequency: Callable[[str], int], relative_idf: Callable[[str], float]) -> Query:
    """
    Return the query in words of memory.

    *frequency* returns the number of passages with a word, *relative_idf* its rarity in memory, 1.0 for a word of one passage.
    """
    return _in_characters(_heard(_respelled(query, frequency), frequency), frequency, relative_idf)


def respellings(word: str) -> list[str]:
    """
    Return the words that differ from a lower-case *word* by one typo after its first letter.

    >>> {"allotment", "daughter"} <= {*respellings("alotment"), *respellings("daugther")}
    True
    """
    cuts = [(word[:n], word[n:]) for n in range(1, len(word) + 1)]
    return [
        *(left + right[1:] for left, right in cuts if right),
        *_swapped(word),
        *(left + letter + right[1:] for left, right in cuts if right for letter in _LETTERS),
        *(left + letter + right for left, right in cuts for letter in _LETTERS),
    ]


def _swapped(word: str) -> list[str]:
    return [word[:n] + word[n + 1] + word[n] + word[n + 2 :] for n in range(1, len(word) - 1)]


def _respelled(query: Query, frequency: Callable[[str], int]) -> Query:
    """Return the query with the one word of memory that each typo may mean; a word with a capital is a name, not a typo."""
    meant_words: dict[str, str] = {}
    typed_words = {
        stem(typed): typed for typed in latin_words(query.text) if _SHORT.start <= len(typed) < _TYPED.stop and typed.isalpha()
    }
    content = [word for word in typed_words if query.words.get(word, 0.0) > REQUEST_WEIGHT]
    unknown = [
        word for word in content if not frequency(word) and rarity_asked(word) == 1.0 and typed_words[word] in query.text
    ]
    stopped = {word for word in unknown if not ENGLISH.isdisjoint(_swapped(typed_words[word]))}
    for word in [word for word in unknown if word not in stopped][:_MOST]:
        typed = typed_words[word]
        likely = [word for word in dict.fromkeys(stems(_swapped(typed))) if frequency(word)]
        if not likely and len(typed) in _TYPED:
            likely = [word for word in dict.fromkeys(stems(respellings(typed))) if frequency(word)]
        if len(likely) == 1:
            meant_words[word] = likely[0]
    if not meant_words and not stopped:
        return query
    words = {**query.words, **{guess: query.words[word] for word, guess in meant_words.items() if guess not in query.words}}
    rarity = {word: query.rarity.get(word, min(_GUESSED, rarity_asked(word))) for word in words}
    sentences = tuple((*sentence, *(meant_words[word] for word in sentence if word in meant_words)) for sentence in query.asked)
    return replace(query, words=words, rarity=rarity, asked=sentences, respelled=frozenset(meant_words) | stopped)


def _heard(query: Query, frequency: Callable[[str], int]) -> Query:
    """Return the query with each word of memory that alone sounds like two of its characters; these then weigh less."""
    sounds: dict[str, tuple[str, str]] = {}
    for one, other in _pairs_of(query) if not query.text.isascii() else ():
        near = (*(char + other for char in sounding_like(one)), *(one + char for char in sounding_like(other)))
        likely = [word for word in near if frequency(word)]
        if len(likely) == 1 and likely[0] not in query.words:
            sounds[likely[0]] = one, other
    if not sounds:
        return query
    typed = {char for pair in sounds.values() for char in pair}
    words = {word: counts * _CHARACTER if word in typed else counts for word, counts in query.words.items()}
    words |= {word: max(query.words[char] for char in pair) for word, pair in sounds.items()}
    rarity = {**query.rarity, **{word: min(_GUESSED, rarity_asked(word)) for word in sounds}}
    sentences = tuple((*sentence, *(word for word in sounds if sounds[word][0] in sentence)) for sentence in query.asked)
    return replace(query, words=words, rarity=rarity, asked=sentences, respelled=query.respelled | typed)


def _pairs_of(query: Query) -> list[tuple[str, str]]:
    runs = _RUN.findall(unicodedata.normalize("NFKC", query.text))
    pairs = [pair for run in runs for pair in pairwise(cut_for_search(to_simplified(run)))]
    characters = {word for word, counts in query.words.items() if counts > REQUEST_WEIGHT and len(word) == 1} - CHINESE
    return [(character, other) for character, other in pairs if character in characters and other in characters][:_MOST]


def _in_characters(query: Query, frequency: Callable[[str], int], relative_idf: Callable[[str], float]) -> Query:
    """Return the query with the characters of its two-character Chinese words that no passage has."""
    more = {
        # the index's own rarity: loading jieba's dictionary for it takes most of a second
        char: counts * relative_idf(char) * _CHARACTER
        for word, counts in query.words.items()
        if len(word) == _PAIR and not word.isascii() and not frequency(word)
        for char in tokens(" ".join(word))
        if char not in query.words and frequency(char)
    }
    rarity = {part: rarity_asked(part[0]) for part in more}
    if not more:
        return query
    return replace(query, words={**query.words, **more}, rarity={**query.rarity, **rarity})
