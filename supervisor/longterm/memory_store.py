"""
`MemoryStore`, the line store as programs of CountBot know it: names, signatures, defaults and texts are those of 000.

    from pathlib import Path
    from recalld import MemoryStore

    store = MemoryStore(Path("workspace/memory"))
    store.append_entry("web-chat", "用户偏好Python；项目用FastAPI")
    store.search(["python"])

What it does is in `longterm/long_term_file`.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..protocol.marks import without_marks
from ..protocol.paths import LONG_TERM
from ..storage.clock import utc_now
from ..storage.errors import BadRequest, SupervisorError, listed, refuse_no_number, refuse_no_text
from ..storage.noting import author, noting
from ..storage.texts import Text
from .lines import search_text
from .long_term_file import LongTermFile

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from ..storage.clock import Clock

#: The folder of a workspace that holds 000's MEMORY.md.
_FOLDER: Final = "memory"


class HasLongTermFile(Protocol):
    """An open `Workspace` or a `Memory`."""

    @property
    def long_term(self) -> LongTermFile:
        """Its long-term file."""


class Keeps(Protocol):
    """The diary of a workspace."""

    def keep(self, noted: Sequence[Mapping[str, Any]], now: datetime, by: str = "") -> object:
        """Write the acts down."""


class MemoryStore:
    """
    The long-term lines of *place*: a `Memory`, a `Workspace`, or a folder, that of a workspace or its `memory`, as in 000.

    Opening writes nothing; a folder that is not there is made by the first write. *clock* returns the present (default: the
    clock of a `Memory`). Every error is a SupervisorError. Any number of objects and processes may use the same place.
    """

    def __init__(self, place: str | os.PathLike[str] | HasLongTermFile, clock: Clock | None = None) -> None:
        #: The long-term file that all methods read and change.
        self.long_term: LongTermFile = _long_term_of(place)
        self.clock: Clock = clock or getattr(place, "clock", None) or utc_now
        self._diary: Keeps | None = getattr(getattr(place, "workspace", place), "diary", None)

    @property
    def root(self) -> Path:
        """The folder of its workspace."""
        return self.long_term.root

    # ── writing ──────────────────────────────────────────────────────────────

    def append_entry(self, source: str, content: str) -> int:
        """
        Add a line and return its number, or that of the line that has the same words; it is durable then.

        A mark for groups (`#shared`) is left out, since a model writes by this: the owner can mark the line.
        """
        refuse_no_text("source", source)
        refuse_no_text("content", content)
        with self._acting("append_entry"):
            return self.long_term.append(source, without_marks(content), self.clock()).line

    def delete_lines(self, line_numbers: Collection[int]) -> int:
        """Delete the lines of these numbers and return how many there were; others are ignored."""
        numbers = listed("line_numbers", line_numbers, Text("line numbers"))
        for number in numbers:
            refuse_no_number("line_numbers", number)
        with self._acting("delete_lines"):
            return self.long_term.delete_numbers(frozenset(numbers)).count

    def write_all(self, content: str) -> None:
        """Replace the whole text; the old one is kept in .recalld/previous/."""
        refuse_no_text("content", content)
        with self._acting("write_all"):
            self.long_term.replace(content)

    @contextmanager
    def _acting(self, name: str) -> Iterator[None]:
        """Write what is done meanwhile into the diary; a plain folder has none."""
        with noting() as noted:
            yield
        if noted and self._diary:
            with suppress(SupervisorError, OSError):  # the act stands
                self._diary.keep(noted, self.clock(), author("python", name))

    # ── reading ──────────────────────────────────────────────────────────────

    def read_lines(self, start: int, end: int | None = None) -> str:
        """Return the lines from *start* to *end* (None: that line), from 1 and clamped, each as "[n] text"."""
        refuse_no_number("start", start)
        refuse_no_number("end", start if end is None else end)
        return str(self.long_term.read().select(start, end))

    def search(self, keywords: Sequence[str], max_results: int = 15, match_mode: str = "or") -> str:
        """Return the newest lines with any ("or") or all ("and") of the keywords, in the order of the file, or why none."""
        words = keywords.split() if isinstance(keywords, str) else listed("keywords", keywords, Text("texts"))
        for word in words:
            refuse_no_text("keywords", word)
        refuse_no_number("max_results", max_results)
        refuse_no_text("match_mode", match_mode)
        return search_text(self.long_term.read().lines, words, max_results, match_mode, "zh")

    def get_recent(self, count: int = 10) -> str:
        """Return the last *count* lines."""
        refuse_no_number("count", count)
        return str(self.long_term.read().select(recent=count))

    def get_stats(self) -> dict[str, Any]:
        """Return `total`, `sources` (entries by source) and `date_range`."""
        return self.long_term.read().stats()

    def read_all(self) -> str:
        """Return the whole text, "" where there is none."""
        return self.long_term.read().text

    def get_line_count(self) -> int:
        """Return how many lines are not blank."""
        return self.long_term.read().total


def _long_term_of(place: object) -> LongTermFile:
    """Return the long-term file of a folder, or of what has one; BadRequest for anything else."""
    if isinstance(place, (str, os.PathLike)):
        return _opened(Path(place))
    found = getattr(place, "long_term", None)
    if not isinstance(found, LongTermFile):
        raise BadRequest("place", Text("it must be the path of a folder, not {kind}", kind=type(place).__name__))
    return found


def _opened(folder: Path) -> LongTermFile:
    """Return the long-term file of the workspace at *folder*, or above it if *folder* is its `memory`."""
    from ..protocol.config import load
    from ..protocol.paths import WorkspacePaths, check_filesystem
    from ..storage.clock import find_zone, machine_zone
    from ..storage.disk import RealDisk
    from ..storage.files import Files

    folder = Path(os.path.expanduser(folder)).absolute()
    if folder.exists() and not folder.is_dir():
        raise BadRequest("place", Text("{root} is a file, not a folder", root=folder))
    is_inner = folder.name == _FOLDER
    files, paths = Files(RealDisk()), WorkspacePaths(folder.parent if is_inner else folder)
    version = files.read_stable(paths.config)
    config = load(version.data if version else None, os.environ)
    check_filesystem(paths, allow_network_fs=config.care.allow_network_fs)
    # a folder that `init` has not made is another program's, whose days are the machine's
    zone = config.archive.zone if version else find_zone(os.environ.get("RECALLD_ARCHIVE_TIMEZONE") or machine_zone())
    named = LONG_TERM[0 if version else 1]  # 000's name of it
    return LongTermFile(files, paths, zone, LONG_TERM[-1] if is_inner else named)
