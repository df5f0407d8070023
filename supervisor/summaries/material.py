"""
What was summarised, and what an answer says against it: new facts, few of its words, a copy.

A fact is a number, a day, a time of the clock or a name. One counts as said where the material has it in any spelling
(`text/figures.py`), in pinyin, by a relative word (明天, "next Friday") or as the sum of two numbers with the same unit. What
an answer has to say is measured by the extract of the same material, which costs no call. Pure.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from recalld.supervisor.summaries.amounts import Amounts
from recalld.supervisor.summaries.names import HAN_RUN, capitals, names, new_kin
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

#: How far from the day of a message a weekday, "the 20th" or "next week" may be that it names.
_NEAR: Final = timedelta(days=14)
_RELATIVE: Final = tuple(
    (lazy_re(words), range(first, last + 1))
    for words, first, last in (
        (r"今[天晚早]|(?i:\btoday\b|\btonight\b|this (?:morning|afternoon|evening))", 0, 0),
        (r"明[天早晚]|(?i:\btomorrow\b)", 1, 1),
        (r"后天|(?i:day after tomorrow)", 2, 3),
        (r"昨[天晚]|(?i:\byesterday\b|last night)", -1, -1),
        (r"前[天晚]|(?i:day before yesterday)", -2, -2),
        (r"[这本]周|周末|(?i:(?:this|the) (?:week|weekend))", -6, 8),
        (r"下(?:个)?(?:周|星期|礼拜)|(?i:next week|coming week)", 1, 14),
        (r"上(?:个)?(?:周|星期|礼拜)|(?i:last week)", -14, -1),
    )
)
#: Words for a month, this one or its neighbours: an answer may name the month, but no day of it.
_MONTHS: Final = tuple(
    (lazy_re(words), away) for words, away in ((r"下个?月|(?i:next month)", 1), (r"上个?月|(?i:last month)", -1))
)
_MONTH_END: Final = lazy_re(r"月底|(?i:end of (?:the|this) month)")
_AHEAD: Final = lazy_re(r"后|later|from now")
_BEFORE: Final = lazy_re(r"前|ago")
_AROUND: Final = 8  # characters around a number that say when, or that it is about so much
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
        return Amounts(tuple((day, those) for day, _, those in self._figures))

    @cached_property
    def _times(self) -> frozenset[object]:
        return frozenset(one.value for _, _, those in self._figures for one in those if one.kind == "time")

    @cached_property
    def _days(self) -> frozenset[tuple[int, int]]:
        """Every day that the texts name, or mean by a relative word."""
        found = set[tuple[int, int]]()
        for day, text, those in self._figures:
            found |= {one.value for one in those if one.kind == "day" and isinstance(one.value, tuple)}
            if day:
                near = {day + timedelta(days=n) for pattern, away in _RELATIVE if pattern.search(text) for n in away}
                near |= set(_counted(day, text, those)) | set(_month_end(day, text)) | {day}
                found |= {((day.month - 1 + away) % 12 + 1, 0) for pattern, away in _MONTHS if pattern.search(text)}
                near |= {one for figure in those for one in _near(day, figure)}
                found |= {(one.month, one.day) for one in near}
        return frozenset(found)

    @cached_property
    def _weekdays(self) -> frozenset[int]:
        named = {one.value for _, _, those in self._figures for one in those if one.kind == "weekday"}
        years = {day.year for day, _ in self.said if day}
        days = ((year, month, day) for month, day in self._days if month and day for year in years)
        return frozenset(named | {calendar.weekday(*one) for one in days if _is_day(*one)})  # type: ignore[arg-type]

    def lacks(self, figure: Figure) -> bool:
        """Return whether no text says what the figure says, in any spelling."""
        match figure.kind:
            case "name":
                return _LETTERS.sub("", str(figure.value)).removesuffix("s") not in self.bare
            case "time" if figure.is_word:
                return False
            case "time":
                return figure.value not in self._times and not self._has_hour(figure.value)
            case "weekday":
                return figure.value not in self._weekdays
            case "day":
                return not self._has_day(figure.value)
        return not figure.is_word and not self.amounts.has(figure)

    def _has_day(self, value: object) -> bool:
        month, day = value if isinstance(value, tuple) else (0, 0)
        if any((m in (month, 0) or not month) and (d == day or not day) for m, d in self._days):
            return True
        return not month and (float(day), "", float(day)) in self.amounts.all

    def _has_hour(self, value: object) -> bool:
        """Return whether a time is an hour that a text names as a number: "at eleven"."""
        hours, minutes = divmod(value, 60) if isinstance(value, int) else (0, 1)
        return not minutes and any(number in {hours or 12, hours + 12} and not unit for number, unit, _ in self.amounts.all)

    def lacks_name(self, name: str) -> bool:
        """Return whether no text has the name, in Chinese characters or in Latin letters."""
        if any(other in self.bare for other in other_names(to_simplified(name))):
            return False
        if _LETTERS.sub("", to_simplified(name).casefold()) in self.bare:
            return False
        if not name.isascii():  # jieba may take the verb for a part of a name: 许安欠
            name = name[: max(2, len(name) - 1)]
            return name not in self.bare and pinyin(name) not in self.bare
        return stem(name.casefold()) not in self.tokens and name.casefold() not in self._pinyin


def new_places(text: str, material: Material) -> tuple[list[Place], int]:
    """Return where the text says what the material does not, in order, and how many facts it says in all."""
    found, facts = dict[int, Place](), 0
    for figure in figures(text):
        facts += not figure.is_word
        around = text[max(0, figure.start - _AROUND) : figure.end + _AROUND]
        if material.lacks(figure) and not material.amounts.has_about(figure, around):
            found[figure.start] = Place(figure.start, figure.end)
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


def _counted(day: date, text: str, those: tuple[Figure, ...]) -> Iterator[date]:
    """Yield the days that are named by how long before or after *day* they are: 三天后, "two weeks ago"."""
    for one in those:
        if one.measures == "hour":
            around = text[one.end : one.end + _AROUND]
            for sign, words in ((1, _AHEAD), (-1, _BEFORE)):
                if words.search(around) or (
                    sign > 0 and text[max(0, one.start - 4) : one.start].lower().strip().endswith(("in", "过"))
                ):
                    yield day + sign * timedelta(hours=min(one.base, 24 * 800))


def _near(day: date, figure: Figure) -> Iterator[date]:
    """Yield the days near *day* that a weekday may mean, or a day of the month."""
    if figure.kind == "weekday":
        around = (day + timedelta(days=n) for n in range(-_NEAR.days, _NEAR.days + 1))
        yield from (one for one in around if one.weekday() == figure.value)
    elif figure.kind == "day" and isinstance(figure.value, tuple) and not figure.value[0]:
        months = {(day + timedelta(days=n)).replace(day=1) for n in (-31, 0, 31)}
        yield from (one.replace(day=figure.value[1]) for one in months if _is_day(one.year, one.month, figure.value[1]))


def _month_end(day: date, text: str) -> Iterator[date]:
    """Yield the last day of the month of *day* where the text names it."""
    if _MONTH_END.search(text):
        yield day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _is_day(year: int, month: int, day: int) -> bool:
    return day <= calendar.monthrange(year, month)[1]
