"""
The names that come out of a file: an archive, a backup, a task, an event. Each leads to a place below its folder, or nowhere.

Such a file may come from anybody, so the name in it is a claim, not a place.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

#: Bytes of a file's name and of a path, at most; Linux, NAME_MAX and PATH_MAX.
LONGEST_NAME: Final = 255
_LONGEST_PATH: Final = 4096
#: The most bytes of a new name: the names of its kept versions are longer.
LONGEST_GIVEN: Final = 200
#: Folders in one another, at most: one name might otherwise make thousands of folders.
MOST_FOLDERS: Final = 64
#: Bytes of a name's end, such as ".md", that stay where it is shortened.
_LONGEST_END: Final = 16
#: What leads elsewhere on another system, a drive's letter or a backslash, and control characters, which memory never reads.
_ELSEWHERE: Final = r"\A[A-Za-z]:|[\\\x00-\x1f\x7f\x85\u2028\u2029]"


def parts_of(name: str, *, from_here: bool = False) -> tuple[str, ...]:
    r"""
    Return the names in a path that a file gives, each short enough for a disk; none where it may lead out of its folder.

    A name *from_here* is one of this system's own, where a backslash is a letter as any other.

    >>> parts_of("./notes/a.md"), parts_of("/etc/a.md"), parts_of("../a.md"), parts_of("C:a.md"), parts_of("..\\a.md")
    (('notes', 'a.md'), (), (), (), ())
    """
    try:
        parts = tuple(shortened(part) for part in name.split("/") if part not in {"", "."})
    except UnicodeEncodeError:  # most lone surrogates stand for no byte
        return ()
    leads_out = name.startswith("/") or ".." in parts or "\0" in name or (not from_here and re.search(_ELSEWHERE, name))
    is_too_long = len(parts) > MOST_FOLDERS + 1 or len(os.fsencode("/".join(parts))) > _LONGEST_PATH
    return () if leads_out or is_too_long else parts


def place_below(folder: Path, name: str, *, from_here: bool = False) -> Path | None:
    """Return the place below the folder that a name out of a file leads to; None where it leads elsewhere, by a link too."""
    parts = parts_of(name, from_here=from_here)
    place = folder.joinpath(*parts)
    return place if parts and is_below(place, folder) and not place.is_symlink() else None


def is_below(place: Path, folder: Path) -> bool:
    """True if the place is in the folder when every link is followed."""
    return os.path.join(os.path.realpath(place), "").startswith(os.path.join(os.path.realpath(folder), ""))


def shortened(name: str, most: int = LONGEST_NAME) -> str:
    """
    Return the name of a file; of one with more than *most* bytes the beginning and the end, and a digest of all of it.

    >>> shortened("深" * 100 + ".md")[-16:], len(shortened("深" * 100 + ".md").encode())
    ('深深深深-1b8cde15.md', 198)
    """
    data = os.fsencode(name)
    if len(data) <= most:
        return name
    import hashlib

    stem, dot, end = name.rpartition(".")
    tail = f"-{hashlib.sha256(data).hexdigest()[:8]}{dot + end if stem and len(os.fsencode(end)) < _LONGEST_END else ''}"
    room = min(most, LONGEST_GIVEN) - len(os.fsencode(tail))
    return data[:room].decode("utf-8", "ignore") + tail
