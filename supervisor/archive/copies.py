"""
Copies of files that recalld made, under any name: a synchroniser, a system, an editor or a person has left them there.

A file of ours whose messages are all in other files of ours is a copy of them, and so is a summary whose texts are all in
others. That is also what recalld wrote a second time before a synchroniser brought the first files. A copy is neither searched
nor summarised, and only `fsck --repair` sets one aside. A file in which a person has written anything is no copy. Source:
docs/reference/protocol.md, 1.5.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final
from zlib import crc32

from ..protocol.dated_file import parse_dated, without_base64, without_torn_end
from ..protocol.frontmatter import read_head
from ..protocol.paths import SLUG
from ..protocol.summary_file import parts_of
from ..storage.clock import to_wire
from ..storage.errors import NewerFormat
from ..text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from ..protocol.dated_file import Block

#: Hex digits of the mark of a message; only files of the same day are compared.
_MARK: Final = 12
#: The paths that recalld itself gives to its files.
_OURS: Final = lazy_re(
    rf"memory/(?:originals/\d{{4}}-\d\d/)?\d{{4}}-\d\d-\d\d-{SLUG}\.md|memory/summary/\d{{4}}-\d\d(?:-\d\d)?\.md"
)

#: The head of a message in a file of ours, with its id where that comes first, as recalld writes it.
_HEAD: Final = lazy_re(rb'^<!-- \{(?:"id": "((?:[^"\\\n]|\\.)*)")?', re.MULTILINE)


def ids_in(data: bytes) -> array[int] | None:
    """Return a CRC of the id of each message in a dated file, which is not parsed; None where that does not find them."""
    found = array("I")
    for raw in _HEAD.findall(without_torn_end(data)):
        if not raw:
            return None
        try:  # subtle: one id may be escaped in one file, and not in the other
            identity = json.loads(b'"%b"' % raw).encode("utf-8", "surrogatepass") if b"\\" in raw else raw
        except ValueError:
            return None
        found.append(crc32(identity))
    return found


def may_be_copies(files: Mapping[str, tuple[str, array[int] | None]]) -> set[str]:
    """
    Return the paths of the *files* that may hold what another one holds; a file is its period and its ids.

    They share an id with another file of their period, or their ids are not known.
    """
    by_period: defaultdict[str, dict[str, array[int] | None]] = defaultdict(dict)
    for path, (period, ids) in files.items():
        by_period[period][path] = ids
    found: set[str] = set()
    for together in by_period.values():
        if None in together.values():
            found.update(together)
        elif len(together) > 1:
            times = Counter(one for ids in together.values() for one in set(ids or ()))
            found.update(path for path, ids in together.items() if any(times[one] > 1 for one in ids or ()))
    return found


def contents(data: bytes, path: Path) -> str:
    """
    Return what a file of ours holds, to compare it with others: period, when it was made, a mark for each message or text.

    "" for a person's file, for one in which a person wrote outside the messages, and for one without any message.
    """
    if not data.startswith((b"---", b"\xef\xbb\xbf---")):
        return ""
    try:
        dated = parse_dated(without_base64(data), path)
        if dated is not None:
            is_ours = dated.blocks and not dated.has_more
            return _joined(dated.period, to_wire(dated.created), map(_message, dated.blocks)) if is_ours else ""
        parts = parts_of(data.decode("utf-8", "surrogateescape"))
        head, _ = read_head(parts[-1], path)
    except NewerFormat:
        return ""
    return _joined(head.get("period", ""), head.get("created", ""), parts) if head.get("kind") in {"day", "month"} else ""


def copies(files: Mapping[str, str], named: Callable[[], Collection[str]]) -> dict[str, str]:
    """
    Return the copies among *files* (contents by path), each with the path of a file that it is a copy of.

    Of files that hold the same the one is kept that was made first; of those the one whose name is *named* by a summary or
    the journal, else the one with a path of our form. *named* is called only where there is a choice.
    """
    by_period: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for path, content in files.items():
        if content:
            period, _, held = content.partition(" ")
            by_period[period][path] = held
    found: dict[str, str] = {}
    for together in by_period.values():
        if len(together) > 1 and _overlap(together.values()):
            found |= _superfluous(together, named)
    return found


def is_named_like_ours(path: str) -> bool:
    """Return whether the path, from the workspace, is one that recalld itself gives to a file."""
    return bool(_OURS.fullmatch(path))


def _overlap(contents: Iterable[str]) -> bool:
    """Return whether a mark is in several of the contents, which begin with the time that a file was made."""
    marks = " ".join(content.partition(" ")[2] for content in contents).split(" ")
    return len(set(marks)) < len(marks)


def _superfluous(files: Mapping[str, str], named: Callable[[], Collection[str]]) -> dict[str, str]:
    """Return the files of one period whose marks are all in the other files, each with the one that holds most of them."""
    made, marks = {}, {}
    for path, content in files.items():
        made[path], *held = content.split(" ")
        marks[path] = frozenset(held)
    times = Counter(mark for held in marks.values() for mark in held)
    spare = [path for path, held in marks.items() if all(times[mark] > 1 for mark in held)]
    sure = frozenset[str]().union(*(marks[path] for path in marks.keys() - spare))
    if not all(marks[path] <= sure for path in spare):
        known = named()
        spare.sort(key=lambda path: (made[path], *_rank(known, path)), reverse=True)
    found = []
    for path in spare:
        if all(times[mark] > 1 for mark in marks[path]):
            times.subtract(marks[path])
            found.append(path)
    kept = sorted(marks.keys() - found)
    return {path: max(kept, key=lambda one: len(marks[path] & marks[one])) for path in found}


def _rank(named: Collection[str], path: str) -> tuple[bool, bool, int, str]:
    return path.rpartition("/")[2] not in named, not is_named_like_ours(path), len(path), path


def _message(block: Block) -> str:
    return "\0".join((block.id, to_wire(block.created_at), block.role, block.text))


def _joined(period: str, made: str, texts: Iterable[str]) -> str:
    marks = {hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK] for text in texts}
    return " ".join((period, made.replace(" ", ""), *sorted(marks)))
