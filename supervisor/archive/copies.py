"""
Copies of files that recalld made, as synchronisers, systems, editors and people name them: `X (1).md`, `X - 副本.md`.

A copy is known by its name, which has the name of another file of ours in it, and by this: it has the bytes of that file, or is
as recalld wrote it. It is neither searched nor summarised, and never touched. A file in which a person has written anything is
no copy. Source: docs/reference/protocol.md, 1.5.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..protocol.dated_file import is_edited
from ..protocol.frontmatter import head_in
from ..protocol.paths import SLUG
from ..protocol.summary_file import parse_summary
from ..storage.errors import NewerFormat
from ..text.lazy_re import lazy_re
from ..text.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: The paths that recalld itself gives to its files, and the part of a name that recalld may have given.
_OURS: Final = lazy_re(
    rf"memory/(?:originals/\d{{4}}-\d\d/)?\d{{4}}-\d\d-\d\d-{SLUG}\.md|memory/summary/\d{{4}}-\d\d(?:-\d\d)?\.md"
)
_NAME: Final = lazy_re(
    rf"\d{{4}}-\d\d-\d\d-{SLUG}?(?<!-)(?=(?:的?副本)?(?:[^a-z0-9\u4e00-\u9fff-]|-[A-Z]))|\d{{4}}-\d\d(?:-\d\d)?"
)


@record
class Made:
    """A file by the *digest* of its bytes; *is_as_made*: recalld wrote it, and nobody has changed it since."""

    digest: str
    is_as_made: bool


def is_as_made(data: bytes, path: Path) -> bool:
    """True if recalld wrote the file, and nobody has changed it since."""
    with suppress(NewerFormat):
        head = head_in(data, path)
        if head.get("kind") == "dated":
            return not is_edited(data, path)
        if head.get("kind") in {"day", "month"}:
            return not parse_summary(data, head.get("period", ""), path).kept
    return False


def copies(files: Mapping[str, Made]) -> dict[str, str]:
    """Return the copies among the *files*, by path, each with the path of the file that it is a copy of."""
    ours = {path.rpartition("/")[2]: path for path in sorted(files, reverse=True) if _OURS.fullmatch(path)}
    found: dict[str, str] = {}
    for path, file in files.items():
        name = _NAME.search(path.rpartition("/")[2])
        original = ours.get(f"{name[0]}.md", path) if name else path
        is_renamed = file.is_as_made and not _OURS.fullmatch(path)
        if original != path and (is_renamed or file.digest == files[original].digest):
            found[path] = original
    return found
