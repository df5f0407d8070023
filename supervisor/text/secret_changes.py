"""
Secrets told apart from their word: "I changed the wifi password, it is now …", "… as the password", 密码换了，现在是 ….

After a clause or a sentence in which a password was changed or is new, "it is now" is followed by a secret only if that looks
like one: it has letters and digits, is a number without a unit, stands in quotes, or is a word that nobody uses. The same goes
for what stands before "as the password". Each search looks at a limited number of characters around its word. Pure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.secret_labels import (
    LABEL,
    LABEL_CHARS,
    PROSE,
    STEMS,
    Found,
    around,
    end_of_code,
    inside_a_word,
    is_mixed,
)
from recalld.supervisor.text.secret_openings import is_rare

if TYPE_CHECKING:
    from collections.abc import Iterator

_VALUE: Final = (
    r"(?P<open>[\"'“‘「`]?)(?P<value>(?![\"'“‘「`])[^\s，。；、！？（）\"”」`\u4e00-\u9fff]{3,60}?)(?P<close>[\"'”’」`]?)"
)
_ENDS: Final = r"(?=[.,;:!?)]{0,3}(?:\s|\Z)|\s?[，。；、！？（）\u4e00-\u9fff])"
_IS_ZH: Final = r"(?:都|就|也)?(?:是|为|叫|用|输|[改换变设][成为]了?|[:：])"
#: Between the word and the secret: ", it is now", " last night; the new one is", ，现在是.
_LATER: Final = lazy_re(
    rf"""
    (?: (?:\s[a-z'’]{{1,16}}){{0,8}}?
        (?:\s?(?:[,;:—–]|!{{1,3}}|\.(?=\s)|\s-(?=\s))\s?(?:(?:and|so|but)\s)?|\s(?:and|so)\s)
        (?:(?:now|today|from\snow\son|since\sthen)\s?,?\s?)?
        (?:(?:it|that|this|the\snew\sone|the\snew\scode|which|new\sone)(?:['’]?s|\s(?:is|was|will\sbe|should\sbe))
          |(?:(?:the\s)?new\sone|now)\s?[:=])
        (?:\s(?:now|just|from\snow\son|set\sto|changed\sto))?\s?[:=]?\s{{1,2}}
      | [^，。；！？\n0-9]{{0,14}}?\s?[，,；;。]\s?
        (?:(?:现在|如今|目前|以后|今后|今天起|新密码|新的|它)(?:{_IS_ZH})?|{_IS_ZH}|(?P<bare>))\s?
    ) {_VALUE} {_ENDS} (?(bare)(?=\s?(?:\Z|[\n.,;!?，。；、！？）])))
    """,
    re.VERBOSE,
)
#: What says that a password is another one now, before its word or behind it.
_CHANGED: Final = lazy_re(
    r"\b(?:chang(?:e[ds]?|ing)|reset|updated|rotated|replaced|switched|new)\b|[换改新变]|重[置设]|重新设|更新"
)
#: What is before the word: "… as the new wifi ", … 当.
_AS: Final = lazy_re(
    rf"(?:\A|(?<=[\s，。；：:「“\"'(（\u4e00-\u9fff])){_VALUE}\s?"
    r"(?:(?:\sin)?\sas\s(?:(?:the|my|our|your|his|her|its|their|a)\s)?(?:new\s|current\s)?(?:[a-z]{1,12}\s)?"
    r"|(?:来?[当做作]|当[作成做]|作为|设[成为])了?(?:新的?)?[\u4e00-\u9fff]{0,6})\Z"
)
#: What a word for a secret is only a part of.
_COMPOUND: Final = lazy_re(
    r"[- ]?(?:manager|hash|hint|reset|rule|polic|field|length|generator|prompt|type|app|store|vault|file|database|format)"
    r"|的?(?:管理|生成|[规法]则|策略|提示|长度|哈希|加密|算法|强度|工具|本|库|器|学|验证|箱|文件|格式)"
)
#: What goes on after a number that counts nothing.
_GOES_ON: Final = lazy_re(
    r"\s?(?:[.,;:!?)，。；、！？）\"'”’」`]|\Z|\n|[了呢啊哦吧啦]|(?:now|since|again|instead|from|for|and|until|as|so|but|btw|please|in\scase)\b)"
)
#: An ordinal, an amount, a time: 12th, 30min, 39eur, v2, 2.0b.
_MEASURE: Final = lazy_re(r"[#$€£¥]?\d{1,4}(?:[.,:]\d{1,3})?[a-z%€]{1,5}|v?\d+(?:\.\d+)+\w*|[a-z]\d{1,2}")
_TURNS: Final = lazy_re(r"\d{1,3}(?:-\d{1,3}){2,4}")
_NUMBER: Final = lazy_re(r"[#*]?\d{3,12}[#*]?")
_BACK: Final = 80


def changed(text: str, lower: str) -> Iterator[Found]:
    """
    Yield the secrets that are told apart from their word; *lower* is *text* in small letters, of the same length.

    >>> [text[one.start : one.end] for text in ("I changed the PIN, now it's 5519.",) for one in changed(text, text.lower())]
    ['5519']
    """
    for start, end in around(lower, STEMS, LABEL_CHARS):
        for label in LABEL.finditer(lower, start, end):
            kind = label.lastgroup or ""
            if kind in {"key", "seed"} or inside_a_word(lower, label, kind):
                continue
            back = max(0, label.start() - _BACK)
            later = _LATER.match(lower, label.end())
            is_part = _COMPOUND.match(lower, label.end()) is not None
            if later and not _CHANGED.search(lower, back, later.start("value")):
                later = None
            given = later or _AS.search(lower, back, label.start())
            if given and not is_part and _is_secret(text, lower, given, is_before=later is None):
                about = lower[back : max(label.end(), given.start("value"))]
                yield Found(*given.span("value"), text[slice(*label.span())], about)


def _is_secret(text: str, lower: str, given: re.Match[str], *, is_before: bool) -> bool:
    """Return whether what was *given* looks like a secret; *is_before*: it is before its word, where nothing is counted."""
    word, end = text[slice(*given.span("value"))], given.end("value")
    low = word.lower()
    if low in PROSE or _MEASURE.fullmatch(low):
        return False
    if _NUMBER.fullmatch(word) or _TURNS.fullmatch(word):
        return is_before or (_GOES_ON.match(lower, end) is not None and end_of_code(lower, end) > 0)
    is_quoted = bool(given["open"] and given["close"])
    return is_quoted or is_mixed(word, 4) or "_" in word.strip("_") or (word.isalpha() and is_rare(word, is_name=True))
