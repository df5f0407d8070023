"""The language of the caller: that of the setting, else of the locale, else of the memory."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from recalld.supervisor.protocol.paths import day_of_name
from recalld.supervisor.storage.errors import SupervisorError
from recalld.supervisor.text.language import language_of_most

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from recalld.supervisor.text.language import Language
    from recalld.supervisor.workspace import Workspace

#: Locales that name no language.
_NO_LANGUAGE: Final = frozenset({"", "C", "POSIX"})


def spoken_language(setting: str, environ: Mapping[str, str], memory: Iterable[str]) -> Language:
    """
    Return the language of the output: the *setting* `language`; with "auto" that of the locale, else that of the memory.

    *memory* yields texts of the memory, newest first; it is read only if the locale names no language.

    >>> spoken_language("auto", {"LANG": "de_DE.UTF-8"}, ["我对花生过敏"]), spoken_language("auto", {}, ["我对花生过敏"])
    ('en', 'zh')
    """
    if setting in ("zh", "en"):
        return "zh" if setting == "zh" else "en"
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    if locale.partition(".")[0] not in _NO_LANGUAGE:
        return "zh" if locale.startswith("zh") else "en"
    return language_of_most(memory)


def newest_words(ws: Workspace) -> Iterator[str]:
    """Yield what shows the language of the memory, newest first: the end of history.json; else the dated files."""
    if words := ws.history.last_words():
        yield from reversed(words)
        return
    for folder in (ws.paths.memory, *reversed(ws.memory.month_folders())):
        for name in sorted(filter(day_of_name, ws.files.disk.names(folder)), reverse=True):
            yield "\n".join(ws.memory.message_texts(name))


def setting_at(root: Path, environ: Mapping[str, str]) -> str:
    """Return what `language` is set to in the workspace at *root*, which is not open, and in which anything may be wrong."""
    from recalld.supervisor.protocol.config import language_key
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.storage.disk import RealDisk
    from recalld.supervisor.storage.files import Files

    toml = None
    with suppress(OSError, ValueError, RuntimeError, SupervisorError):
        version = Files(RealDisk()).read_stable(WorkspacePaths(root.expanduser().absolute()).config)
        toml = version.data if version else None
    return language_key(toml, environ)


def words_at(root: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield what shows the language of that workspace, for help and for a wrong argument."""
    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.storage.clock import utc_now
    from recalld.supervisor.workspace import open_workspace

    with suppress(OSError, ValueError, RuntimeError, SupervisorError):
        yield from newest_words(open_workspace(root.expanduser().absolute(), environ, utc_now, config=Config()))
