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
from itertools import combinations
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.chinese import is_place, pinyin, to_simplified
from recalld.supervisor.text.figures import Figure, figures
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.llm_output import HEADING
from recalld.supervisor.text.places import is_latin_place, other_names
from recalld.supervisor.text.tokenizer import ENGLISH, HAN, spelled, stem, tokens
from recalld.supervisor.text.word_frequency import is_known, rarity, telling_words

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
        (r"月底|(?i:end of (?:the|this) month)", 0, 31),
        (r"下个?月|(?i:next month)", 1, 62),
        (r"上个?月|(?i:last month)", -62, -1),
    )
)
_AHEAD: Final = lazy_re(r"后|later|from now")
_BEFORE: Final = lazy_re(r"前|ago")
_FARTHEST_HOURS: Final = 24 * 800
_AROUND: Final = 8  # characters around a number that say when, or that it is about so much
_ABOUT: Final = lazy_re(
    r"约|近|大概|左右|上下|多|about|around|nearly|almost|some|roughly|over|under|up to|more than|less than", 2
)
_ROUNDED: Final = 0.1
_EQUAL: Final = 0.01  # 18 months and a year and a half
#: A sum of fewer is a count of something, and in a text with more numbers each number is the sum of two.
_LEAST_SUM: Final = 10
_MOST_ADDED: Final = 40
_YEARS: Final = range(1900, 2101)

_LATIN_NAME: Final = lazy_re(r"(?<![\w./@-])(?!(?:Mrs?|Ms|Dr|Prof|May)\b)[A-Z][a-z]+(?:[A-Z][a-z]+)*(?![\w/@])")
_HAN_NAME: Final = lazy_re(f"[{HAN}]{{2,}}")
_SURNAMES: Final = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾萧田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳欧阳"
)
#: Words that the dictionary has as places, and that are none in a summary.
_FULL_NAME: Final = 3
_NO_PLACES: Final = frozenset(
    (
        *("城市", "东西", "南北", "东北", "西北", "东南", "西南", "平原"),
        *("外国", "爱国", "太阳", "英雄", "朝廷", "江南", "哥哥"),
    )
)
_CODE: Final = lazy_re(r"`([^`\n]{2,})`|https?://[^\s)）」”>]+|(?<![\w.])~?/[\w.-]+(?:/[\w.-]+)+")

