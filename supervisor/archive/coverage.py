"""
Dated files and summaries as they are on the disk: what is read from each, which files a summary covers, and which are copies.

A summary covers the files that it names with the digest that they have now, and no others. This rule keeps every memory
reachable (docs/decisions/0106): a file that no summary names stays in the search, a daily summary stays in the search until
its month names all of its files, and a month that names one late message hides nothing else.

A copy of a file that recalld made (`X (1).md`, `X - 副本.md`) is known by its name, which has the name of another file of ours,
and by this: it has the bytes of that file, or is as recalld wrote it. It is neither searched nor summarised, and never touched.
A file in which a person has written anything is no copy (docs/reference/protocol.md, 1.5).
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Final
from zlib import crc32

from ..protocol.dated_file import head_and_body, head_in, is_as_written, is_broken, number_in, without_torn_end
from ..protocol.inbox import DIRECT, Chat, ChatKind, chat_of
from ..protocol.paths import SLUG, Period
from ..protocol.summary_file import Source, Summary, parse_summary
from ..storage.clock import from_wire
from ..storage.errors import NewerFormat
from ..text.lazy_re import lazy_re

#: The head of a message in a file of ours, with its id where that comes first, as recalld writes it.
_HEAD: Final = lazy_re(rb'^<!-- (\{(?:"id": "((?:[^"\\\n]|\\.)*)")?[^\n]*)', re.MULTILINE)
#: The paths that recalld itself gives to its files, and the part of a name that recalld may have given.
_OURS: Final = lazy_re(
    rf"memory/(?:originals/\d{{4}}-\d\d/)?\d{{4}}-\d\d-\d\d-{SLUG}\.md|memory/summary/\d{{4}}-\d\d(?:-\d\d)?\.md"
)
_NAME: Final = lazy_re(
    rf"\d{{4}}-\d\d-\d\d-{SLUG}?(?<!-)(?=(?:的?副本)?(?:[^a-z0-9\u4e00-\u9fff-]|-[A-Z]))|\d{{4}}-\d\d(?:-\d\d)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFile:
    """A dated file on disk, made by recalld or a person's note with such a name."""

    name: str  # "2026-01-28-deploy.md"; a name is never used twice
    digest: str  # first 16 hex digits of the sha256 of its bytes
    day: date
    count: int  # messages
    size: int  # bytes
    ours: bool  # recalld made it: it has the head of a dated file; a person's own is never written or moved
    original: bool  # it is in originals/
    created: datetime | None  # of the run that made it; None for a person's own
    period: str = ""  # by its head
    ids: array[int] | None = None  # a CRC of the id of each message; None where they are not known (`_heads_of`)
    as_made: bool = False  # recalld wrote it, and nobody has changed it since (`is_as_made`)
    broken: bool = False  # it holds zeros, or has lost its end (`is_broken`)
    sessions: frozenset[str] = frozenset()  # that its messages name; "" where one names none
    groups: frozenset[tuple[str, ChatKind]] = frozenset()  # the sessions whose chat is a group's by one of its messages

    @property
    def source(self) -> Source:
        """How a summary made from it names it."""
        return Source(self.name, self.digest, self.count)

    @property
    def edited(self) -> bool:
        """True if its body is no longer as recalld wrote it."""
        return self.ours and not self.as_made


def covered(files: Iterable[MemoryFile], summaries: Mapping[Period, Summary]) -> frozenset[str]:
    """Return the names of the files that some summary names as they are now; an extract that waits covers none."""
    named = frozenset[Source]().union(*(summary.sources for summary in summaries.values() if not summary.waits))
    return frozenset(file.name for file in files if file.source in named)


def covers(summary: Summary | None, files: Iterable[MemoryFile]) -> bool:
    """Return whether this one summary covers all of *files* as they are now."""
    return summary is not None and not summary.waits and set(summary.sources).issuperset(file.source for file in files)


def covered_days(files: Collection[MemoryFile], summaries: Mapping[Period, Summary]) -> frozenset[Period]:
    """
    Return the days whose summary leaves the search, because its month names all of its files that still exist.

    A summary that a person edited stays, since their text is in no file that the month names. So does one that a model wrote
    while the month is only an extract, and one of which no file exists any more.
    """
    present = {file.name for file in files}
    days = set()
    for period, summary in summaries.items():
        of_month = summaries.get(Period(period.label[:7]))
        if period.kind == "month" or of_month is None or summary.kept or (of_month.extract and not summary.extract):
            continue
        names = {source.name for source in summary.sources if source.name in present}
        if names and names <= {source.name for source in of_month.sources}:
            days.add(period)
    return frozenset(days)


