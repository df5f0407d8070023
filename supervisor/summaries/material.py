"""
What was summarised, and what an answer says against it: new facts, few of its words, a copy.

A fact is a number, a day, a time of the clock or a name. One counts as said where the material has it in any spelling
(`text/figures.py`), in pinyin, by a relative word (明天, "next Friday") or as the sum of two numbers with the same unit. What
an answer has to say is measured by the extract of the same material, which costs no call. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from recalld.supervisor.summaries.amounts import Amounts
from recalld.supervisor.summaries.days import Days
from recalld.supervisor.summaries.names import HAN_RUN, capitals, ends_name, has_surname, names, new_kin, surname_of
from recalld.supervisor.text.chinese import pinyin, to_simplified
from recalld.supervisor.text.figures import Figure, figures
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.places import other_names
from recalld.supervisor.text.record import record
from recalld.supervisor.text.tokenizer import stem, tokens
from recalld.supervisor.text.word_frequency import rarity, telling_words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from recalld.supervisor.text.language import Language

_BESIDE: Final = lazy_re(r"[ （(,，]{0,2}(?:the )?")
#: Small numbers in words that an answer may say for itself; Chinese ones that count things, and are no part of a word (四季豆).
_FEW: Final = 2
_COUNTED: Final = lazy_re(r"[a-z]|[三四五六七八九十][个次位件条只家套箱本盒支种张名人节棵袋单瓶粒片]")
_AROUND: Final = 8  # characters around a number that say when, or that it is about so much
_SENTENCE_ENDS: Final = lazy_re(r"[。；;！!？?\n]|\.\s")
_SENTENCE: Final = 80  # characters to either side in which a sentence is looked for
#: Telling words of the material from which on an answer is compared with it: for less no model is asked.
_MIN_TELLING: Final = 16
#: An answer holds this share of the extract's facts and telling words at least: of a month's more, since a small model tells of
#: some of its days and leaves out the others; less where its length is bounded; of what code joined from summaries of days
#: nearly all, since the extract of the messages repeats no fault of theirs.
_HELD_SHARE: Final = 0.3
_HELD_OF_MONTH: Final = 0.4
_HELD_BOUNDED: Final = 0.2
_HELD_JOINED: Final = 0.8
_STAMP: Final = lazy_re(r"^- \d\d[:-]\d\d ", re.MULTILINE)
#: At most this share of an answer's own telling words is new, where so many are: summaries say things in other words.
_NEW_SHARE: Final = 0.6
_MIN_NEW: Final = 6
#: A copy: at least so many characters, this share of the material, and of its runs of twelve so many are in the material, or in
#: the summaries of its days where there are so many.
_RUN: Final = 12
_COPY_CHARS: Final = 160
_COPIES: Final = ((0.7, 0.6), (0.45, 0.85))
_MANY_DAYS: Final = 3
_SPELLED_CHARS: Final = 6  # of a Latin name, whose last letter may be another in another language
_CAPITALISED: Final = lazy_re(r"[A-Z][a-z]+")
_LETTERS: Final = lazy_re(r"[\W_]+")


@record
class Place:
    """Where an answer says what its material does not: from *start* to *end*."""

    start: int
    end: int


@dataclass(frozen=True)
class Material:
    """
    What was summarised: who spoke, the texts with their days, oldest first, and the *extract* of them.

    A day is None where it is not known. *language* is None where the texts have several, and either is right.
    """

    said: tuple[tuple[date | None, str], ...] = ()
    extract: str = ""
    language: Language | None = None
    prompts: tuple[str, ...] = ()  # sentences of the prompts
    examples: tuple[str, ...] = ()  # the worked examples of the prompts
    days: tuple[str, ...] = ()  # the summaries of its days, where it is a month; they are in what was said, too
    is_bounded: bool = False  # its answer has a limit far below it, as that of a session: it says less, and may copy
    may_copy: bool = False  # its answer was joined by code from texts that are part of it

    @cached_property
    def text(self) -> str:
        """All of it."""
        return "\n".join(text for _, text in self.said)

    @cached_property
    def telling(self) -> frozenset[str]:
        """The words that say what it is about, without figures."""
        return _telling(self.text)

    @cached_property
    def says_enough(self) -> bool:
        """Whether it says enough for an answer to be compared with it."""
        return len(telling_words(self.text)) >= _MIN_TELLING

    @cached_property
    def capitalised(self) -> frozenset[str]:
        """The words that it has with a capital."""
        return frozenset(_CAPITALISED.findall(self.text))

    @cached_property
    def bare(self) -> str:
        """Its letters and digits, in simplified characters and small letters."""
        return _bare(self.text)

    @cached_property
    def tokens(self) -> frozenset[str]:
        """All of its words, as the index has them."""
        return frozenset(tokens(self.text))

    @cached_property
    def _pinyin(self) -> str:
        return pinyin("".join(HAN_RUN.findall(self.text)))

    @cached_property
    def _figures(self) -> tuple[tuple[date | None, str, tuple[Figure, ...]], ...]:
        return tuple((day, text, tuple(figures(text))) for day, text in self.said)

    @cached_property
    def amounts(self) -> Amounts:
        """Its numbers."""
        return Amounts(self._figures)

    @cached_property
    def _times(self) -> frozenset[object]:
        return frozenset(one.value for _, _, those in self._figures for one in those if one.kind == "time")

    @cached_property
    def named(self) -> Days:
        """The days that it names or means."""
        return Days(self._figures)

    def lacks(self, figure: Figure, around: str | None = None) -> bool:
        """Return whether no text says what the figure says, in any spelling; of a number see `Amounts.has`."""
        match figure.kind:
            case "name":
                return _LETTERS.sub("", str(figure.value)).removesuffix("s") not in self.bare
            case "time" if figure.is_word:
                return False
            case "time":
                return figure.value not in self._times and not self._has_hour(figure.value)
            case "weekday":
                return figure.value not in self.named.weekdays
            case "day":
                return not (self.named.has(figure.value) or self._has_date_number(figure.value))
        if around is not None and not figure.measures and figure.value in self.named.pointed:  # 1.22 is 1月22日
            return False
        if figure.is_word:  # it may only count, as in "two reasons"
            is_fact = around is not None and figure.base > _FEW and bool(_COUNTED.search(around))
            return is_fact and not self.amounts.has(figure, around)
        return not self.amounts.has(figure, around)

    def _has_date_number(self, value: object) -> bool:
        """Return whether a text has the day of no named month as a number."""
        month, day = value if isinstance(value, tuple) else (0, 0)
        return not month and float(day) in self.amounts.bare

    def _has_hour(self, value: object) -> bool:
        """Return whether a time is an hour that a text names as a number: "at eleven"."""
        hours, minutes = divmod(value, 60) if isinstance(value, int) else (0, 1)
        return not minutes and not self.amounts.bare.isdisjoint((hours or 12, hours + 12))

    def lacks_name(self, name: str) -> bool:
        """Return whether no text has the name, in Chinese characters or in Latin letters."""
        if any(other in self.bare for other in other_names(to_simplified(name))):
            return False
        if _LETTERS.sub("", to_simplified(name).casefold()) in self.bare:
            return False
        if surname := surname_of(name):
            return not has_surname(surname, self.text) and pinyin(surname) not in self.tokens
        if not name.isascii():
            short = name[: max(2, len(name) - 1)]
            is_whole = len(name) > len(short) and ends_name(name)  # else jieba may have taken the verb for a part of it: 许安欠
            return all(one not in self.bare and pinyin(one) not in self.bare for one in ((name,) if is_whole else (short,)))
        if len(name) >= _SPELLED_CHARS and name[:-1].casefold() in self.bare:  # Seville and Sevilla
            return False
        return stem(name.casefold()) not in self.tokens and name.casefold() not in self._pinyin


def new_places(text: str, material: Material) -> tuple[list[Place], int]:
    """Return where the text says what the material does not, in order, and how many facts it says in all."""
    found, facts = dict[int, Place](), 0
    for figure in figures(text):
        facts += not figure.is_word
        near = text[max(0, figure.start - _AROUND) : figure.end + _AROUND]
        if material.lacks(figure, _sentence(text, figure)) and not material.amounts.has_about(figure, near):
            found[figure.start] = Place(figure.start, figure.end)
    for day, weekday in _with_weekday(text):
        if material.named.contradict(day, weekday):
            found[weekday.start] = Place(weekday.start, weekday.end)
    for start, name in names(text):
        facts += 1
        if material.lacks_name(name) and not any(place.start <= start < place.end for place in found.values()):
            found[start] = Place(start, start + len(name))
    for start, word in capitals(text) if material.language == "en" else ():
        if word not in material.capitalised:
            found.setdefault(start, Place(start, start + len(word)))
    for start, end in new_kin(text, material.text):
        found.setdefault(start, Place(start, end))
    return [found[start] for start in sorted(found)], facts


def _with_weekday(text: str) -> Iterator[tuple[Figure, Figure]]:
    """Yield the days that stand beside a weekday: 3 月 28 日（周六）, "Saturday 28 March"."""
    for one, other in pairwise(figures(text)):
        if {one.kind, other.kind} == {"day", "weekday"} and _BESIDE.fullmatch(text, one.end, other.start):
            yield (one, other) if one.kind == "day" else (other, one)


def _sentence(text: str, figure: Figure) -> str:
    """Return the sentence of the figure, or what of it is near."""
    before = _SENTENCE_ENDS.split(text[max(0, figure.start - _SENTENCE) : figure.start])[-1]
    return before + text[figure.start : figure.end] + _SENTENCE_ENDS.split(text[figure.end : figure.end + _SENTENCE])[0]


def shifts_a_number(text: str, material: Material) -> bool:
    """Return whether a number of the text is one of the material with noughts, a point or a 万 too many or too few."""
    return any(material.lacks(one) and material.amounts.has_shifted(one) for one in figures(text))


def says_less(text: str, material: Material) -> bool:
    """Return whether the text says so little of what the extract says that the extract is the better summary."""
    if not material.says_enough:
        return False
    held, wanted = _held(_STAMP.sub("- ", material.extract.partition("\n")[2]), text, material)
    if material.is_bounded:
        return held < max(1, _HELD_BOUNDED * wanted)
    is_month = len({day for day, _ in material.said if day}) > 1
    share = _HELD_JOINED if material.may_copy else _HELD_OF_MONTH if is_month else _HELD_SHARE
    return held < share * wanted


def _held(extract: str, text: str, material: Material) -> tuple[int, int]:
    """Return how many of the extract's facts and telling words the text has, in any spelling, and how many these are."""
    own = Material(tuple((day, text) for day in {day for day, _ in material.said}))
    facts = {(one.kind, one.base or one.value): one for one in figures(extract) if not one.is_word}
    words = _telling(extract)
    has_word = (word in own.tokens or any(pair in own.bare for pair in _pairs(word)) for word in words)
    return sum(not own.lacks(fact) for fact in facts.values()) + sum(has_word), len(facts) + len(words)


