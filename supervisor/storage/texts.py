"""
What recalld writes for people: each text stands in English where it is made, and is shown in the language of its reader.

The Chinese is in `locale/zh_CN/LC_MESSAGES/recalld.po`, by the English (docs/decisions/0128). It is read
when the first text is shown in Chinese; an English command reads none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from ..text.language import Language

_CHINESE: Final = Path(__file__).parent.parent / "locale/zh_CN/LC_MESSAGES/recalld.po"
_STRING: Final = r'((?:".*"\n)+)'
#: An entry of a .po file.
_ENTRY: Final = rf"^(?:msgctxt {_STRING})?msgid {_STRING}msgstr {_STRING}"
#: Between the context and the text of a msgid, as gettext has it.
_IN: Final = "\x04"
_COMMAS: Final = {"en": ", ", "zh": "、"}
#: Marks the ends of a text in a text; no character of Unicode.
_END: Final = "\ufdd0"
_HAN: Final = "[\u3000-\u9fff\uff00-\uffef]"
#: A blank between two Chinese characters, one of which is at the end of a text in the text.
_BLANK: Final = f"(?<={_HAN}) (?={_END}{_HAN})|(?<={_HAN}{_END}) (?={_END}?{_HAN})"


class Text(str):
    """
    A sentence, clause or label: a string of its English, which `in_language` renders in another language.

    A field is a value, a Text, or a sequence of them, which is rendered with commas; a Text in a Text is a clause, and has no
    full stop at its end. Logs and JSON take the string as it is.

    >>> why = Text("{value} is not allowed, give {allowed}", value="'all'", allowed=Text("{least} or more", least=1))
    >>> print(why, why.in_language("zh"), sep="; ")
    'all' is not allowed, give 1 or more; 不能是 'all'，应为不小于 1 的数字
    """

    __slots__ = ("fields", "msgid")
    msgid: str
    fields: Mapping[str, Any]

    def __new__(cls, msgid: str, /, **fields: Any) -> Self:
        """Return the text *msgid* with its fields; KeyError if one is missing."""
        text = super().__new__(cls, _filled(template(msgid, "en"), fields, "en"))
        text.msgid, text.fields = msgid, fields
        return text

    def __getnewargs_ex__(self) -> tuple[tuple[str], Mapping[str, Any]]:
        return (self.msgid,), self.fields

    def in_language(self, language: Language) -> str:
        """Return the text in *language*."""
        return str(self) if language == "en" else _filled(template(self.msgid, language), self.fields, language)


def msgid(text: str, context: str = "") -> str:
    """
    Return what gettext knows the *text* by: it marks one that is made a Text elsewhere.

    The *context* tells apart what is one sentence in English and two in another language.
    """
    return f"{context}{_IN}{text}" if context else text


def template(msgid: str, language: Language) -> str:
    """Return the text *msgid* in *language*, with its fields in braces; in English where it has no translation."""
    return (_translations().get(msgid) if language == "zh" else None) or msgid.rpartition(_IN)[2]


def render(value: object, language: Language) -> str:
    """Return a Text, an error, or a sequence of texts with commas, in *language*; anything else as `str` has it."""
    if isinstance(value, (list, tuple)):
        return _COMMAS[language].join(render(item, language) for item in value)
    in_language = getattr(value, "in_language", None)
    return in_language(language) if in_language else str(value)


def stored(value: object) -> dict[str, Any] | None:
    """Return what a file keeps next to the English of a text, so that `restored` makes it again; None for another string."""
    if not isinstance(value, Text):
        return None
    return {"text": value.msgid, "fields": {name: _stored_field(field) for name, field in value.fields.items()}}


def _stored_field(field: object) -> Any:
    if isinstance(field, Text):
        return {"english": str(field), **(stored(field) or {})}
    if isinstance(field, (list, tuple)):
        return [_stored_field(item) for item in field]
    return field if isinstance(field, (str, int, float)) else str(field)


def restored(english: str, kept: object) -> str:
    """Return the text that was *kept* for the *english* string; that string where what was kept does not make it any more."""
    try:
        fields = {name: _restored_field(field) for name, field in kept["fields"].items()}  # type: ignore[index]
        text = Text(kept["text"], **fields)  # type: ignore[index]
    except (LookupError, TypeError, ValueError, AttributeError):
        return english
    return text if text == english else english


def _restored_field(field: Any) -> Any:
    if isinstance(field, dict):
        return restored(str(field.get("english", "")), field)
    return [_restored_field(item) for item in field] if isinstance(field, list) else field


def _filled(template: str, fields: Mapping[str, Any], language: Language) -> str:
    """Return the text with its fields; between two Chinese characters at the ends of a text in it there is no blank."""
    is_text = (Text, list, tuple)
    texts = {name: render(field, language).rstrip(".。") for name, field in fields.items() if isinstance(field, is_text)}
    if not texts or language == "en":
        return template.format_map({**fields, **texts})
    marked = template.format_map({**fields, **{name: f"{_END}{text}{_END}" for name, text in texts.items()}})
    return re.sub(_BLANK, "", marked).replace(_END, "")


@cache
def _translations() -> Mapping[str, str]:
    entries = re.findall(_ENTRY, _CHINESE.read_text(encoding="utf-8"), re.MULTILINE)
    return {msgid(_unquoted(text), _unquoted(context)): _unquoted(chinese) for context, text, chinese in entries}


def _unquoted(lines: str) -> str:
    r"""
    Return a string of a .po file, which may be on several lines; it is escaped as in JSON.

    >>> _unquoted('"one "\n"line"\n')
    'one line'
    """
    joined = lines[1:-2].replace('"\n"', "")
    return str(json.loads(f'"{joined}"')) if "\\" in joined else joined