def may_replace(sources: Collection[Source], existing: Summary | None, files: Iterable[MemoryFile], *, better: bool) -> bool:
    """
    Return whether a text made from *sources* may replace the existing summary.

    *sources* must name every current file that the existing summary names (a suspended worker may deliver an old text that
    names fewer), and one more unless the text is *better*: a model's in place of an extract, or asked for. An extract that
    waits is replaced by any.
    """
    current = {file.source for file in files}
    stands = existing is not None and not existing.waits
    named, before = current.intersection(sources), current.intersection(existing.sources if existing and stands else ())
    return bool(named) and before <= named and (better or not stands or before != named)


def prunable(files: Iterable[MemoryFile], summaries: Mapping[Period, Summary]) -> tuple[MemoryFile, ...]:
    """
    Return the files in originals/ that a standing summary of a model covers as they are now.

    An extract covers none for this: it quotes some of the words, and stands for none of the others.
    """
    named = {
        source
        for summary in summaries.values()
        if not (summary.waits or summary.extract or summary.refused)
        for source in summary.sources
    }
    return tuple(file for file in files if file.original and file.ours and not file.broken and file.source in named)


# ── reading ──────────────────────────────────────────────────────────────────


def memory_file(data: bytes, path: Path, day: date, digest: str, *, original: bool) -> MemoryFile:
    """Return the dated file of *day* at *path*, which has these bytes with this *digest*."""
    head = head_in(data, path)
    ours = head.get("kind") == "dated"
    try:
        created = from_wire(head.get("created", "")) if ours else None
    except ValueError:
        ours, created = False, None
    ids, chats = _heads_of(without_torn_end(data))
    chats = chats if ours else set()
    return MemoryFile(
        name=path.name,
        digest=digest,
        day=day,
        count=number_in(head, "count") or 0 if ours else 0,
        size=len(data),
        ours=ours,
        original=original,
        created=created,
        period=head.get("period", ""),
        ids=ids,
        as_made=is_as_made(data, path),
        broken=is_broken(data, path),
        sessions=frozenset(chat.session for chat in chats),
        groups=frozenset((chat.session, chat.kind) for chat in chats if chat.session and not chat.is_direct),
    )


def _heads_of(data: bytes) -> tuple[array[int] | None, set[Chat]]:
    """
    Return what the heads of the messages in a dated file say, which is not parsed: a CRC of the id of each, and the chats.

    No ids where one is not found; that of a head that a person broke counts. The chat is DIRECT for a message that names none.
    """
    numbers, chats, are_known = array("I"), set[Chat](), True
    for line, raw in _HEAD.findall(data):
        head = line.rpartition(b" -->")[0]
        with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):  # then it is the head of no message
            # nearly all heads of many a file name none: they are not parsed
            is_plain = head and b'"session"' not in head and b'"chat"' not in head
            chats.add(DIRECT if is_plain else chat_of(json.loads(head).get("fields", {})))
        try:  # subtle: one id may be escaped in one file, and not in the other
            identity = json.loads(b'"%b"' % raw).encode("utf-8", "surrogatepass") if b"\\" in raw else raw
        except ValueError:
            identity = b""
        numbers.append(crc32(identity))
        are_known = are_known and bool(identity)
    return numbers if are_known else None, chats


# ── copies ───────────────────────────────────────────────────────────────────


def is_as_made(data: bytes, path: Path) -> bool:
    """True if recalld wrote the file, and nobody has changed it since."""
    with suppress(NewerFormat):
        head, body = head_and_body(data, path)
        if head.get("kind") in {"day", "month"}:
            return not parse_summary(data, head.get("period", ""), path).kept
        return head.get("kind") == "dated" and is_as_written(body, head)
    return False


def copies(files: Mapping[str, tuple[str, bool]]) -> dict[str, str]:
    """
    Return the copies among the *files*, by path, each with the path of the file that it is a copy of.

    Of each file there is its digest, and whether it is as recalld wrote it.
    """
    ours = {path.rpartition("/")[2]: path for path in sorted(files, reverse=True) if _OURS.fullmatch(path)}
    same = {files[path][0]: path for path in ours.values() if files[path][1]}  # a copy may have a name of its own
    copied: dict[str, str] = {}
    for path, (digest, is_as_made) in files.items():
        name = _NAME.search(path.rpartition("/")[2])
        original = (ours.get(f"{name[0]}.md") if name else None) or same.get(digest, path)
        if original != path and (digest == files[original][0] or (is_as_made and not _OURS.fullmatch(path))):
            copied[path] = original
    return copied