def _pairs(word: str) -> list[str]:
    """Return the pairs of characters in a Chinese word: 交房租 is said where 房租 is."""
    return [] if word.isascii() else [word[at : at + 2] for at in range(len(word) - 1)]


def says_much_new(text: str, material: Material) -> bool:
    """Return whether many of the text's telling words are not in the material."""
    own = _telling(text)
    new = [word for word in own - material.telling if not any(pair in material.bare for pair in _pairs(word))]
    return material.says_enough and len(new) >= _MIN_NEW and len(new) > _NEW_SHARE * len(own)


def is_copy(text: str, material: Material) -> bool:
    """Return whether the text is mostly what the material or the summaries of its days say, word for word, hardly shorter."""
    own = _bare(text)
    if len(own) < _COPY_CHARS or material.is_bounded or material.may_copy or not material.says_enough:
        return False
    days = [_bare("\n".join(material.days))] if len(material.days) >= _MANY_DAYS else []
    return any(_copies(own, whole) for whole in (material.bare, *days))


def _copies(own: str, whole: str) -> bool:
    runs = [own[at : at + _RUN] for at in range(len(own) - _RUN + 1)]
    known = {whole[at : at + _RUN] for at in range(len(whole) - _RUN + 1)}
    copied = sum(run in known for run in runs) / len(runs)
    return any(len(own) >= share * len(whole) and copied > runs_share for share, runs_share in _COPIES)


def _bare(text: str) -> str:
    return _LETTERS.sub("", to_simplified(text).casefold())


def _telling(text: str) -> frozenset[str]:
    return frozenset(word for word in telling_words(text) if next(figures(word), None) is None and rarity(word))
