"""
How an interface speaks to its caller: in which language, and what it says of a search.

The language is that of the setting, else of the locale, else English. The sentences about a search say why it has no hits, and
why it did not cover all of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..storage.texts import Text

if TYPE_CHECKING:
    from ..index.hit import Hit, SearchResult
    from ..longterm.lines import Line
    from ..text.language import Language


def spoken_language(setting: str, environ: Mapping[str, str]) -> Language:
    """
    Return the language of the output: the *setting* `language`; with "auto" that of the locale, English if it names none.

    >>> spoken_language("auto", {"LANG": "zh_CN.UTF-8"}), spoken_language("auto", {"LANG": "C.UTF-8"})
    ('zh', 'en')
    """
    if setting in ("zh", "en"):
        return "zh" if setting == "zh" else "en"
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    return "zh" if locale.startswith("zh") else "en"


def setting_at(root: Path, environ: Mapping[str, str]) -> str:
    """Return what `language` is set to in the workspace at *root*, which is not open; "auto" where its file can't be read."""
    from ..storage.disk import read_outside

    tables: dict[str, object] = {}
    with suppress(OSError, ValueError, RuntimeError):
        toml = read_outside(root.expanduser().absolute() / "recalld.toml").decode("utf-8-sig")
        import tomllib  # only now: who wants a page of help does not wait for it

        tables = tomllib.loads(toml)
    return environ.get("RECALLD_LANGUAGE") or str(tables.get("language", "auto"))


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
