"""
How an interface speaks to its caller: in which language, and what it says of a search.

The language is that of the setting, else of the locale, else English. The sentences about a search say why it has no hits, and
why it did not cover all of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..storage.texts import Text

if TYPE_CHECKING:
    from ..index.hit import Hit, SearchResult
    from ..longterm.lines import Line
    from ..text.language import Language
    from ..workspace import Workspace

#: Locales that name no language.
_NO_LANGUAGE: Final = frozenset({"", "C", "POSIX"})
#: What is written into the recalld.toml of a Chinese memory, before what is there.
_CHINESE: Final = '# recalld 写入一次：它说哪种语言，不再看记忆的内容\nlanguage = "zh"\n\n'


def spoken_language(setting: str, environ: Mapping[str, str]) -> Language:
    """
    Return the language of the output: the *setting* `language`; with "auto" that of the locale, English if it names none.

    >>> spoken_language("auto", {"LANG": "zh_CN.UTF-8"}), spoken_language("auto", {"LANG": "C.UTF-8"})
    ('zh', 'en')
    """
    if setting in ("zh", "en"):
        return "zh" if setting == "zh" else "en"
    return "zh" if _locale(environ).startswith("zh") else "en"


def _locale(environ: Mapping[str, str]) -> str:
    return environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""


def setting_at(root: Path, environ: Mapping[str, str]) -> str:
    """Return what `language` is set to in the workspace at *root*, which is not open; "auto" where its file can't be read."""
    from ..storage.disk import read_outside

    tables: dict[str, object] = {}
    with suppress(OSError, ValueError, RuntimeError):
        toml = read_outside(root.expanduser().absolute() / "recalld.toml").decode("utf-8-sig")
        import tomllib  # only now: who wants a page of help does not wait for it

        tables = tomllib.loads(toml)
    return environ.get("RECALLD_LANGUAGE") or str(tables.get("language", "auto"))


def keep_language(ws: Workspace, environ: Mapping[str, str]) -> bool:
    """
    Write `language = "zh"` into the recalld.toml of a Chinese memory, once; return whether it was written.

    Up to 0.26 the output had the language of the memory where no locale named one. A supervisor that ran then, such as a
    service without LANG, goes on in Chinese. A workspace that no supervisor ran in before is left alone, as is one that has
    the key, or a locale.
    """
    import codecs
    import tomllib

    from ..text.language import language_of_most

    paths, disk = ws.paths, ws.files.disk
    was_run = disk.stat(paths.supervisor_lock) is not None
    if disk.stat(paths.language_kept) or (was_run and _locale(environ).partition(".")[0] not in _NO_LANGUAGE):
        return False
    version = ws.files.read_stable(paths.config)
    is_set = ws.config.language != "auto" or (version and "language" in tomllib.loads(version.data.decode("utf-8-sig")))
    is_ours = bool(version and was_run and not is_set and language_of_most(_newest_words(ws)) == "zh")
    if is_ours and version:
        mark = codecs.BOM_UTF8 if version.data.startswith(codecs.BOM_UTF8) else b""
        ws.files.replace(paths.config, mark + _CHINESE.encode() + version.data.removeprefix(mark), version)
    with suppress(FileExistsError):
        ws.files.create(paths.language_kept, b"")
    return is_ours


def _newest_words(ws: Workspace) -> Iterator[str]:
    """Yield what shows the language of the memory, newest first: the end of history.json; else the dated files."""
    from ..protocol.message import Message
    from ..protocol.paths import day_of_name

    words = [entry.text for entry in ws.history.read() if isinstance(entry, Message)]
    yield from reversed(words)
    for folder in () if words else (ws.paths.memory, *reversed(ws.memory.month_folders())):
        for name in sorted(filter(day_of_name, ws.files.disk.names(folder)), reverse=True):
            yield "\n".join(ws.memory.message_texts(name))


# ── a search ─────────────────────────────────────────────────────────────────

NOT_ASKED: Final = Text("nothing was asked; give the words to search for.")
SMALL_TALK: Final = Text("this is only small talk, there is nothing to search for.")
THE_QUESTION: Final = Text("nothing else in memory matches: the message that has these words is the question itself.")


def refs_of(hits: Sequence[Hit], lines: Callable[[], Iterable[Line]]) -> list[str]:
    """
    Return for each hit the name by which it is deleted, "42@1f3a9c0d"; "" if it is not exactly one long-term line.

    *lines* returns the lines of the long-term file; it is called only if a hit is from that file.
    """
    is_line = [hit.unit.tier == "long_term" and hit.unit.start == hit.unit.end for hit in hits]
    refs = {line.number: line.ref for line in lines()} if any(is_line) else {}
    return [refs.get(hit.unit.start, "") if is_of_line else "" for hit, is_of_line in zip(hits, is_line, strict=True)]


def why_not_whole(result: SearchResult) -> str:
    """Return why not all of memory was searched, as a sentence; "" if it was, or if nothing was asked."""
    is_asked = result.terms or result.dates or result.how == "failed"
    return Text("not all of memory could be searched: {why}.", why=result.unsearched) if result.unsearched and is_asked else ""


def beside_hits(result: SearchResult) -> str:
    """Return what the hits alone don't say, as a sentence: that memory was not searched whole, or has no word of this."""
    if not_whole := why_not_whole(result):
        return not_whole
    has_words = any(why.startswith("words: ") for hit in result.hits for why in hit.because)
    is_by_meaning = result.how == "hybrid" and not (has_words or result.dates)
    return Text("no memory has a word of this; these are only near to it by meaning.") if is_by_meaning else ""


def why_no_hits(result: SearchResult) -> str:
    """Return why nothing was found, as a sentence."""
    if not_whole := why_not_whole(result):
        return not_whole
    if result.skipped:
        return THE_QUESTION
    if result.nowhere and result.subject and result.files and not result.unfiled:
        return Text("nothing in memory about {subject}.", subject=result.subject)
    match result.unfiled:
        case 0:
            return Text("nothing in memory matches.") if result.files else Text("nothing in memory matches: it is empty.")
        case 1:
            return Text("nothing in memory matches; 1 message not filed yet is among what was searched.")
        case count:
            return Text("nothing in memory matches; {count} messages not filed yet are among what was searched.", count=count)
