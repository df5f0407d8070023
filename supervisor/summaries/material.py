"""
What was summarised, and what an answer says against it: little of what the extract says, a copy.

What an answer has to say is measured by the extract of the same material, which costs no call. A figure counts as said in any
spelling (`text/comparing.py`), a Chinese word where a pair of its characters is. Whether a name or a number is right is not
judged: see docs/decisions/0108. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Final

from ..text.chinese import to_simplified
from ..text.comparing import figures
from ..text.language import Language
from ..text.lazy_re import lazy_re
from ..text.tokenizer import tokens
from ..text.word_frequency import rarity, telling_words

#: Telling words of the material from which on an answer is compared with it: for less no model is asked.
_MIN_TELLING: Final = 16
#: An answer holds this share of the extract's facts and telling words at least: of a month's more, since a small model tells of
#: some of its days and leaves out the others; less where its length is bounded; of what code joined from summaries of days
#: nearly all, since the extract of the messages repeats no fault of theirs.
_HELD_SHARE: Final = 0.3
_HELD_OF_MONTH: Final = 0.35
_HELD_BOUNDED: Final = 0.2
_HELD_JOINED: Final = 0.8
_STAMP: Final = lazy_re(r"(?m)^- \d\d[:-]\d\d ")
#: A copy: at least so many characters, this share of the material, and of its runs of twelve so many are in the material, or in
#: the summaries of its days where there are so many.
_RUN: Final = 12
_COPY_CHARS: Final = 160
_COPIES: Final = ((0.7, 0.6), (0.45, 0.85))
_MANY_DAYS: Final = 3
#: Characters of the material that an answer is compared with: a month of long days.
_MOST_CHARS: Final = 400_000
_LETTERS: Final = lazy_re(r"[\W_]+")


@dataclass(frozen=True)
class Material:
    """
    What was summarised: who spoke, the texts with their days, oldest first, and the *extract* of them.

    A day is None where it is not known. *language* is None where the texts have several, and either is right.
    """

    parts: tuple[tuple[date | None, str], ...] = ()
    extract: str = ""
    language: Language | None = None
    days: tuple[str, ...] = ()  # the summaries of its days, where it is a month; they are in what was said, too
    is_bounded: bool = False  # its answer has a limit far below it, as that of a session: it says less, and may copy
    may_copy: bool = False  # its answer was joined by code from texts that are part of it

    @cached_property
    def text(self) -> str:
        """All of it, as much as an answer is compared with."""
        return "\n".join(text for _, text in self.parts)[:_MOST_CHARS]

    @cached_property
    def says_enough(self) -> bool:
        """Whether it says enough for an answer to be compared with it."""
        return len(telling_words(self.text)) >= _MIN_TELLING

    @cached_property
    def bare(self) -> str:
        """Its letters and digits, in simplified characters and small letters."""
        return _bare(self.text)

    @cached_property
    def tokens(self) -> frozenset[str]:
        """All of its words, as the index has them."""
        return frozenset(tokens(self.text))


def says_less(text: str, material: Material) -> bool:
    """Return whether the text says so little of what the extract says that the extract is the better summary."""
    if not (material.says_enough or material.is_bounded):
        return False
    held, wanted = _held(_STAMP.sub("- ", material.extract.partition("\n")[2]), text)
    if material.is_bounded:
        return held < (max(1, _HELD_BOUNDED * wanted) if material.says_enough else min(1, wanted))
    is_month = len({day for day, _ in material.parts if day}) > 1
    share = _HELD_JOINED if material.may_copy else _HELD_OF_MONTH if is_month else _HELD_SHARE
    return held < share * wanted


def _held(extract: str, text: str) -> tuple[int, int]:
    """Return how many of the extract's figures and telling words the text has, in any spelling, and how many these are."""
    answer = Material(((None, text),))
    wanted, words = {*figures(extract)}, _telling(extract)
    has_word = (word in answer.tokens or any(pair in answer.bare for pair in _pairs(word)) for word in words)
    return len(wanted.intersection(figures(text))) + sum(has_word), len(wanted) + len(words)


def _pairs(word: str) -> list[str]:
    """Return the pairs of characters in a Chinese word: 交房租 is said where 房租 is."""
    return [] if word.isascii() else [word[at : at + 2] for at in range(len(word) - 1)]


def is_copy(text: str, material: Material) -> bool:
    """Return whether the text is mostly what the material or the summaries of its days say, word for word, hardly shorter."""
    bare = _bare(text)
    if len(bare) < _COPY_CHARS or material.is_bounded or material.may_copy or not material.says_enough:
        return False
    days = [_bare("\n".join(material.days))] if len(material.days) >= _MANY_DAYS else []
    return any(_copies(bare, whole) for whole in (material.bare, *days))


def _copies(bare: str, whole: str) -> bool:
    runs = [bare[at : at + _RUN] for at in range(len(bare) - _RUN + 1)]
    known = {whole[at : at + _RUN] for at in range(len(whole) - _RUN + 1)}
    copied = sum(run in known for run in runs) / len(runs)
    return any(len(bare) >= share * len(whole) and copied > runs_share for share, runs_share in _COPIES)


def _bare(text: str) -> str:
    return _LETTERS.sub("", to_simplified(text).casefold())


def _telling(text: str) -> frozenset[str]:
    words = (word for word in telling_words(text) if rarity(word) and not any(map(str.isnumeric, word)))
    return frozenset(word for word in words if not figures(word))
