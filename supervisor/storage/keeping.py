"""
Files that are kept: under a name made of their content, as a version that was replaced, or moved to another file system.

Pictures, copies in the quarantine and versions that were replaced are named by what is in them. Once such a file is there, its
bytes may be deleted elsewhere. A synchroniser, another program or a person may have left a half file, a foreign one, a folder,
a link or a pipe under its name, so the name alone says nothing: the bytes are compared, and what is wrong is renamed to
`NAME.aside`.

The texts that newer ones replaced are in `.recalld/previous/` (docs/reference/protocol.md, 10.5). Each is kept there before it
is replaced, or moved there when it is deleted; its age is that of its entry in the folder. For its age nothing is dropped that
is younger than thirty days, since that is how long a person may need to miss a text; all of them together have a limit, within
which the newest are kept. The age is measured at the newest entry, or by the clock where that is earlier: a clock that is ahead
drops nothing by itself.

A folder of a workspace, such as `memory/`, may be a file system of its own. A rename between two fails, so the file is copied,
and then deleted: its bytes are durable in the new place before the old one goes, and a crash leaves the old one, or both.
"""

import errno
import itertools
import stat as modes
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from ..text.lazy_re import lazy_re
from .disk import Stat
from .errors import Conflict
from .files import Files, digest_of

_ASIDE: Final = lazy_re(r".+\.aside(?:-[0-9]+)?")
#: How often something else may come under the name while the file is written.
_TRIES: Final = 5
#: What is younger is not too old.
LEAST_AGE: Final = timedelta(days=30)
#: Hex digits in the name of a version that was replaced.
_VERSION: Final = 12


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


def kept_name(path: str, data: bytes) -> str:
    """
    Return the name under which *data*, a version of the file at *path*, is kept in .recalld/previous/.

    >>> kept_name("memory/notes.md", b"")
    'notes.e3b0c44298fc.md'
    """
    stem, _, kind = path.rpartition("/")[2].rpartition(".")
    return f"{stem}.{digest_of(data)[:_VERSION]}.{kind}"


class Held(NamedTuple):
    """What the folder holds: texts and deleted folders, and their bytes."""

    entries: int
    bytes: int


class ReplacedTexts:
    """The texts in *folder*."""

    def __init__(self, files: Files, folder: Path) -> None:
        self._files = files
        self._folder = folder

    def keep(self, name: str, data: bytes) -> None:
        """Keep *data* under this name, durably, as an entry of now, without what was forgotten."""
        shown = self._files.shown(self._folder / name, data)
        if shown is None:
            return
        self._files.make_folder(self._folder, lasting=True)
        if not keep_by_content(self._files, self._folder / name, shown):
            self._files.disk.touch(self._folder / name)

    def held(self) -> Held:
        """Return how much the folder holds."""
        entries = self._entries()
        return Held(len(entries), sum(size for _, size in entries.values()))

    def drop(self, now: datetime, age: timedelta, most_bytes: int) -> int:
        """Drop the oldest beyond *age*, and beyond *most_bytes* of all together, never the newest; return how many."""
        entries, dropped, size = self._entries(), 0, 0
        newest_first = sorted(entries, key=lambda name: (entries[name][0], name), reverse=True)
        if not newest_first:
            return 0
        until = min(now.timestamp(), entries[newest_first[0]][0] / 1e9)
        for name in newest_first:
            mtime_ns, of_this = entries[name]
            size += of_this
            old = timedelta(seconds=until - mtime_ns / 1e9)
            if old > max(age, LEAST_AGE) or (size > most_bytes and name != newest_first[0]):
                self._remove(self._folder / name)
                dropped += 1
        return dropped

    def _entries(self) -> dict[str, tuple[int, int]]:
        with suppress(FileNotFoundError):
            stats = self._files.disk.stats(self._folder)
            return {name: (stat.mtime_ns, self._bytes(self._folder / name, stat)) for name, stat in stats.items()}
        return {}

    def _bytes(self, path: Path, stat: Stat) -> int:
        if not modes.S_ISDIR(stat.mode):
            return stat.size
        return sum(self._bytes(path / name, inner) for name, inner in self._files.disk.stats(path).items())

    def _remove(self, path: Path) -> None:
        stat = self._files.disk.stat(path)
        if stat and modes.S_ISDIR(stat.mode):
            for name in self._files.disk.names(path):
                self._remove(path / name)
            self._files.disk.rmdir(path)
        elif stat:
            self._files.remove(path)


def move_across(files: Files, old: Path, new: Path) -> None:
    """
    Move a file, or within its file system a folder, durably; FileExistsError when the new name is taken.

    Between file systems: Conflict when the file is changed meanwhile, which then stays; OSError (EXDEV) for anything else.
    """
    try:
        files.move(old, new)
    except OSError as error:
        stat = files.disk.stat(old)
        if error.errno != errno.EXDEV or stat is None or not modes.S_ISREG(stat.mode):
            raise
        version = files.read_stable(old)
        if version is None:
            raise
        files.create_from(new, (version.data,))
        files.disk.touch(new, version.stat.mtime_ns)
        if files.read_stable(old) != version:  # subtle: nothing may come between this check and the deletion
            files.remove(new)
            raise Conflict(old) from None
        files.disk.unlink(old)
