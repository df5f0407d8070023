"""The paths that a model gives to Anthropic's memory tool, as pure functions: what they may name, and what they may not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ...longterm.lines import without_surrogates
from ...protocol.paths import is_foreign
from ...storage.errors import BadRequest
from ...storage.foreign_name import LONGEST_GIVEN, LONGEST_NAME
from ...storage.texts import Text
from ...text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The folder that the model sees: memory.md in it is the long-term file, everything else is in memory/.
ROOT: Final = "/memories"
LONG_TERM: Final = "memory.md"
#: An encoded dot, slash, backslash or NUL; or a backslash, which is a slash on other systems.
_ODD: Final = lazy_re(r"%(?:2e|2f|5c|00)|\\", re.IGNORECASE)


class Refused(Exception):
    """The documented answer to a command that was not carried out."""


def parts_of(path: str) -> tuple[str, ...]:
    """
    Return the names below the root; none for the root itself.

    Refused or BadRequest for a path that leads out of it, or has a name that memory never reads.

    >>> parts_of("/memories/projects/recalld.md"), parts_of("/memories/")
    (('projects', 'recalld.md'), ())
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise Refused(f"Path must start with {ROOT}, got: {path}")
    parts = tuple(part for part in path.removeprefix(ROOT).split("/") if part not in {"", "."})
    if ".." in parts:
        raise Refused(f"Path {path} would escape {ROOT} directory")
    for part in parts:
        is_plain = part == without_surrogates(part) and not is_foreign(part) and not _ODD.search(part)
        if not is_plain or len(part.encode()) > LONGEST_NAME:
            raise BadRequest("path", Text("{name!r} is a name that memory never reads; give a plain one", name=part))
    return parts


def check_name(parts: Sequence[str]) -> None:
    """Raise BadRequest if no file may be made here: no search would find it, or no copy of its old text could be kept."""
    if long := next((part for part in parts if len(part.encode()) > LONGEST_GIVEN), ""):
        raise BadRequest(
            "path",
            Text(
                "{name!r} has {count} bytes, and no copy could be kept of what it says when it changes; give a name of at most {most}",
                name=long,
                count=len(long.encode()),
                most=LONGEST_GIVEN,
            ),
        )
    for part in parts[:-1]:
        if part.endswith(".md"):
            raise BadRequest("path", Text("{name!r} is a name for a file; give the folder another one", name=part))
    if not parts[-1].endswith(".md"):
        raise BadRequest("path", Text("{name!r} would not be found by a search; give a name that ends in .md", name=parts[-1]))


def is_long_term(parts: Sequence[str]) -> bool:
    """True if the names are those of the long-term file, in upper or lower case."""
    return len(parts) == 1 and parts[0].casefold() == LONG_TERM
