"""
Personal data as it is written: mail addresses, phone numbers and postal addresses, Chinese and English.

They are patterns like those of `privacy.patterns`, and count as secrets where `privacy.personal` is on. A number is a phone
number by its form alone: with its country or area, or as a Chinese mobile. A house needs its street or its estate. Pure.
"""

from __future__ import annotations

from typing import Final

#: What a number or a name is not in the middle of.
_BEGIN, _END = r"(?<![A-Za-z0-9_.-])(?<![+])", r"(?![A-Za-z0-9_-])"
_MAIL: Final = rf"{_BEGIN}(?!git@)[A-Za-z0-9_.+-]{{1,64}}@(?:[\w-]{{1,63}}\.){{1,8}}[^\W\d_]{{2,24}}(?![\w@])"
#: What is before a long number that is none of a phone.
_OTHERS: Final = ("单号", "编号", "流水号", "id", "ID", "no.", "#")
_NO_PHONE: Final = "".join(f"(?<!{word}{sign})" for word in _OTHERS for sign in ("", " ", "：", ":"))
_NUMBERS: Final = (
    rf"{_NO_PHONE}(?:\+?86[ -]?)?1[3-9]\d[ -]?\d{{4}}[ -]?\d{{4}}",  # a mobile in China
    r"(?:\(0\d{2,3}\)|（0\d{2,3}）|0\d{2,3}-) ?\d{7,8}(?:-\d{1,5})?",  # a line in China, with its area
    r"400-?\d{3}-?\d{4}",
    r"\+\d(?:[ .()-]{0,2}\d){7,14}",  # with the code of a country
    r"(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[.-]\d{4}",  # in America
    r"0\d{2,4} \d{3,4} ?\d{3,4}",  # in Britain
)
_PHONE: Final = f"{_BEGIN}(?:{'|'.join(_NUMBERS)}){_END}"
_STREETS: Final = "Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Terrace|Crescent|Highway|Hwy|Parkway|Pkwy"
_HOUSE: Final = r"\b(?!(?:19\d\d|20[0-3]\d) )\d{1,5}[A-Za-z]? (?:[NSEW]\.? )?"  # no year
_FLAT: Final = r"(?:,? (?:Apt|Apartment|Unit|Suite|Ste|Flat|#)\.? ?\w{1,6})?"
_TOWN: Final = r"(?:, (?:[A-Z][\w.'’-]{1,20} ?){1,3},? [A-Z]{2} \d{5}(?:-\d{4})?)?"
#: A sign of a Chinese name of a place: no word such as "we live in" is a part of it.
_PLACE: Final = r"[^\W\d_a-zA-Z我你您他她它们在到住去是的了从和跟往来给把被离址于寄送按沿]"
_ESTATE: Final = rf"{_PLACE}{{2,8}}(?:小区|花园|家园|公寓|苑|新村|大厦)"
_COUNT: Final = "[0-9０-９一二三四五六七八九十百]{1,5}"
_INSIDE: Final = rf"(?:[ ，,]?{_ESTATE})?(?:[ ，,]?{_COUNT}(?:号楼|栋|幢|座|单元|楼|层|室))*(?:[ ，,]?\d{{3,4}}室?)?"
_ROAD: Final = rf"(?:{_PLACE}{{2,6}}[省市区县]){{0,3}}{_PLACE}{{1,6}}(?:路|街|大道|巷|胡同)(?:{_COUNT}弄)?{_COUNT}号"
_PLACES: Final = (
    rf"{_HOUSE}(?:[A-Z][\w'’-]{{1,20}} ){{1,3}}(?:{_STREETS})\b\.?{_FLAT}{_TOWN}",
    r"\b[Pp]\.? ?[Oo]\.? [Bb]ox \d{1,6}\b",
    r"\b[A-Z]{1,2}\d[A-Z\d]? \d(?![GMTK]B)[ABD-HJLNP-UW-Z]{2}\b",  # a postcode of Britain
    r"\b[A-ZÄÖÜ][a-zäöüß]{2,20}(?:straße|strasse|str\.) \d{1,4}[a-z]?\b",
    rf"{_ROAD}(?![线口门机车桌码院台])(?!出口){_INSIDE}",  # "exit 2 of Zhongshan Road" is none
    rf"{_ESTATE}{_COUNT}(?:号楼|栋|幢|座|单元){_INSIDE}",
)
#: The patterns: of mail addresses, phone numbers and postal addresses.
PERSONAL: Final = (_MAIL, _PHONE, "|".join(_PLACES))
