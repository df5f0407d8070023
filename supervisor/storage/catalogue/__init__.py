"""
What recalld writes for people, by code and fields: every sentence, clause, label and help text, in English and in Chinese.

A code is "subject.name". The module of that subject in `english/` and in `chinese/` has its text; a module is imported when a
text of it is needed, so that an English command loads no Chinese.
"""

from __future__ import annotations

import contextlib
import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...text.language import Language

_FOLDERS: Final = {"en": "english", "zh": "chinese"}
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

    >>> why = Text("argument.not_allowed", value="'all'", allowed=Text("argument.or_more", least=1))
    >>> print(why, why.in_language("zh"), sep="; ")
    'all' is not allowed, give 1 or more; 不能是 'all'，请给 1 或更大的数
    """

    __slots__ = ("code", "fields")
    code: str
    fields: Mapping[str, Any]

    def __new__(cls, code: str, /, **fields: Any) -> Self:
        """Return the text of *code*; KeyError if a catalogue does not have it, or a field is missing."""
        made = super().__new__(cls, _filled(code, fields, "en"))
        made.code, made.fields = code, fields
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], Mapping[str, Any]]:
        return (self.code,), self.fields

    def in_language(self, language: Language) -> str:
        """Return the text in *language*."""
        return str(self) if language == "en" else _filled(self.code, self.fields, language)


def render(value: object, language: Language) -> str:
    """Return a Text, an error, or a sequence of texts with commas, in *language*; anything else as `str` has it."""
    if isinstance(value, (list, tuple)):
        return _COMMAS[language].join(render(one, language) for one in value)
    in_language = getattr(value, "in_language", None)
    return in_language(language) if in_language else str(value)


def stored(value: object) -> dict[str, Any] | None:
    """Return what a file keeps next to the English of a text, so that `restored` makes it again; None for another string."""
    if not isinstance(value, Text):
        return None
    fields = {
        name: stored(one) or one if isinstance(one, (str, int, float)) else str(one) for name, one in value.fields.items()
    }
    return {"code": value.code, "fields": fields}


def restored(english: str, kept: object) -> str:
    """Return the text that was *kept* for the *english* string; that string itself if they are no longer the same."""
    with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError, ImportError):
        found = _restored(kept)
        return found if found == english else english
    return english


def _restored(kept: Any) -> Text:
    fields = {name: _restored(one) if isinstance(one, dict) else one for name, one in kept["fields"].items()}
    return Text(kept["code"], **fields)


def find(code: str) -> Text | None:
    """Return the text of *code*, which has no fields; None if there is none."""
    try:
        return Text(code)
    except KeyError:
        return None


def template(code: str, language: Language) -> str:
    """Return the text of *code* with its fields in braces; KeyError if there is none."""
    subject, _, name = code.partition(".")
    return _table(_FOLDERS[language], subject)[name]


def _filled(code: str, fields: Mapping[str, Any], language: Language) -> str:
    """Return the text with its fields; between two Chinese characters at the ends of a text in it there is no blank."""
    found = template(code, language)
    texts = {name: render(one, language).rstrip(".。") for name, one in fields.items() if isinstance(one, (Text, list, tuple))}
    if not texts or language == "en":
        return found.format_map({**fields, **texts})
    marked = found.format_map({**fields, **{name: f"{_END}{text}{_END}" for name, text in texts.items()}})
    return re.sub(_BLANK, "", marked).replace(_END, "")


@cache
def _table(folder: str, subject: str) -> Mapping[str, str]:
    found: Mapping[str, str] = import_module(f"{__name__}.{folder}.{subject}").TEXTS
    return found