#: Telling words of the material from which on an answer is compared with it: for less no model is asked.
_MIN_TELLING: Final = 16
#: An answer holds this share of the extract's facts and telling words at least; less where its length is bounded.
_HELD_SHARE: Final = 0.3
_HELD_BOUNDED: Final = 0.2
_STAMP: Final = lazy_re(r"^- \d\d[:-]\d\d ", re.MULTILINE)
#: At most this share of an answer's own telling words is new, where so many are: summaries say things in other words.
_NEW_SHARE: Final = 0.6
_MIN_NEW: Final = 6
#: A copy: at least so many characters, this share of the material, and of its runs of twelve so many are in the material.
_RUN: Final = 12
_COPY_CHARS: Final = 160
_COPIES: Final = ((0.7, 0.6), (0.45, 0.85))
_LETTERS: Final = lazy_re(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an answer says what its material does not: from *start* to *end*."""

    start: int
    end: int


@dataclass(frozen=True)
class Material:
    """
    What was summarised: the texts with their days, oldest first, and the *extract* of them.

    A day is None where it is not known. *language* is None where the texts have several, and either is right.
    """

    said: tuple[tuple[date | None, str], ...] = ()
    extract: str = ""
    language: Language | None = None
    prompts: tuple[str, ...] = ()  # sentences of the prompts
    examples: tuple[str, ...] = ()  # the worked examples of the prompts
    is_bounded: bool = False  # its answer has a limit far below it, as that of a session: it says less, and may copy

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
    def _folded(self) -> str:
        return to_simplified(self.text).casefold()

    @cached_property
    def bare(self) -> str:
        """Its letters and digits, in simplified characters and small letters."""
        return _LETTERS.sub("", self._folded)

    @cached_property
    def tokens(self) -> frozenset[str]:
        """All of its words, as the index has them."""
        return frozenset(tokens(self.text))

    @cached_property
    def _pinyin(self) -> str:
        return pinyin("".join(_HAN_NAME.findall(self.text)))

    @cached_property
    def _figures(self) -> tuple[tuple[date | None, str, tuple[Figure, ...]], ...]:
        return tuple((day, text, tuple(figures(text))) for day, text in self.said)

    @cached_property
    def _numbers(self) -> frozenset[tuple[float, str, float]]:
        """Each number, what its unit measures, and the number in the basic unit."""
        found = {(float(day.year), "", float(day.year)) for day, _ in self.said if day}
        for _, _, those in self._figures:
            found |= {(one.value, one.measures, one.base) for one in those if isinstance(one.value, float)}
            for one in those:  # a day or an hour may be named without its month or its minutes
                found |= {(float(n), "", float(n)) for n in one.value} if isinstance(one.value, tuple) else set()
        return frozenset(found)

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
                near |= set(_counted(day, text, those)) | {day}
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
            case "time":
                return figure.value not in self._times and not self._has_hour(figure.value)
            case "weekday":
                return figure.value not in self._weekdays
            case "day":
                return not self._has_day(figure.value)
        return not figure.is_word and not self._has_number(figure)

    def _has_day(self, value: object) -> bool:
        month, day = value if isinstance(value, tuple) else (0, 0)
        if any((m in (month, 0) or not month) and (d == day or not day) for m, d in self._days):
            return True
        return not month and (float(day), "", float(day)) in self._numbers

    def _has_hour(self, value: object) -> bool:
        """Return whether a time is an hour that a text names as a number: "at eleven"."""
        hours, minutes = divmod(value, 60) if isinstance(value, int) else (0, 1)
        return not minutes and any(number in {hours or 12, hours + 12} and not unit for number, unit, _ in self._numbers)

    def _has_number(self, figure: Figure) -> bool:
        wanted, measures = figure.base, figure.measures
        for value, theirs, base in self._numbers:
            if measures == theirs and abs(base - wanted) <= _EQUAL * abs(wanted):
                return True
            if not (measures and theirs) and figure.value in {value, value * 1_000, value * 10_000}:
                return True
        if figure.value in _YEARS and not measures:
            return any(day and abs(day.year - figure.value) <= 1 for day, _ in self.said)  # type: ignore[operator]
        return self._adds_up(figure)

    def _adds_up(self, figure: Figure) -> bool:
        """Return whether the number is the sum or the difference of two that have its unit, or one of these so many times."""
        if figure.base < _LEAST_SUM:
            return False
        units = {figure.measures, ""} if figure.measures else {theirs for _, theirs, _ in self._numbers}
        for measures in units:
            alike = [base for _, theirs, base in self._numbers if theirs == measures and base]
            pairs = combinations([*alike, *alike], 2) if len(alike) <= _MOST_ADDED else ()
            if any(figure.base in (a + b, abs(a - b)) for a, b in pairs):
                return True
        counts = {base for _, theirs, base in self._numbers if base and not theirs}
        prices = {base for _, theirs, base in self._numbers if base and theirs == figure.measures}
        return bool(figure.measures) and any(figure.base / price in counts for price in prices)

    def is_about(self, figure: Figure, around: str) -> bool:
        """Return whether the number is given as about so much, and a text has one that is."""
        if figure.kind != "number" or not _ABOUT.search(around):
            return False
        return any(abs(base - figure.base) <= _ROUNDED * abs(base) for _, _, base in self._numbers)

    def lacks_name(self, name: str) -> bool:
        """Return whether no text has the name, in Chinese characters or in Latin letters."""
        if any(other in self.bare for other in other_names(to_simplified(name))):
            return False
        if _LETTERS.sub("", to_simplified(name).casefold()) in self.bare:
            return False
        if not name.isascii():  # jieba may take the verb for a part of a name: 许安欠
            return name[: max(2, len(name) - 1)] not in self.bare and pinyin(name) not in self.bare
        return stem(name.casefold()) not in self.tokens and name.casefold() not in self._pinyin


def new_places(text: str, material: Material) -> tuple[list[Place], int]:
    """Return where the text says what the material does not, in order, and how many facts it says in all."""
    found, facts = dict[int, Place](), 0
    for figure in figures(text):
        facts += not figure.is_word
        around = text[max(0, figure.start - _AROUND) : figure.end + _AROUND]
        if material.lacks(figure) and not material.is_about(figure, around):
            found[figure.start] = Place(figure.start, figure.end)
    for start, name in _names(text):
        facts += 1
        if material.lacks_name(name) and not any(place.start <= start < place.end for place in found.values()):
            found[start] = Place(start, start + len(name))
    return [found[start] for start in sorted(found)], facts


def _names(text: str) -> Iterator[tuple[int, str]]:
    """Yield the names of people, places and things, paths and code, with their places."""
    in_code = set[int]()
    for match in _CODE.finditer(text):
        in_code.update(range(*match.span()))
        yield match.start(1) if match[1] else match.start(), match[1] or match[0]
    for match in _LATIN_NAME.finditer(text):
        word = match[0].casefold()
        is_common = word in ENGLISH or is_known(stem(word)) or next(figures(match[0]), None) is not None
        if not ((is_common and not is_latin_place(word)) or match.start() in in_code or _is_label(text, match)):
            yield match.start(), match[0]
    for match in _HAN_NAME.finditer(text):
        at = match.start()
        for written, word in spelled(match[0]):
            at = text.find(written, at)
            if at not in in_code and _is_han_name(word):
                yield at, written
            at += len(written)


def _is_label(text: str, match: re.Match[str]) -> bool:
    """Return whether the word is in a heading, or the label of a line."""
    line = text.rfind("\n", 0, match.start()) + 1
    return bool(HEADING.match(text[line:].partition("\n")[0])) or text[match.end() :].startswith((":", "：", "**"))


def _is_han_name(word: str) -> bool:
    """Return whether a word is the name of a place, or one of three characters that begins with a surname."""
    if len(word) < 2 or next(figures(word), None):
        return False
    if is_place(word):
        return word not in _NO_PLACES
    return len(word) == _FULL_NAME and word[0] in _SURNAMES and not is_known(word)


def says_less(text: str, material: Material) -> bool:
    """Return whether the text says so little of what the extract says that the extract is the better summary."""
    if not material.says_enough:
        return False
    held, wanted = _held(_STAMP.sub("- ", material.extract.partition("\n")[2]), text, material)
    return held < (max(1, _HELD_BOUNDED * wanted) if material.is_bounded else _HELD_SHARE * wanted)


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
    """Return whether the text is mostly what the material says, word for word and hardly shorter."""
    own, whole = _LETTERS.sub("", to_simplified(text).casefold()), material.bare
    if len(own) < _COPY_CHARS or material.is_bounded or not material.says_enough:
        return False
    runs = [own[at : at + _RUN] for at in range(len(own) - _RUN + 1)]
    known = {whole[at : at + _RUN] for at in range(len(whole) - _RUN + 1)}
    copied = sum(run in known for run in runs) / len(runs)
    return any(len(own) >= share * len(whole) and copied > runs_share for share, runs_share in _COPIES)


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


def _is_day(year: int, month: int, day: int) -> bool:
    return day <= calendar.monthrange(year, month)[1]
