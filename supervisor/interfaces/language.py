"""The language of the caller: that of the setting, else of the locale, else of the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from recalld.supervisor.text.language import language_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recalld.supervisor.text.language import Language

#: Locales that name no language.
_NO_LANGUAGE: Final = frozenset({"", "C", "POSIX"})


def spoken_language(setting: str, environ: Mapping[str, str], memory: Iterable[str]) -> Language:
    """
    Return the language of the output: the *setting* `language`; with "auto" that of the locale, else that of the memory.

    *memory* yields texts of the memory, newest first; only the first is read, and only if the locale names no language.

    >>> spoken_language("auto", {"LANG": "de_DE.UTF-8"}, ["我对花生过敏"]), spoken_language("auto", {}, ["我对花生过敏"])
    ('en', 'zh')
    """
    if setting in ("zh", "en"):
        return "zh" if setting == "zh" else "en"
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    if locale.partition(".")[0] not in _NO_LANGUAGE:
        return "zh" if locale.startswith("zh") else "en"
    return language_of(next(iter(memory), ""))
