"""
Words of a question as words of memory: typos, Chinese words that are cut differently, and words that mean nearly the same.

A typo is one letter too many, too few or wrong, or two that changed places, in a word of five letters or more that is not among
the common words of English. Its first letter is right: people notice a wrong one. Most such words are not typos but rare words
(latte, stove, Julia). So the word is kept, the word of memory is added to it, and one of these alone does not carry a request.

A Chinese typo is another character of the same sound: 体捡 for 体检. It is looked for in two neighbouring characters that are
words by themselves (`chinese.sounding_like`).

A word that means nearly the same is 手机 for 电话, "freezer" for fridge. related_words.txt has a line for each of 18,000
stems, in order: the stem and those nearest to it in the GloVe vectors of words, each with its similarity in hundredths
(script/related-words makes it, THIRD_PARTY.md has its sources). everyday_words.txt has the same form, in both languages, and is
made by hand (script/everyday-words); there 00 marks another spelling of the same word. Vectors show which words have the same
words around them: hot is near cold, and each name is near all names. So a related word is worth less than half of the word
itself and opens no gate (`ranking.Gate`), and a name has no related words. Another spelling counts as the word itself. Each
number was measured (docs/explanation/recall.md).
"""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from ..text.chinese import cut_for_search, sounding_like, to_simplified
from ..text.language import CHINESE, HAN
from ..text.lazy_re import lazy_re
from ..text.tokenizer import latin_words, stem, stems, tokens
from ..text.word_frequency import line_of, rarity_of
from .parse import NAMED, REQUEST_WEIGHT, Query

#: The number of letters of a word that may have a typo, and in how many words of a question typos are looked for: each takes
#: some 500 lookups.
_TYPED: Final = range(5, 25)
_MOST: Final = 3
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
        *(left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1),
        *(left + letter + right[1:] for left, right in cuts if right for letter in _LETTERS),
        *(left + letter + right for left, right in cuts for letter in _LETTERS),
    ]


def _respelled(query: Query, frequency: Callable[[str], int]) -> Query:
    """Return the query with the one word of memory that each typo may mean; a word with a capital is a name, not a typo."""
    meant_words: dict[str, str] = {}
    typed_words = {stem(typed): typed for typed in latin_words(query.text) if len(typed) in _TYPED and typed.isalpha()}
    content = [word for word in typed_words if query.words.get(word, 0.0) > REQUEST_WEIGHT]
    unknown = [word for word in content if not frequency(word) and rarity_of(word) == 1.0 and typed_words[word] in query.text]
    for word in unknown[:_MOST]:
        likely = [word for word in dict.fromkeys(stems(respellings(typed_words[word]))) if frequency(word)]
        if len(likely) == 1:
            meant_words[word] = likely[0]
    if not meant_words:
        return query
    words = {**query.words, **{guess: query.words[word] for word, guess in meant_words.items() if guess not in query.words}}
    rarity = {word: query.rarity.get(word, min(_GUESSED, rarity_of(word))) for word in words}
    sentences = tuple((*sentence, *filter(None, map(meant_words.get, sentence))) for sentence in query.sentences)
    return replace(query, words=words, rarity=rarity, sentences=sentences, respelled=frozenset(meant_words))


def _heard(query: Query, frequency: Callable[[str], int]) -> Query:
    """Return the query with each word of memory that alone sounds like two of its characters; these then weigh less."""
    sounds: dict[str, tuple[str, str]] = {}
    for first, other in _pairs_of(query) if not query.text.isascii() else ():
        near = (*(char + other for char in sounding_like(first)), *(first + char for char in sounding_like(other)))
        likely = [word for word in near if frequency(word)]
        if len(likely) == 1 and likely[0] not in query.words:
            sounds[likely[0]] = first, other
    if not sounds:
        return query
    typed = {char for pair in sounds.values() for char in pair}
    words = {word: counts * _CHARACTER if word in typed else counts for word, counts in query.words.items()}
    words |= {word: max(query.words[char] for char in pair) for word, pair in sounds.items()}
    rarity = {**query.rarity, **{word: min(_GUESSED, rarity_of(word)) for word in sounds}}
    sentences = tuple((*sentence, *(word for word in sounds if sounds[word][0] in sentence)) for sentence in query.sentences)
    return replace(query, words=words, rarity=rarity, sentences=sentences, respelled=query.respelled | typed)


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
    rarity = {part: rarity_of(part[0]) for part in more}
    return replace(query, words={**query.words, **more}, rarity={**query.rarity, **rarity})


# ── words that mean nearly the same ──────────────────────────────────────────

#: A line for each stem, in the order of their bytes.
TABLE: Final = Path(__file__).with_name("related_words.txt")
EVERYDAY: Final = Path(__file__).with_name("everyday_words.txt")
#: The worth of a related word, relative to the word itself; it is multiplied by their similarity. Of another spelling.
WORTH: Final = 0.4
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
    words = [word for word, counts in query.words.items() if counts > REQUEST_WEIGHT]
    words.sort(key=lambda word: (word in names, -query.words[word] * query.rarity.get(word, 1.0)))
    related: dict[str, dict[str, float]] = {}
    for n, word in enumerate(words):
        near = {**related_words(word), **dict.fromkeys(query.occasions.get(word, ()), 1.0)}
        worths = {other: WORTH * alike if alike else SAME for other, alike in near.items() if other not in query.words}
        if n >= _MOST_ASKED or word in names:
            worths = {other: worth for other, worth in worths.items() if worth == SAME}
        known = [other for other in worths if frequency(other)]
        known = sorted(known, key=lambda other: -worths[other])[:_MOST_RELATED]
        related |= {word: {other: worths[other] for other in known}} if known else {}
    return replace(query, related=related)


def other_spellings(query: Query) -> Mapping[str, str]:
    """Return the word of the question for each word of memory that is another spelling of it."""
    return {other: word for word, others in query.related.items() for other, worth in others.items() if worth == SAME}


@lru_cache(maxsize=10_000)
def related_words(token: str) -> Mapping[str, float]:
    """
    Return the tokens that mean nearly the same as a token, with their similarity; 0.0 marks another spelling of it.

    >>> related_words("bicycl")["motorcycl"], related_words("包裹")["快递"], related_words("xmas")
    (0.83, 0.9, {'christma': 0.0})
    """
    lines = line_of(TABLE, token) if token.isascii() else "", line_of(EVERYDAY, token)
    others = " ".join(filter(None, lines)).split()
    return {other[:-_DIGITS]: int(other[-_DIGITS:]) / 100 for other in others}
