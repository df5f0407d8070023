"""Rules for days in Chinese: 2026年1月28日, 五月初, 去年六月, 昨天, 上周三, 三天前 (see dates)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from recalld.supervisor.query.calendar import (
    HAN_DIGITS,
    Days,
    ago,
    day_of_month_back,
    days_back,
    holiday_of,
    latest_day,
    latest_holiday,
    latest_month,
    latest_numbered,
    latest_season,
    month_of,
    months_back,
    number,
    part_of_year,
    past_span,
    season_of,
    single_day,
    week_back,
    weekday_back,
    weekend_back,
    year_of,
)
from recalld.supervisor.query.nth_weekdays import EVERY_CHINESE, ONE_CHINESE, latest_nth_of_month
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from datetime import date

_N: Final = "(?:[0-9]{1,2}|[一二两三四五六七八九十廿]{1,3})"
#: What has a number, and is no day: 3号线, 92号汽油, 2号机; but 28号机票 and 15号房租 are.
_THINGS: Final = (
    "线|楼|院(?!线|庆)|店(?!庆)|馆|码|机(?![票场构])|位|桌(?!游)|房(?![租贷东])|门(?!诊)|字|床|柜|车(?![票展险检贷])|库|厅|球(?!赛)|电池|汽油|柴油|选手"
    "|文件|公路|铁路|国道|窗|出口|口(?![试腔])|站|技师|会议[室厅]|仓|棚|坑|井|服务器|主机|节点|机房|诊室|教室|病[房床区]|大[楼厦门厅]|(?:教学|实验|住院|办公|门诊|写字)楼|胡同|宿舍|公寓|别墅|院子"
    "|地块|员工|座|色|针|螺丝|铅笔|水笔|毛笔|胶|染|口红|台风|风球|轮胎|登机|航站|跑道|泳道|赛道|信箱|储物|号|闸|桩|机组|泵|风机|项目|样品|方案|线路|试管|实验室"
)
#: A day without its month; others have such numbers, too.
NUMBERED: Final = f"(?<![0-9第.:年月个一二三四五六七八九十-])(?P<day>{_N})号(?!{_THINGS})"
_YEAR: Final = "(?P<year>(?:[0-9]{4}|[〇零一二三四五六七八九]{4})年|今年|去年|前年|大前年)的?"
_YEARS_BACK: Final = {"今年": 0, "去年": 1, "前年": 2, "大前年": 3}
_PART: Final = {"初": "begin", "上旬": "early", "中旬": "mid", "中": "mid", "下旬": "late", "底": "end", "末": "end"}
_WEEK_PART: Final = {"一": "begin", "二": "second week", "三": "third week", "四": "fourth week", "最后": "end"}
_SEASON: Final = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_DAY: Final = {"今": 0, "昨": 1, "前": 2, "大前": 3}
_WEEKS: Final = {"上上": 2, "上": 1, "这": 0, "本": 0, "": None}
_WEEKDAY: Final = "一二三四五六日天"
_HOLIDAYS: Final = {
    "元旦": "new year",
    "情人节": "valentine",
    "劳动节": "labour day",
    "五一": "labour day",
    "儿童节": "children",
    "国庆": "national day",
    "十一假期": "national day",
    "万圣节": "halloween",
    "平安夜": "christmas eve",
    "圣诞": "christmas",
    "跨年": "new year's eve",
}
_YEAR_PART: Final = {"初": "begin", "底": "end", "末": "end", "上半年": "first half", "下半年": "second half"}
_UNIT: Final = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}


def _year(match: re.Match[str], today: date) -> int | None:
    text = match["year"]
    if text is None:
        return None
    if text in _YEARS_BACK:
        return today.year - _YEARS_BACK[text]
    return int("".join(str(HAN_DIGITS.get(char, char)) for char in text.removesuffix("年")))


def _day(match: re.Match[str], today: date) -> Days | None:
    year, month, day = _year(match, today), number(match["month"]), number(match["day"])
    first = single_day(year, month, day) if year is not None else latest_day(month, day, today)
    last = first and match.groupdict().get("to") and single_day(first.first.year, month, number(match["to"]))
    return Days(first.first, last.first) if first and last and first.first <= last.first else first


def _none(_match: re.Match[str], _today: date) -> Days | None:
    """Return None: a future date, or one of the lunar calendar, is not searched for."""
    return None


def _month(match: re.Match[str], today: date) -> Days | None:
    year, month = _year(match, today), number(match["month"])
    part = _PART.get(match["part"] or "", "whole")
    return month_of(year, month, part) if year is not None else latest_month(month, today, part)


def _week_of_month(match: re.Match[str], today: date) -> Days | None:
    year, month, part = _year(match, today), number(match["month"]), _WEEK_PART[match["part"]]
    return month_of(year, month, part) if year is not None else latest_month(month, today, part)


def _day_of_near_month(match: re.Match[str], today: date) -> Days | None:
    return day_of_month_back(today, _WEEKS[match["back"]] or 0, number(match["day"]))


def _near_month(match: re.Match[str], today: date) -> Days | None:
    found = months_back(today, _WEEKS[match["back"]] or 0)
    return month_of(found.first.year, found.first.month, _PART.get(match["part"] or "", "whole")) if found else None


def _season(match: re.Match[str], today: date) -> Days | None:
    year, season = _year(match, today), _SEASON[match["season"]]
    return season_of(year, season) if year else latest_season(season, today)


def _whole_year(match: re.Match[str], today: date) -> Days | None:
    year = _year(match, today)
    return year_of(year) if year else None


def _holiday(match: re.Match[str], today: date) -> Days | None:
    year, feast = _year(match, today), _HOLIDAYS[match["feast"]]
    return holiday_of(year, feast) if year is not None else latest_holiday(feast, today)


def _year_part(match: re.Match[str], today: date) -> Days | None:
    year, part = _year(match, today), _YEAR_PART[match["part"]]
    found = part_of_year(today.year if year is None else year, part)
    return found if year is not None or (found and found.first <= today) else part_of_year(today.year - 1, part)


def _same_day(match: re.Match[str], today: date) -> Days | None:
    return single_day(today.year - _YEARS_BACK[match["year"]], today.month, today.day)


def _past(match: re.Match[str], today: date) -> Days | None:
    return past_span(today, 5 if match["n"] == "几" else number(match["n"]), _UNIT[match["unit"]])


def _number_only(match: re.Match[str], today: date) -> Days | None:
    return latest_numbered(today, number(match["day"]))


def _near_day(match: re.Match[str], today: date) -> Days | None:
    return days_back(today, _DAY[match["back"]])


def _few_days(_match: re.Match[str], today: date) -> Days | None:
    far, near = days_back(today, 7), days_back(today, 2)
    return Days(far.first, near.last) if far and near else None


def _weekday(match: re.Match[str], today: date) -> Days | None:
    return weekday_back(today, min(_WEEKDAY.index(match["weekday"]), 6), _WEEKS[match["back"] or ""])


def _weekend(match: re.Match[str], today: date) -> Days | None:
    return weekend_back(today, _WEEKS[match["back"] or ""])


def _week(match: re.Match[str], today: date) -> Days | None:
    return week_back(today, _WEEKS[match["back"]] or 0)


def _ago(match: re.Match[str], today: date) -> Days | None:
    if match["half"]:
        return days_back(today, 15, around=4) if match["half"].endswith("月") else months_back(today, 6)
    return ago(today, number(match["n"]), _UNIT[match["unit"]])


#: Each rule needs one of these; a text without them is spared all of them.
HINT: Final = lazy_re("[日号天月年周期拜季晚夜早历旦节庆诞]|五一")
_BACK: Final = "(?P<back>上上|上|这|本)"
_WEEK: Final = "个?(?:周|星期|礼拜)"
#: What may not come before a weekday: 每周三 and 下周三 name no day in the past.
_NO_HABIT: Final = "(?<![每下逢隔])(?<![每下]个)(?<![两双单])"
RULES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Days | None]], ...]] = (
    (
        lazy_re(
            f"(?:明年|大?后年|来年)的?(?:{_N}月份?(?:{_N}[日号]?)?|[春夏秋冬][天季]|{'|'.join(_HOLIDAYS)}|年?[初底末]|[上下]半年)?"
        ),
        _none,
    ),
    (lazy_re(f"下下?个?月的?(?:{_N}[日号]|[初底末])?|下下?{_WEEK}的?(?:{_WEEK})?[{_WEEKDAY}末]?"), _none),
    (lazy_re(f"(?:农历|阴历)(?:(?:{_N}|正|冬|腊)月)?(?:初?{_N}[日号]?)?"), _none),
    (lazy_re(EVERY_CHINESE), _none),
    (lazy_re(ONE_CHINESE), latest_nth_of_month),
    (lazy_re(f"(?:{_YEAR})?(?P<month>{_N})月份?(?P<day>{_N})[日号]?(?:到|至|[-~—]+)(?P<to>{_N})[日号](?!线)"), _day),
    (lazy_re(f"(?:{_YEAR})?(?P<month>{_N})月份?(?P<day>{_N})[日号](?!线)"), _day),
    (lazy_re(f"(?:{_YEAR})?(?P<month>{_N})月(?P<day>[0-9]{{1,2}})(?![0-9.:个多几万元块次点斤%]|[a-z])"), _day),
    (
        lazy_re(
            f"(?:{_YEAR})?(?<![0-9个])(?P<month>{_N})月份?的?(?:第(?=[一二三四])|(?=最后))(?P<part>[一二三四]|最后)一?{_WEEK}"
        ),
        _week_of_month,
    ),
    (
        lazy_re(f"(?:{_YEAR})?(?<![0-9个])(?P<month>{_N})月(?:份|(?P<part>初|上旬|中旬|下旬|底|末|中(?!国)))?(?!饼|亮|球)"),
        _month,
    ),
    (lazy_re(f"{_BACK}个?月的?(?P<day>{_N})[日号](?!线)"), _day_of_near_month),
    (lazy_re(f"{_BACK}个?月(?P<part>初|上旬|中旬|下旬|底|末|中)?"), _near_month),
    (lazy_re(f"(?:{_YEAR})?(?P<season>[春夏秋冬])(?:天|季)"), _season),
    (lazy_re(f"(?:{_YEAR})?(?P<feast>{'|'.join(_HOLIDAYS)})(?:节|假期|期间|那天)?"), _holiday),
    (lazy_re("(?P<year>去年|前年|大前年)的?(?:今天|今日|这一?天)"), _same_day),
    (
        lazy_re(
            f"(?:{_YEAR}(?:年(?=[初底末]))?|(?<![0-9一二三四五六七八九十百几半多每同全明今去前])年(?=[初底末]))(?P<part>[初底末])"
        ),
        _year_part,
    ),
    (lazy_re(f"(?:{_YEAR})?(?P<part>[上下]半年)"), _year_part),
    (lazy_re(_YEAR), _whole_year),
    (lazy_re(f"(?:最近|过去|近)这?(?P<n>{_N}|几)个?(?P<unit>天|日|周|星期|礼拜|月|年)(?![前号])"), _past),
    (lazy_re("(?<![早之以目提从])(?P<back>大前|前|昨|今)(?:天|日|晚|夜|早)(?!子|报)"), _near_day),
    (lazy_re("(?<![提以])前[几些两]天|[几两]天前"), _few_days),
    (lazy_re(f"{_NO_HABIT}{_BACK}?{_WEEK}末"), _weekend),
    (
        lazy_re(
            f"{_NO_HABIT}(?<![到至]){_BACK}?(?:(?<=[上这本]){_WEEK}的?)?{_WEEK}(?P<weekday>[{_WEEKDAY}])(?!到|至|个|起|次|直)"
        ),
        _weekday,
    ),
    (lazy_re(f"{_BACK}{_WEEK}"), _week),
    (
        lazy_re(
            f"(?:(?P<half>半个?[月年])|(?<![0-9一二三四五六七八九十百千万.])(?P<n>[0-9]{{1,3}}|{_N})个?(?P<unit>天|日|周|星期|礼拜|月|年))(?:之|以)?前"
        ),
        _ago,
    ),
    (lazy_re(NUMBERED), _number_only),
)
