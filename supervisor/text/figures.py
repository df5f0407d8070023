"""
What a text says in figures: numbers with their units, days, weekdays and times of the clock, equal however they are written.

三万二 is 32,000 and "thirty-two thousand", 1月28日 is "Jan 28", 下午三点半 is 15:30 and "half past three". A summary is
compared with its material by these. Letters and digits that are one word (G1024, gpt-4o) are a name, not a number. Pure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from .lazy_re import lazy_re
from .record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Characters as wide as a Han character, and the digits, points and colons that they are; the length stays.
_NARROW: Final = str.maketrans("０１２３４５６７８９．：％－／～", "0123456789.:%-/~")

_HAN_DIGITS: Final = dict(zip("零〇一二三四五六七八九两", (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2), strict=True))
_HAN_TENS: Final = {"十": 10, "百": 100, "千": 1_000}
_HAN_MYRIADS: Final = {"万": 10_000, "亿": 100_000_000}
_SMALL: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS: Final = {
    **{word: n for n, word in enumerate(_SMALL)},
    **{word: 10 * n for n, word in enumerate(_TENS, 2)},
    "dozen": 12,
}
_SCALES: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_MULTIPLES: Final = {"k": 1_000, "K": 1_000, "w": 10_000, **_HAN_TENS, **_HAN_MYRIADS, **_SCALES}

_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAYS: Final = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
#: Each unit: what it measures, how many of the basic unit it is, and how it is written.
_UNITS: Final = (
    ("CNY", 1, r"元|块钱?|人民币|RMB|CNY|yuan|kuai"),
    ("USD", 1, r"美元|美金|USD|dollars?|bucks?"),
    ("HKD", 1, r"港[元币]|HKD"),
    ("TWD", 1, r"新?台币|TWD"),
    ("crown", 1, r"克朗|kron(?:er?|or|a)|NOK|SEK|DKK|crowns?"),
    ("franc", 1, r"瑞郎|瑞士法郎|法郎|CHF|francs?"),
    ("rupee", 1, r"卢比|INR|rupees?"),
    ("peso", 1, r"比索|pesos?"),
    ("baht", 1, r"泰铢|THB|baht"),
    ("rouble", 1, r"卢布|RUB|rou?bles?"),
    ("KRW", 1, r"韩[元币]|KRW"),
    ("EUR", 1, r"欧元|EUR|euros?"),
    ("GBP", 1, r"英镑|GBP|pounds?|quid"),
    ("JPY", 1, r"日元|JPY|yen"),
    ("share", 1, r"%|percent|per cent|个百分点"),
    ("gram", 0.001, r"毫克|mg\b|milligrams?"),
    ("gram", 1000, r"公斤|千克|kg\b|kilograms?|kilos?\b"),
    ("gram", 500, r"斤"),
    ("gram", 6350, r"stone\b"),
    ("gram", 28.35, r"盎司|oz\b|ounces?"),
    ("gram", 453.6, r"磅|lbs?\b"),
    ("gram", 1, r"克|g\b|grams?"),
    ("litre", 0.001, r"毫升|ml\b|mL\b|millilit(?:re|er)s?"),
    ("litre", 1, r"升|lit(?:re|er)s?|L\b"),
    ("metre", 1000, r"公里|千米|km\b|kilomet(?:re|er)s?"),
    ("metre", 0.01, r"厘米|公分|cm\b|centimet(?:re|er)s?"),
    ("metre", 0.001, r"毫米|mm\b|millimet(?:re|er)s?"),
    ("metre", 1609, r"英里|miles?\b"),
    ("metre", 0.3048, r"英尺|feet\b|foot\b|ft\b"),
    ("metre", 0.0254, r"英寸|inch(?:es)?\b"),
    ("area", 1, r"平方米|平米|平(?!方)|㎡|m²|sqm\b|square met(?:re|er)s?"),
    ("metre", 1, r"米|m\b|met(?:re|er)s?"),
    ("hour", 1 / 60, r"分钟|minutes?|mins?\b"),
    ("hour", 1 / 3600, r"秒|seconds?|secs?\b"),
    ("hour", 1, r"(?:个(?:半)?)?(?:小时|钟头)|hours?|hrs?\b|h\b"),
    ("age", 1, r"岁半?|years? old|year-olds?"),
    ("hour", 24, r"天|days?\b"),
    ("hour", 168, r"周(?![一二三四五六日天])|(?:个)?(?:星期|礼拜)(?![一二三四五六日天])|weeks?\b"),
    ("hour", 730, r"个月|months?\b"),
    ("hour", 8766, r"年|years?\b"),
    ("gigabyte", 1, r"GB?\b"),
    ("gigabyte", 0.001, r"MB?\b"),
    ("gigabyte", 1000, r"TB?\b"),
    ("degree", 1, r"度|°C?|degrees?"),
)
_SIGNS: Final = {"¥": "CNY", "￥": "CNY", "$": "USD", "€": "EUR", "£": "GBP"}

_HAN_NUMBER: Final = "[零〇一二三四五六七八九十百千万亿两]{1,12}"
_WORD: Final = rf"(?:{'|'.join((*_SMALL, *_TENS, 'dozen', *_SCALES))})\b"
_WORD_NUMBER: Final = rf"(?:an? )?(?:\b{_WORD}(?:[ -](?:and )?(?={_WORD}))?)+|half an? (?=hour|day|year|kilo|pound)"
_COUNT: Final = rf"(?:\d+|{_HAN_NUMBER})"
#: The characters of a name with letters and digits, and what makes a number of a word with digits all the same.
_JOINED: Final = "A-Za-z0-9_./@:+-"
_SHORT_UNITS: Final = "kg|km|g|m|mg|cm|mm|ml|l|gb|mb|tb|min|mins|hrs?|years?|days?|weeks?|months?|minutes?|hours?"
_MONTH_NAMES: Final = (
    *("jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?", "aug(?:ust)?", "sept?(?:ember)?"),
    *("oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?"),
)
_MONTH: Final = rf"(?:{'|'.join(_MONTH_NAMES)})\b\.?"
_MONTH_ALONE: Final = rf"(?-i:{'|'.join(one[0].upper() + one[1:] for one in _MONTH_NAMES if one != 'may')})\b"
_ORDINAL: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_HALF_DAY: Final = "凌晨|早上|上午|中午|下午|晚上|傍晚|半夜|夜里|早|晚"
#: How each kind is written. The first that matches at a place is what is written there.
_WRITTEN: Final = {
    "name": (
        r"(?<![A-Za-z0-9.])\d+(?:\.\d+){2,}",
        (
            rf"(?<![A-Za-z0-9.])(?=[{_JOINED}]{{0,80}}[A-Za-z_@])(?=[{_JOINED}]{{0,80}}\d)"
            rf"(?!\d[\d.,:]*-?(?:st|nd|rd|th|[kKwWhHxX]|[ap]\.?m\.?|{_SHORT_UNITS})(?![A-Za-z0-9]))"
            rf"[{_JOINED}]{{0,80}}[A-Za-z0-9_]"
        ),
    ),
    "date": (
        r"(?P<y>\d{4})\s?[-/.年]\s?(?P<m>\d{1,2})\s?[-/.月]\s?(?P<d>\d{1,2})(?!\d)\s?[日号]?",
        rf"(?<![\d个])(?P<zm>{_COUNT})\s?月\s?(?:(?P<zd>{_COUNT})\s?[日号]|份?(?![\d]))",
        rf"(?<![A-Za-z])(?P<em>{_MONTH})\s(?:the\s)?(?P<ed>{_ORDINAL})(?![\d:])",
        rf"(?<![\d:.,])(?P<fd>{_ORDINAL})\s(?:of\s)?(?P<fm>{_MONTH})(?![a-z])",
        rf"(?<![A-Za-z])(?P<om>{_MONTH_ALONE})(?![A-Za-z])",
        rf"(?P<od>(?<![\d.:,])\d{{1,2}}(?:st|nd|rd|th)\b|(?<![\d.:,月]){_COUNT}\s?号(?![线楼院门]))",
    ),
    "weekday": (
        r"(?:周|星期|礼拜)(?P<zw>[一二三四五六日天])",
        rf"(?<![A-Za-z])(?P<ew>{'|'.join(_WEEKDAYS)})(?:s|nes|rs|ur|urs)?(?:day)?s?\b",
    ),
    "time": (
        rf"(?:(?:{_HALF_DAY})\s?)?(?P<h>\d{{1,2}}):(?P<min>\d\d)(?:\s?[ap]\.?m\b\.?)?",
        rf"(?:(?:{_HALF_DAY})\s?)?(?P<zh>{_COUNT})\s?点(?!\d)(?:(?P<half>半)|(?P<quarter>[一三])刻|(?P<zmin>{_COUNT})分?|钟|整)?",
        r"(?P<eh>\d{1,2})\s?[ap]\.?m\b\.?",
        r"(?:half past|(?P<past>quarter past)|(?P<to>quarter to)) (?P<wh>\w{1,6})",
        r"(?P<oh>\b\w{1,6}) o['’]clock",
        r"(?P<noon>\b(?:noon|midday|midnight)\b|正午|中午|午夜|半夜)",
    ),
    "number": (
        (
            r"(?:(?P<sign>[¥￥$€£])\s?)?"
            r"(?:(?P<digits>(?<![\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,15}(?:\.\d{1,15})?)"
            rf"|(?P<share>百分之)?(?P<hans>{_HAN_NUMBER}|半个?(?=小时|钟头|天|年|月|斤|公里|里))|(?P<words>{_WORD_NUMBER}))"
            r"(?P<multiple>\s?(?:[百千万亿]{1,3}|(?:hundred|thousand|million)\b|[kKw]\b))?"
            rf"(?P<unit>[ -]?(?:{'|'.join(written for _, _, written in _UNITS)}))?"
            r"(?P<tenth>(?<=块)[一二三四五六七八九1-9](?![\d十百千万个块]))?"
        ),
    ),
}
_FIGURE: Final = lazy_re("|".join(f"(?P<{kind}>{'|'.join(forms)})" for kind, forms in _WRITTEN.items()), re.IGNORECASE)
_UNIT: Final = tuple((measure, factor, lazy_re(rf"[ -]?(?:{written})", re.IGNORECASE)) for measure, factor, written in _UNITS)
#: Chinese words with a numeral that count nothing.
_NO_COUNT: Final = lazy_re(
    r"第[一二三四五六七八九十两]{1,3}(?:天|年|周|个)|一(?:起|直|定|样|般|些|下|切|旦|边|方面|致|共|会儿?|点儿?|次性|时|向|带|流)|十分|千万(?:别|不|要)|万一|百合|三明治|四川|九寨|"
    r"五花|八卦|统一|唯一|第一|之一|[同逐]一|不一|专一|万(?:物|分|能)|亿万|百姓|千岛|两(?:边|侧|口子)|二手|二维码|一二|三三两两|星期|礼拜"
)
#: The largest count that a summary may name although no text does: 两个方案, "three reasons".
_COUNTED: Final = 10


@record
class Figure:
    """
    What is written from *start* to *end*.

    *value*: of a number in its unit; of a day (month, day of the month), 0 where one is not named; of a time the minute of half
    a day; of a weekday 0 to 6, Monday first; of a name its letters and digits.
    """

    kind: Literal["number", "day", "weekday", "time", "name"]
    value: float | tuple[int, int] | str
    start: int
    end: int
    measures: str = ""  # what its unit measures: "metre" for kilometres; "" without a unit
    factor: float = 1.0  # how many of the basic unit its unit is
    is_word: bool = False  # a small number in words, without a unit: it may only count; noon and midnight, which may be about

    @property
    def base(self) -> float:
        """The number in the basic unit of what it measures."""
        return self.value * self.factor if isinstance(self.value, float) else 0.0


def figures(text: str) -> Iterator[Figure]:
    """
    Yield the figures of the text in their order.

    >>> [f.value for f in figures("三万二，thirty-two thousand, 32k")]
    [32000.0, 32000.0, 32000.0]
    >>> [f.value for f in figures("1月28日, Jan 28th; 下午三点半 is 15:30; 周三")]
    [(1, 28), (1, 28), 210, 210, 2]
    """
    known = text.translate(_NARROW)
    passed = {at for match in _NO_COUNT.finditer(known) for at in range(match.start(), match.end())}
    for match in _FIGURE.finditer(known):
        figure = _figure_of(match)
        if figure and not (figure.kind == "number" and figure.start in passed):
            yield figure


def _figure_of(match: re.Match[str]) -> Figure | None:
    start, end = match.span()
    match match.lastgroup:
        case _ if match["name"]:
            return Figure("name", match["name"].casefold(), start, end)
        case _ if match["date"]:
            return _day_of(match)
        case _ if match["weekday"]:
            found = (
                "一二三四五六日".index(match["zw"].replace("天", "日"))
                if match["zw"]
                else _WEEKDAYS.index(match["ew"][:3].lower())
            )
            return Figure("weekday", found, start, end)
        case _ if match["time"]:
            return _time_of(match)
    return _number_of(match)


def _day_of(match: re.Match[str]) -> Figure | None:
    month = _count(match["m"] or match["zm"] or "") or _month(match["em"] or match["fm"] or match["om"] or "")
    day = _count(match["d"] or match["zd"] or "") or _count(re.sub(r"\D", "", match["ed"] or match["fd"] or ""))
    if match["od"]:
        day = _count(re.sub(rf"[^\d{''.join(_HAN_DIGITS)}十]", "", match["od"]))
    if month > 12 or day > 31 or not (month or day):
        return None
    return Figure("day", (int(month), int(day)), *match.span())


def _month(word: str) -> int:
    return _MONTHS.index(word[:3].lower()) + 1 if word[:3].lower() in _MONTHS else 0


def _time_of(match: re.Match[str]) -> Figure | None:
    hour = _count(match["h"] or match["zh"] or match["eh"] or "")
    if match["noon"]:
        return Figure("time", 0, *match.span(), is_word=True)
    spoken = match["wh"] or match["oh"] or ""
    if spoken:
        hour = _count(spoken) if spoken.isdigit() else _WORDS.get(spoken.lower(), -1)
    minute = _count(match["min"] or match["zmin"] or "")
    if match["half"] or (match["wh"] and not (match["past"] or match["to"])):
        minute = 30
    minute = 15 * _HAN_DIGITS[match["quarter"]] if match["quarter"] else 15 if match["past"] else -15 if match["to"] else minute
    return Figure("time", int(hour * 60 + minute) % 720, *match.span()) if 0 <= hour <= 24 and minute < 60 else None


def _number_of(match: re.Match[str]) -> Figure:
    if match["digits"]:
        value = float(match["digits"].replace(",", ""))
    else:
        value = _count(match["hans"]) if match["hans"] else _spoken(match["words"])
    value += 0.5 * ("半" in (match["hans"] or "") + (match["unit"] or "") or (match["words"] or "").lower().startswith("half"))
    for multiple in (match["multiple"] or "").split() and [(match["multiple"] or "").strip()]:
        for sign in [multiple] if multiple.isascii() else multiple:
            value *= _MULTIPLES.get(sign, _MULTIPLES.get(sign.lower(), 1))
    value += 0.1 * _count(match["tenth"] or "")  # 一块五
    measures, factor = _unit_of(match["unit"] or "")
    measures = _SIGNS[match["sign"]] if match["sign"] else "share" if match["share"] else measures
    is_word = not match["digits"] and not measures and value <= _COUNTED
    return Figure("number", float(value), *match.span(), measures, factor, is_word)


def _unit_of(written: str) -> tuple[str, float]:
    return next(((what, factor) for what, factor, pattern in _UNIT if written and pattern.fullmatch(written)), ("", 1.0))


def _count(written: str) -> float:
    """Return the number that digits or Chinese numerals say; 三万二 is 32,000, 二零二六 is 2026."""
    if not written or written.isascii():
        return float(written or 0)
    if written[0] == "半":
        return 0.0  # the half is added where its unit is known
    if not any(sign in _HAN_TENS or sign in _HAN_MYRIADS for sign in written):
        return float("".join(str(_HAN_DIGITS[sign]) for sign in written))
    total = part = digit = 0
    scale = 1
    for sign in written:
        if sign in _HAN_DIGITS:
            digit = _HAN_DIGITS[sign]
            scale = 1 if sign in "零〇" else scale
        elif sign in _HAN_TENS:
            part += (digit or 1) * _HAN_TENS[sign]
            digit, scale = 0, _HAN_TENS[sign] // 10
        else:
            total = (total + part + digit or 1) * _HAN_MYRIADS[sign]
            part, digit, scale = 0, 0, _HAN_MYRIADS[sign] // 10
    return float(total + part + digit * max(1, scale))


def _spoken(words: str) -> float:
    total = part = 0
    for word in re.findall("[a-z]+", words.lower()):
        if word in _SCALES:
            part = (part or 1) * _SCALES[word]
            if _SCALES[word] > _SCALES["hundred"]:
                total, part = total + part, 0
        elif word == "dozen":
            part = (part or 1) * _WORDS[word]
        else:
            part += _WORDS.get(word, 0)
    return float(total + part)
