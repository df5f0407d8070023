r"""
How secrets are written: behind a word for one, such as "the wifi password is plum77" and 门禁码：4471, and how one is reached.

How a value has to look depends on its label and its separator: behind ":" or "=" nearly anything that ends there is one, behind
"is" what is no plain word, behind a blank what has digits. So "the password is wrong" has none, and "the password is otter" is
not known for one. What is read behind a label is of limited length, so that the work grows with the text and no faster.

Mail addresses and phone numbers are patterns like those of `privacy.patterns`, and count as secrets where `privacy.personal`
is on. A number is a phone number by its form alone: with its country or area, or as a Chinese mobile. Pure.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from .lazy_re import lazy_re, lines_of, words_of


class Found(NamedTuple):
    """
    A secret at *start* to *end*; *label* has the words that ask for it, and *since* is where it begins with these.

    *is_code*: it is a number that is one by what stands beside it alone.
    """

    since: int
    start: int
    end: int
    label: str = ""
    is_code: bool = False


_DATA: Final = Path(__file__).parent / "data"
#: Words that a sentence about a secret has.
SECRET_STEMS: Final = tuple(words_of(_DATA / "secret_stems.txt"))
#: What separates a label from its value; what it is for may come first: "(wifi)", "of the bike lock".
_SEPARATOR: Final = lazy_re(
    r"""
    [\\"'`*_\])]{0,3} (?:\s?[(（][^()（）\n]{1,40}[)）])?
    (?:\s(?:for|of|on|in|at|to)(?:\s[^\W\d_]{1,20}(?:['’][a-z]{1,2})?){1,5}? (?=\s?[:=：]|\s(?:is|was)\s|\s(?=[#*]?\d)))?
    (?: \s{0,9}(?P<sign>:=|={1,3}>?|[-=~—]{1,2}>|[:：→]|\|(?=[ ][^|\n]{1,80}\|))
      | (?P<is> (?:\?\s{1,2}it)?(?:['’]s|\s(?:is|was|ist|est|es))\b (?:\s(?:now|still|set\sto|changed\sto)\b)?
        | (?P<is_zh>\s?[^\s，。；！？]{0,6}?(?:是|为|為|叫|は)
          | [^，。；！？\n]{0,12}?(?:改|设|設|换|換|重置|设置)(?:成|为|為)了?)
        | \s(?:(?:was|is|has\sbeen)\s)?(?:(?:changed|set|reset)\s)?to\b)
      | \s(?:-\s)? | (?<=[码碼号號证證]) )
    \s{0,9}[:=：]?[*_`]{0,3}\s{0,9}(?:[-*•]\s)?
    """,
    re.VERBOSE,
)
_VALUE: Final = lazy_re(
    r"""\\?"(?P<a>[^"\n]{1,200})\\?" | '(?P<b>[^'\n]{1,200})' | “(?P<c>[^”\n]{1,200})” | ‘(?P<d>[^’\n]{1,200})’
      | 「(?P<e>[^」\n]{1,200})」 | 『(?P<f>[^』\n]{1,200})』 | `(?P<g>[^`\n]{1,200})`
      | ["']?(?:[!-~]{1,500}|[^\s，。；、！？）】」』]{1,500})""",
    re.VERBOSE,
)
_CODE: Final = lazy_re(
    r"[\"'“「`*]{0,2}(?:[#*]?\d(?:[ -]?\d){2,11}[#*]?(?:-[a-zA-Z0-9]{2,20}){0,3}"
    r"|(?=[a-zA-Z-]{0,20}\d)(?=[a-zA-Z0-9-]{4})[a-zA-Z0-9]{1,20}(?:[-_][a-zA-Z0-9]{2,20}){0,5})"
    r"[\"'”」`]?(?![a-zA-Z0-9%])(?![.,/:]\d)"
)
#: What a number counts, behind it: "120 seconds", 六 "位".
_UNIT: Final = lazy_re(r"\s?(?:[秒分位元个個次天年字条]|(?:seconds|minutes|digits|characters|words|messages)\b)")
_NUMBER: Final = lazy_re(r"(?:\d{3}[ -]?\d\d[ -]?\d{4}|\d(?:[ \xa0.-]?\n?\d){11,18}[xX]?|\d{6} ?\d{8} ?\d{3}[\dxX])(?![\w-])")
_SEED: Final = lazy_re(r"(?:\s{0,3}(?:\d{1,2}[.)]\s?)?(?:[a-z]{3,8}(?![a-z])|[\u4e00-\u9fff]{1,3}(?![\u4e00-\u9fff])),?){6,24}")
_QUOTES: Final = "\"'“”‘’「」『』`\\"
_ENDS: Final = ".,;:!?…)]}>*_`'\"。，；！？"
#: Where a value of letters alone ends with its clause, so that it is no first word of a sentence.
_CLAUSE_ENDS: Final = lazy_re(r"[^\S\n]*(?:\Z|[\n|,;.，。；（()&<]|[-–—/] )")
#: What stands in the place of a secret: variables, calls, blanks to fill in, marks of what was hidden.
_PLACEHOLDER: Final = lazy_re(
    r"""\$|%|<|\{|\[|[*•x.…_-]{3,}\Z|\w[\w.]{0,40}[(\[]|(?:none|null|nil|true|false|todo|string|str)\b|(?:your|my|the)[-_ ]|~|\.?/|[a-z]{2,8}://|…""",
    re.VERBOSE | re.IGNORECASE,
)
_HAN: Final = lazy_re(r"[\u3040-\u30ff\u4e00-\u9fff]")
#: A number with the signs that a lock has: 4471#, 14-32-07.
_TURNS: Final = lazy_re(r"[#*]?\d{1,12}(?:[-*#]\d{1,6})*[#*]?")
#: What opens by a number; such a number, which is no year, no price and no count; how far apart the two are.
_TAKEN: Final = lazy_re(
    r"(?<![A-Za-z0-9_.,:/$€£¥#+-])(?!(?:19|20)\d\d(?!\d))(?:\*?\d{3,8}[#*]?|\d{1,2}(?:-\d{1,2}){2,3})"
    rf"(?![A-Za-z0-9_%#]|[.,:/-]\d|\s?(?:[年月日号楼层元块米栋点岁]|(?:euros?|eur|dollars?|usd|pounds?|ms|kg|g|mm|cm|km)\b)|{_UNIT.pattern})"
)
_APART_CHARS: Final = 40
_CLAUSE: Final = lazy_re(r"[,;，；、]")
_STOP: Final = lazy_re(r"[\n。！？!?]|\.(?=\s)")
#: The least characters of a key behind "API key", behind "key:" and behind "key", and of a password.
_SHORT_KEY: Final = 6
_MEDIUM_KEY: Final = 8
_LONG_KEY: Final = 20
_LEAST: Final = 3


def labelled(text: str) -> Iterator[Found]:
    """
    Yield the secrets behind a label for one.

    >>> [text[one.start : one.end] for text in ("So the secret is out.", "the pin is 8841") for one in labelled(text)]
    ['8841']
    """
    end = 0
    for label in _labels(text):
        if label.start() >= end and (match := _behind(text, label)):
            yield match
            end = match.end


def at_things(text: str) -> Iterator[Found]:
    """
    Yield the numbers that open something which is named beside them.

    >>> [text[one.start : one.end] for text in ("3096 opens the safe in 1998", "门锁换了，按 5839") for one in at_things(text)]
    ['3096', '5839']
    """
    lower = text.replace("İ", "I").lower()
    for value in _TAKEN.finditer(text):
        before = _STOP.split(lower[max(0, value.start() - _APART_CHARS) : value.start()])[-1]
        after = _STOP.split(lower[value.end() : value.end() + _APART_CHARS])[0]
        clauses = [*reversed(_CLAUSE.split(before)), after]
        if things := next(filter(None, map(_things().findall, clauses)), None):
            yield Found(value.start(), *value.span(), " ".join(dict.fromkeys(things)), is_code=True)


@cache
def _things() -> re.Pattern[str]:
    return re.compile("|".join(lines_of(_DATA / "secret_things.txt")))


def has_label(text: str) -> bool:
    """True if the text has a label for a secret; behind "key" and "card", which alone are none, there has to be one."""
    return any(label.lastgroup not in {"bare", "number"} or _behind(text, label) for label in _labels(text))


def _labels(text: str) -> Iterator[re.Match[str]]:
    """Yield the labels, in order, that are no part of another word: compass, spin, tokenizer."""
    lower = text.replace("İ", "I").lower()  # of the same length: no other letter has a longer small form
    for label in _label().finditer(lower):
        before = lower[label.start() - 1 : label.start()]
        is_part = label[0][0].isascii() and before.isascii() and before.isalpha()
        if not is_part or len(label[0]) > len("password") - 1:
            yield label


@cache
def _label() -> re.Pattern[str]:
    """Return the pattern of the words for a secret, of which the name of the group says how the value has to look."""
    rows = (line.split("\t") for line in lines_of(_DATA / "secret_labels.tsv"))
    kinds = groupby(rows, lambda row: row[0])
    return re.compile("|".join(f"(?P<{kind}>{'|'.join(words for _, words in row)})" for kind, row in kinds))


def _behind(text: str, label: re.Match[str]) -> Found | None:
    separator = _SEPARATOR.match(text, label.end())
    if separator is None:
        return None
    end = _end_of_value(text, label, separator)
    start = label.end() + len(separator[0].rstrip("*_`"))  # a sign before a value is of it: *9021#
    return Found(label.start(), start, end, text[slice(*label.span())]) if end else None


def _end_of_value(text: str, label: re.Match[str], separator: re.Match[str]) -> int:
    """Return where the value ends; 0 if what is there does not look like one."""
    kind, at = label.lastgroup, separator.end()
    forms = {"code": _CODE, "seed": _SEED, "number": _NUMBER}
    match = forms.get(kind or "", _VALUE).match(text, at)
    if match is None or (text[match.end() - 1].isdigit() and _UNIT.match(text, match.end())):
        return 0
    word = match[0].strip(_QUOTES).rstrip(_ENDS)
    if kind in forms:
        return match.end()
    if not word or _PLACEHOLDER.match(match[0].lstrip(_QUOTES)):
        return 0
    if kind == "password":  # behind "=" also in a shell, a file of settings or an address
        is_secret = separator[0] == "=" or _is_password(text, word, match, separator)
    elif separator[0] == "=" and text[slice(*label.span())].isupper():
        is_secret = not word.isdigit()
    else:
        is_secret = _is_key(word, _SHORT_KEY if kind == "key" else _MEDIUM_KEY if separator["sign"] else _LONG_KEY)
    return match.end() if is_secret else 0


def _is_password(text: str, word: str, value: re.Match[str], separator: re.Match[str]) -> bool:
    if value.lastgroup and (separator["sign"] or separator["is"]):  # in quotes
        return True
    if len(word) < _LEAST or _HAN.search(word):
        return False
    if word.isdigit() or (any(map(str.isdigit, word)) and (any(map(str.isalpha, word)) or _TURNS.fullmatch(word))):
        return True
    if separator["sign"]:
        return word.isalpha() and _CLAUSE_ENDS.match(text, value.end()) is not None
    is_joined = not word.replace("'", "").replace("’", "").isalpha()
    return bool(separator["is_zh"]) or (separator["is"] is not None and is_joined)


def _is_key(word: str, least: int) -> bool:
    return word.isascii() and len(word) >= least and any(map(str.isdigit, word)) and any(map(str.isalpha, word))


#: What a number or a name is not in the middle of.
_BEGIN, _END = r"(?<![A-Za-z0-9_.-])(?<![+])", r"(?![A-Za-z0-9_-])"
#: How the name in an address begins: with no Chinese character, which may stand before it without a blank.
_FIRST: Final = r"[^\W\u2e80-\uffff]"
#: A mail address, but that of a repository.
MAIL: Final = (
    rf"(?<!{_FIRST})(?<![.+-])(?!git@)(?:{_FIRST}|[.+-])[\w.+-]{{0,63}}@(?:[\w-]{{1,63}}\.){{1,8}}[^\W\d_]{{2,24}}(?![\w@])"
)
#: What is before a long number that is no mobile in China.
_OTHERS: Final = ("单号", "编号", "流水号", "id", "ID", "no.", "#")
_NO_PHONE: Final = "".join(f"(?<!{word}{sign})" for word in _OTHERS for sign in ("", " ", "：", ":"))


def personal() -> tuple[str, ...]:
    """Return the patterns of mail addresses and of phone numbers."""
    mobile, *others = lines_of(_DATA / "phone_forms.txt")
    return MAIL, f"{_BEGIN}(?:{'|'.join([_NO_PHONE + mobile, *others])}){_END}"
