"""
Files that are named by what is in them: pictures, copies in the quarantine, versions that were replaced.

Once such a file is there, its bytes may be deleted elsewhere. A synchroniser, another program or a person may have left a half
file, a foreign one, a folder, a link or a pipe under its name, so the name alone says nothing: the bytes are compared, and what
is wrong is renamed to `NAME.aside`.
"""

from __future__ import annotations

import itertools
import stat as modes
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..text.lazy_re import lazy_re
from .errors import Conflict

if TYPE_CHECKING:
    from pathlib import Path

    from .files import Files

_ASIDE: Final = lazy_re(r".+\.aside(?:-[0-9]+)?")
#: How often something else may come under the name while the file is written.
_TRIES: Final = 5


def keep_by_content(files: Files, path: Path, data: bytes) -> bool:
    """Have exactly *data* at *path*, durably; return whether it was written now. Anything else of that name is set aside."""
    for _ in range(_TRIES):
        if has_content(files, path, data):
            files.ensure_durable(path)
            return False
        if files.disk.stat(path) is not None:
            _set_aside(files, path)
        with suppress(FileExistsError):
            files.create(path, data)
            return True
    raise Conflict(path)


def has_content(files: Files, path: Path, data: bytes) -> bool:
    """Return whether the file is a regular one with these bytes; one of another size is not read."""
    stat = files.disk.stat(path)
    if stat is None or not modes.S_ISREG(stat.mode) or stat.size != len(data):
        return False
    with suppress(FileNotFoundError):
        return files.disk.read(path) == data
    return False


def is_aside(name: str) -> bool:
    """Return whether this is the name of a file that was set aside."""
    return bool(_ASIDE.fullmatch(name))


def _set_aside(files: Files, path: Path) -> None:
    for n in itertools.count(1):
        with suppress(FileExistsError), suppress(FileNotFoundError):  # another process may have moved it a moment ago
            files.move(path, path.with_name(f"{path.name}.aside{f'-{n}' if n > 1 else ''}"))
            return
