"""
Copies of files that recalld made: what a synchroniser, a system, an editor or a person leaves beside them, under any name.

A file of ours whose messages all stand in another file of ours is a copy of it. So is a summary whose texts all stand in
another one. A copy is neither searched nor summarised, and never moved or deleted. A file in which a person has written
anything is no copy. Source: docs/reference/protocol.md, 1.5.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Final

from supervisor.protocol.clock import to_wire
from supervisor.protocol.dated_file import parse_dated
from supervisor.protocol.errors import NewerFormat
from supervisor.protocol.frontmatter import read_head
from supervisor.protocol.summary_file import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from supervisor.protocol.dated_file import Block

#: Hex digits of the mark of a message; only files of the same day are compared.
_MARK: Final = 12
#: The paths that recalld itself gives to its files.
_OURS: Final = re.compile(
    r"memory/(?:originals/\d{4}-\d\d/)?\d{4}-\d\d-\d\d-[a-z0-9-]{1,40}\.md|memory/summary/\d{4}-\d\d(?:-\d\d)?\.md"
)


def contents(data: bytes, path: Path) -> str:
    """
    Return what a file of ours holds, to compare it with others: its period, and a mark for each message or text of a summary.

    "" for a person's file, for one in which a person wrote outside the messages, and for one without any message.
    """
    if not data.startswith((b"---", b"\xef\xbb\xbf---")):
        return ""
    try:
        dated = parse_dated(data, path)
        if dated is not None:
            return _joined(dated.period, map(_message, dated.blocks)) if dated.blocks and not dated.has_more else ""
        parts = parts_of(data.decode("utf-8", "surrogateescape"))
        head, _ = read_head(parts[-1], path)
    except NewerFormat:
        return ""
    return _joined(head.get("period", ""), parts) if head.get("kind") in {"day", "month"} else ""


def copies(files: Mapping[str, str], named: Callable[[], Collection[str]]) -> dict[str, str]:
    """
    Return the copies among *files* (contents by path), each with the path of the file that it is a copy of.

    Of equal files the one is kept whose name is *named* by a summary or the journal, else the one with a path of our form;
    *named* is called only where there are equal ones.
    """
    by_period: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for path, content in files.items():
        if content:
            by_period[content.partition(" ")[0]].setdefault(content, []).append(path)
    found: dict[str, str] = {}
    for by_content in by_period.values():
        for content, paths in _fullest(by_content).items():
            kept = paths[0] if len(paths) == 1 else min(paths, key=partial(_rank, named()))
            found |= {path: kept for path in paths if path != kept}
            found |= {path: kept for less, those in by_content.items() if _is_within(less, content) for path in those}
    return found


def _fullest(by_content: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the contents that no other one includes."""
    if len(by_content) == 1:
        return dict(by_content)
    return {
        content: paths for content, paths in by_content.items() if not any(_is_within(content, more) for more in by_content)
    }


def _is_within(less: str, more: str) -> bool:
    """Tell whether *more* holds everything that *less* holds, and something else."""
    if len(less) >= len(more):
        return False
    period, first, *marks = less.split(" ")
    return first in more and {period, first, *marks} < set(more.split(" "))


def _rank(named: Collection[str], path: str) -> tuple[bool, bool, int, str]:
    return path.rpartition("/")[2] not in named, not _OURS.fullmatch(path), len(path), path


def _message(block: Block) -> str:
    return "\0".join((block.id, to_wire(block.created_at), block.role, block.text))


def _joined(period: str, texts: Iterable[str]) -> str:
    marks = {hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK] for text in texts}
    return " ".join((period, *sorted(marks)))
