"""
The format of a summary, `memory/summary/2026-01-15.md` or `2025-12.md`: a text, and the names and digests of its sources.

A person may edit the file: their bytes are kept as an exact prefix, and new machine text is added below one marker line, with a
head of its own. The sources are those of all machine parts; the provider is that of the last part. A file without a head of
recalld is treated as an edited summary. Source: docs/reference/protocol.md, 4 and 5.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ..text.lazy_re import lazy_re
from .dated_file import FORMAT, body_digest, read_head, render_head
from .paths import day_of_name

#: The line above new machine text in a file that a person edited; part of the file format.
MARKER: Final = "<!-- recalld: below this line stands newer machine text; what is above was edited and is kept -->"
SOURCES: Final = "<!-- recalld: made from -->"
#: What a head has only where there is something to say, in this order.
_OPTIONAL: Final = ("model", "prompt", "extract", "waits", "enough", "refused", "empty", "joined")
_MARKER_LINE: Final = lazy_re(re.escape(MARKER) + "\r?\n")
_SOURCE: Final = lazy_re(r"- (.+) · ([0-9]{1,9}) · ([0-9a-f]{16})")


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """A dated file that a summary covers: its *name* in the tree, the *digest* of its bytes, its *count* of messages."""

    name: str
    digest: str
    count: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The content of a summary file. *text* is the last machine part; *kept* is the edited part before it, "" if none."""

    period: str
    zone: str
    created: str
    text: str
    sources: tuple[Source, ...]
    provider: str
    model: str = ""
    prompt: str = ""
    extract: bool = False
    waits: bool = False  # an extract that stands until its model has answered; it covers nothing
    enough: bool = False  # an extract of what needs no model
    refused: str = ""  # the model, and the version of its prompts, whose two answers were refused: an extract stands for them
    empty: bool = False
    joined: bool = False  # code joined the text of a month from the summaries of its days
    kept: str = ""
    digest: str = ""  # of the whole file, in what `archive.memory_folder` lists


def can_be_named(source: Source) -> bool:
    """Return whether parsing a summary that names *source* returns the same source."""
    return day_of_name(source.name) is not None and _SOURCE.fullmatch(_line_of(source)) is not None


def render_summary(summary: Summary) -> bytes:
    """Return the file's bytes: kept bytes and marker if a person edited it, the head, the text, and the sources."""
    sources = "".join(f"{_line_of(source)}\n" for source in sorted(summary.sources))
    # a lone surrogate, as a model may quote it, can't be written in UTF-8: a question mark replaces it
    text = summary.text.strip().encode("utf-8", "replace").decode()
    body = f"\n{text}\n\n{SOURCES}\n{sources}"
    head = {
        "recalld": str(FORMAT),
        "kind": "day" if len(summary.period) == len("2026-01-15") else "month",
        "period": summary.period,
        "zone": summary.zone,
        "created": summary.created,
        "count": str(sum(source.count for source in summary.sources)),
        "provider": summary.provider,
    }
    optional = {name: getattr(summary, name) for name in _OPTIONAL}
    head.update({name: "true" if value is True else str(value) for name, value in optional.items() if value})
    head["digest"] = body_digest(render_head(head) + body)
    kept = f"{summary.kept}{MARKER}\n" if summary.kept else ""
    return (kept + render_head(head) + body).encode("utf-8", "surrogateescape")


