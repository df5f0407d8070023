"""
What the phrases of `dates` mean, English and Chinese alike, on the day that they are said.

Where a phrase fits more than once, the direction decides. Back (a question, about what was): "on Friday" is the last one,
5月2号 the last 2 May, and what is to come is not searched for. Ahead (a message): "on Friday" is the next one unless its
clause is about what is over, 5月2号 the nearest. A wrong day is worse than none: what may be no day names none.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Final

from ..text.comparing import HAN_DIGITS
from ..text.language import HAN
from ..text.lazy_re import lazy_re
from .calendar import (
    LONGEST,
    Days,
    days_from,
    each_month,
    each_year,
    month_from,
    month_number,
    month_of,
    number,
    numbered_from,
    single_day,
    units_from,
    week_from,
    weekday_number,
    year_of,
)
from .intent import OVER


@dataclass(frozen=True, slots=True)
class Said:
    """The day on which a text is said, and its direction."""

    day: date
    is_ahead: bool


# ── words with a value ───────────────────────────────────────────────────────

#: How far away the day, the week, the month or the year of a word is.
_AWAY: Final = {
    "大前": -3, "上上": -2, "前": -2, "上": -1, "昨": -1, "去": -1, "这": 0, "本": 0, "今": 0, "下": 1, "明": 1, "来": 1,
    "下下": 2, "后": 2, "大后": 3, "day before yesterday": -2, "before last": -2, "yesterday": -1, "last": -1, "past": -1,
    "previous": -1, "to": 0, "this": 0, "the": 0, "next": 1, "day after tomorrow": 2,
}  # fmt: skip
_ENDS: Final = ("底", "末", "end")
_UNITS: Final = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}


def _word(match: re.Match[str], group: str) -> str:
    """Return the text of a group as the tables have it; empty if the pattern has no such group, or it is not in the text."""
    return " ".join((match.groupdict().get(group) or "").lower().replace("’", "'").split())


def _near(match: re.Match[str]) -> int:
    """Return how far away the month, the week or the year of the phrase is: -1 for the last, 0 without a word for it."""
    return _AWAY.get(_word(match, "near"), 0)


def _unit(match: re.Match[str]) -> str:
    unit = _word(match, "unit")
    return _UNITS.get(unit, unit)


# ── once a year ──────────────────────────────────────────────────────────────


def _in_year(match: re.Match[str], utterance: Said, of_year: Callable[[int], Days]) -> Days | None:
    """Return what is once a year in the year of the phrase; without one in that which its direction, or "last", says."""
    year = _word(match, "year").removesuffix("年").removesuffix(" year")
    if year in _AWAY:
        return of_year(utterance.day.year + _AWAY[year])
    if year:
        return of_year(int("".join(str(HAN_DIGITS.get(char, char)) for char in year)))
    every, near = each_year(of_year, utterance.day), _near(match)
    if near > 0:
        return next((days for days in every if days.first > utterance.day), None)
    if near < 0:
        return next((days for days in reversed(every) if days.last < utterance.day), None)
    if not utterance.is_ahead:
        return next((days for days in reversed(every) if days.first <= utterance.day), None)
    if every and every[0].length > LONGEST:
        return next((days for days in every if days.last >= utterance.day), None)
    return min(every, key=lambda days: abs(days.away(utterance.day)), default=None)


def day_of_year(match: re.Match[str], utterance: Said) -> Days | None:
    """5月2号, 去年1月3号到5号, "May 2nd, 2023", 2025.5.2."""
    month, day = month_number(match["month"]), number(match["day"])
    days = _in_year(match, utterance, lambda year: single_day(year, month, day))
    to = _word(match, "to")
    if days and to and number(to) > day:
        return Days(days.first, days.first.replace(day=number(to)))
    return days


def month(match: re.Match[str], utterance: Said) -> Days | None:
    """五月, 12月中旬, "in June 2023", "early May", 2023-05."""
    month, part = month_number(match["month"]), _word(match, "part")
    return _in_year(match, utterance, lambda year: month_of(year, month, part))


def month_ahead(match: re.Match[str], utterance: Said) -> Days | None:
    """Plans "for March", "anything on in December"; back such a word is none of a date: "the airline for February"."""
    return month(match, utterance) if utterance.is_ahead else None


def year(match: re.Match[str], utterance: Said) -> Days | None:
    """去年, 2025年, "in 2021"."""
    return _in_year(match, utterance, year_of)


def slashed(match: re.Match[str], utterance: Said) -> Days | None:
    """5/2, 13/4, 2/5/23: the month is first, if there is such a month."""
    month, day = number(match["month"]), number(match["day"])
    month, day = (day, month) if month > 12 else (month, day)
    return _in_year(match, utterance, lambda year: single_day(2000 + year % 2000, month, day))


# ── so far away ──────────────────────────────────────────────────────────────


def day_of_near_month(match: re.Match[str], utterance: Said) -> Days | None:
    """上个月20号, "the 5th of next month"."""
    return numbered_from(utterance.day, _near(match), number(match["day"]))


def near_month(match: re.Match[str], utterance: Said) -> Days | None:
    """上个月, 月底, "the end of the month"; ahead the end is the last day."""
    part = _word(match, "part")
    days = month_from(utterance.day, _near(match), part)
    return Days(days.last, days.last) if part in _ENDS and utterance.is_ahead else days


def near_day(match: re.Match[str], utterance: Said) -> Days | None:
    """昨天, 后天, "tomorrow night"; ahead no "today" that is over."""
    ahead = _AWAY.get(_word(match, "near"), 1)
    return None if ahead == 0 and utterance.is_ahead and _is_over(match) else days_from(utterance.day, ahead)


def weekday(match: re.Match[str], utterance: Said) -> Days | None:
    """上周三, 周五, "on Friday", "last Tuesday"; back it is never today, whose talk the history shows."""
    weekday, near = weekday_number(match["weekday"]), _word(match, "near")
    back, ahead = (utterance.day.weekday() - weekday) % 7, (weekday - utterance.day.weekday()) % 7
    if near in ("last", "past"):
        return days_from(utterance.day, -(back or 7))
    if near in _AWAY:
        return week_from(utterance.day, _AWAY[near], weekday, weekday)
    if near == "coming":
        return days_from(utterance.day, ahead or 7)
    if not utterance.is_ahead:
        return days_from(utterance.day, -(back or 7))
    is_next = ahead and not _is_over(match)
    return days_from(utterance.day, ahead) if is_next else None


def numbered_weekday(match: re.Match[str], utterance: Said) -> Days | None:
    """12号周四, "Thursday 12th": the nearest such day."""
    days = [
        day for day in each_month(number(match["n"]), utterance.day) if day.first.weekday() == weekday_number(match["weekday"])
    ]
    return min(days, key=lambda day: abs(day.away(utterance.day)), default=None)


def weekend(match: re.Match[str], utterance: Said) -> Days | None:
    """上周末, "the weekend"; without its week the last that has begun, ahead the one to come."""
    if _word(match, "near") not in ("", "the"):
        return week_from(utterance.day, _near(match), 5, 6)
    if utterance.is_ahead:
        return None if _is_over(match) else week_from(utterance.day, 0, 5, 6)
    return week_from(utterance.day, -(utterance.day.weekday() < 5), 5, 6)


def stretch(match: re.Match[str], utterance: Said) -> Days | None:
    """上周, "last year", "the weekend before last"."""
    match _unit(match):
        case "weekend":
            return weekend(match, utterance)
        case "month":
            return near_month(match, utterance)
        case "year":
            return year_of(utterance.day.year + _near(match))
        case _:
            return week_from(utterance.day, _near(match))


def so_far(match: re.Match[str], utterance: Said) -> Days | None:
    """最近三天, "the last 2 weeks"; what was so far is no day of a message."""
    length = number(match["n"]) * {"day": 1, "week": 7, "month": 30, "year": 365}[_unit(match)]
    return None if utterance.is_ahead else Days(days_from(utterance.day, -length).first, utterance.day)


#: "A few weeks ago": from so many days ago to so many.
_FEW: Final = {"day": (7, 2), "week": (35, 14), "month": (180, 60), "year": (2200, 730)}


def ago(match: re.Match[str], utterance: Said) -> Days | None:
    """三天前, "two weeks ago", 前几天, "a few days ago", 半个月前, "half a year ago"."""
    count, unit = _word(match, "n").removeprefix("a "), _unit(match)
    if count in ("", "few", "several", "几"):
        first, last = _FEW[unit]
        return Days(days_from(utterance.day, -first).first, days_from(utterance.day, -last).last)
    if count in ("半", "half a"):
        return days_from(utterance.day, -15, around=4) if unit == "month" else month_from(utterance.day, -6)
    return _away(utterance, count, unit, -1)


def later(match: re.Match[str], utterance: Said) -> Days | None:
    """两周后, "in 3 days"."""
    return _away(utterance, match["n"], _unit(match), 1)


def _away(utterance: Said, count: str, unit: str, sign: int) -> Days:
    """Return the days that are so many units away; for 两三天 those from two to three away."""
    counts = count if len(count) == 2 and {*count} <= HAN_DIGITS.keys() else [count]
    days = [units_from(utterance.day, sign * number(n), unit) for n in counts]
    return Days(min(day.first for day in days), max(day.last for day in days))


# ── by its number alone ──────────────────────────────────────────────────────

#: What has a number, and is no day: 3号线, 92号汽油, 2号机; but 28号机票 and 15号房租 are.
_THINGS: Final = (
    "[线楼馆码位字床柜库厅站仓棚座色针胶井坑文员信汽柴电教实诊会病服染台螺轮登地]|院(?!庆)|店(?!庆)|机(?![票构])|桌(?!游)|房(?![租贷])|门(?!诊)"
    "|车(?![票展险检贷])|球(?!赛)|[公铁]路|窗|出?口(?!试)|号"
)
ALONE_ZH: Final = (
    f"(?<![0-9第.:年月个一二三四五六七八九十-])(?P<day>[0-9]{{1,2}}|[一二两三四五六七八九十廿]{{1,3}})号(?!{_THINGS})"
)
#: A day that was so many days ago may be meant by its number alone, as well as the next one.
_JUST: Final = 5
#: What stands before a number that is no day, and what follows one that is: 平江路 27 号; 12号上午, 10号发工资.
_NOT_BEFORE: Final = "路街弄巷道村屯里区园苑庭厦楼座栋幢院边旁口侧头角在是住坐乘搭穿选买用叫排舟娥征兔女男牌学间床位宫问星号"
_AFTER: Final = lazy_re(
    r"\s?(?:[上下中]午|[早晚夜]|凌晨|[之以]?[前后]|起|开始|截止|到期|出发|可以|干[嘛啥什]|做[啥什]|忙|面试|复[查诊]|体检|上[门班]|那天|生日|左右|[周星礼]"
    r"|[要去来回走交请休放开考搬结办见约聚发还付取拿打送有没不行能会就又再都谁和或跟我你他她咱、，]|的[课会票车饭约])"
)
_MOVED_TO: Final = lazy_re(r"(?:改|推迟?|挪|延期?|换|提前|定)[到成在]\s?$")
_CLAUSE_BEGIN: Final = "，,。；;：:！!？?\n 、(（\0"


def number_alone(match: re.Match[str], utterance: Said) -> Days | None:
    """12号: the last, ahead the next; None if it may be no day, was just, or is over."""
    days = each_month(number(match["day"]), utterance.day)
    last = next((day for day in reversed(days) if day.first <= utterance.day), None)
    if not utterance.is_ahead:
        return last
    text = match.string
    is_moved = _MOVED_TO.search(text, max(0, match.start() - 5), match.start())
    is_first = text[max(0, match.start() - 1) : match.start()] in (*_CLAUSE_BEGIN, "")
    before = text[: match.start()].rstrip(" ")[-1:]
    is_day = is_first or (before not in _NOT_BEFORE and _AFTER.match(text, match.end()))
    if not is_moved and (not is_day or _is_over(match)):
        return None
    if last and 0 < (utterance.day - last.first).days <= _JUST:
        return None
    return next((day for day in days if day.first >= utterance.day), None)


#: Where a clause ends: many who write Chinese set a blank in place of a comma, 我妈感冒了 机票改28号.
_CLAUSE_END: Final = lazy_re(rf"[。！？!?\n；;]|\.\s|(?<=[{HAN}]) (?=[{HAN}])")


def _is_over(match: re.Match[str]) -> bool:
    """Return whether the clause of the match tells of what is over."""
    text = match.string
    start = max((end.end() for end in _CLAUSE_END.finditer(text, 0, match.start())), default=0)
    end = _CLAUSE_END.search(text, match.end())
    return bool(OVER.search(text[start : end.start() if end else len(text)]))