def parts_of(text: str) -> list[str]:
    """Return the parts of a summary's text, at least one, with the line breaks that they were written with."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").split(f"{MARKER}\n")


def parse_summary(data: bytes, period: str, path: Path) -> Summary:
    """
    Return the content of the file; a file without a head of recalld has no sources and is kept whole.

    NewerFormat when a newer recalld wrote it.
    """
    # surrogateescape: bytes that a person wrote are written back exactly, whatever their encoding
    whole = data.decode("utf-8", "surrogateescape")
    parts = parts_of(whole)
    heads = [read_head(part, path) for part in parts]
    fields, body = heads[-1]
    sources: dict[str, Source] = {}
    for of_part, text in heads:
        # sources of an extract that a person edited do not count once a model has written below it
        if of_part and of_part.get("extract", "") in ("", fields.get("extract", "")):
            sources.update((source.name, source) for source in _sources_of(text))
    markers = list(_MARKER_LINE.finditer(whole))
    edited, last = (whole[: markers[-1].start()], whole[markers[-1].end() :]) if markers else ("", whole)
    # a model may have written CRLF, and an editor may have saved the file with it: neither is an edit
    is_intact = bool(fields) and any(_is_intact(form, fields.get("digest", "")) for form in (last, parts[-1]))
    about: dict[str, Any] = {
        name: fields.get(name, "") for name in ("zone", "created", "provider", "model", "prompt", "refused")
    }
    about |= {name: fields.get(name) == "true" for name in ("extract", "waits", "enough", "empty", "joined")}
    if not is_intact and whole and not whole.endswith("\n"):
        whole = f"{whole}\n"  # the marker is on a line of its own
    return Summary(
        period=period,
        text=_words_of(body),
        sources=tuple(sorted(sources.values())),
        kept=edited if is_intact else whole,
        **about,
    )


def plain_text(data: bytes, path: Path) -> str:
    """Return the text of a summary as people read it: that of all its parts, without heads, marks and the list of sources."""
    bodies = (read_head(part, path)[1] for part in parts_of(data.decode("utf-8", "surrogateescape")))
    return "\n\n".join(filter(None, map(_words_of, bodies)))


def without_sources(body: str) -> str:
    """Return a part with blank lines in the place of its list of sources; what a person wrote below that stays in its line."""
    text, mark, listed = body.partition(f"{SOURCES}\n")
    below = ("" if _SOURCE.fullmatch(line) else line for line in listed.split("\n"))
    return text + ("\n" + "\n".join(below) if mark else "")


def with_text(data: bytes, text: str, path: Path) -> bytes:
    """
    Return the file with another text, as if a person had changed it in an editor: the head stays, and so do the sources.

    The digest in the head is no longer that of the body, by which `parse_summary` knows that a person's words are in it.
    """
    whole = data.decode("utf-8", "surrogateescape")
    part = parts_of(whole)[-1]
    fields, body = read_head(part, path)
    words = text.replace("\r\n", "\n").replace(MARKER, "").replace(SOURCES, "").strip()
    if not fields:
        return f"{words}\n".encode()
    sources = "".join(f"{_line_of(source)}\n" for source in parse_summary(data, fields.get("period", ""), path).sources)
    return f"{part.removesuffix(body)}\n{words}\n\n{SOURCES}\n{sources}".encode("utf-8", "surrogateescape")


def _line_of(source: Source) -> str:
    return f"- {source.name} · {source.count} · {source.digest}"


def _is_intact(part: str, digest: str) -> bool:
    """Return whether the digest in the head of the machine part is that of all the rest: no person has edited it."""
    head, mark, body = part.partition(f"digest: {digest}\n---\n")
    return bool(mark) and body_digest(f"{head}---\n{body}") == digest


def _words_of(body: str) -> str:
    text = body.partition(f"{SOURCES}\n")[0]
    return "\n\n".join(filter(None, (text.strip(), without_sources(body)[len(text) :].strip())))


def sources_in(data: bytes) -> set[Source]:
    """Return every source that the file names, whatever a person has done to its heads."""
    return {source for part in parts_of(data.decode("utf-8", "surrogateescape")) for source in _sources_of(part)}


def _sources_of(body: str) -> Iterable[Source]:
    _, mark, listed = body.rpartition(f"{SOURCES}\n")
    if not mark:
        return ()
    matches = (_SOURCE.fullmatch(line) for line in listed.split("\n"))
    return tuple(Source(match[1], match[3], int(match[2])) for match in matches if match)
