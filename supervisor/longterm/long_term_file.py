"""
Read and change the long-term file, the memory.md that a person and the assistant write too (docs/reference/protocol.md, 10).

A change is one read, change and write under `memory.md.lock`. What an editor saved meanwhile is kept, and the change is made
again on that. When a method returns, the change is on the disk. The rest of the file is not rewritten: byte order mark, line
breaks, blank lines and Markdown stay as they are.
"""

from __future__ import annotations

import contextlib
from bisect import bisect
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..index.manifest import MOST_BYTES, long_term_name
from ..protocol.paths import LONG_TERM, WorkspacePaths
from ..storage.clock import local_day
from ..storage.control import note
from ..storage.errors import BadRequest, Conflict, NoPermission, Unchangeable, from_os_error
from ..storage.files import Files, FileVersion
from ..storage.keeping import ReplacedTexts, kept_name
from ..storage.lenient_json import not_utf8
from ..storage.texts import Text, msgid, render
from ..text.comparing import hunks
from ..text.foreign_text import decoded
from .lines import (
    Entry,
    Line,
    all_numbers,
    cut,
    entry_content,
    entry_source,
    filled,
    line_with,
    one_line,
    only_lines,
    parse_entry,
    parse_refs,
    parted,
    recent_lines,
    refuse_stale,
    standing_line,
    struck_at,
    text_of,
    with_line,
    without_lines,
    without_surrogates,
)

if TYPE_CHECKING:
    from ..text.redact import Marks

#: Returns the numbers of the lines of a text that an audience may see, in order.
Seen: TypeAlias = "Callable[[str], Sequence[int]]"
#: How often to write when other programs change the file meanwhile.
_WRITE_TRIES: Final = 20
#: The bits of a mode that let somebody write.
_WRITABLE: Final = 0o222


@dataclass(frozen=True, slots=True)
class Written:
    """
    The line that has the words now, of *total*; not *is_new* where the file had them before.

    Written in a group, *line* and *total* count what may be seen there; not *is_shown*, and *line* 0, where it may not.
    *replaced* is the line that it replaces, as it is now: "42@1f3a9c0d"; *others* the line in which its other items go on.
    """

    path: str
    line: int
    total: int
    digest: str
    text: str
    is_new: bool
    is_shown: bool = True
    replaced: str = ""
    others: str = ""

    def sentence(self, new: str = msgid("written to memory, line {line} (entries: {total})")) -> Text:
        """Return where the words are: the sentence *new* if they are new."""
        return Text(
            new if self.is_new else msgid("in memory already, line {line} (entries: {total})"), line=self.line, total=self.total
        )

    def sentences_on_replaced(self) -> Iterator[Text]:
        """Yield what became of the line that it replaces."""
        if self.replaced:
            yield Text("line {line} is struck: it is shown only where the past is asked for.", line=self.replaced)
        if self.others:
            yield Text("what else it said still holds, and goes on as line {line}.", line=self.others)


@dataclass(frozen=True, slots=True)
class Deleted:
    """*count* lines were deleted, *total* are left."""

    path: str
    count: int
    total: int


@dataclass(frozen=True, slots=True)
class Ended:
    """What is no longer true: *place* and *text* as they are now, and the day *until*."""

    place: str
    text: str
    until: date


@dataclass(frozen=True)
class LongTermText:
    """The file at *path* (relative to the workspace) as it was read: its *text*, with the line breaks that it has."""

    path: str
    text: str

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The lines that are not blank; they are what is counted."""
        return filled(cut(self.text))

    @property
    def total(self) -> int:
        """How many lines are not blank."""
        return len(self.lines)

    def select(self, start: int | None = None, end: int | None = None, recent: int = 10) -> LongTermLines:
        """Return the lines from *start* to *end* (None: that line), clamped; without either the last *recent*; 000."""
        if start is None and end is None:
            return LongTermLines(self.path, recent_lines(self.lines, recent), self.total)
        last = self.lines[-1].number if self.lines else 1
        first = max(1, min(1 if start is None else start, last))
        until = max(first, min(first if end is None else end, last))
        lines = tuple(line for line in self.lines if first <= line.number <= until)
        return LongTermLines(self.path, lines, self.total)

    def stats(self) -> dict[str, Any]:
        """Return `total`, `sources` (entries by source) and `date_range` ("" without an entry); 000."""
        entries = [entry for line in self.lines if (entry := parse_entry(line.text))]
        days = [entry.day for entry in entries]
        span = f"{min(days).isoformat()} ~ {max(days).isoformat()}" if days else ""
        return {"total": self.total, "sources": {**Counter(entry.source for entry in entries)}, "date_range": span}


@dataclass(frozen=True, slots=True)
class LongTermLines:
    """Some *lines* of the long-term file, which has *total*."""

    path: str
    lines: tuple[Line, ...]
    total: int

    def __str__(self) -> str:
        """Return the lines as 000 shows them, or its sentence for an empty memory."""
        return text_of(self.lines) if self.total else render(Text("memory is empty"), "zh")


class LongTermFile:
    """
    The long-term file of one workspace: memory.md, or MEMORY.md or memory/MEMORY.md where only that exists.

    Where there is none, the first write makes it at *first*, with mode 0600. Every method may raise a SupervisorError; then the
    file is byte for byte what it was.
    """

    def __init__(self, files: Files, paths: WorkspacePaths, zone: tzinfo, first: str = "", mark: Marks | None = None) -> None:
        self._files, self._paths, self._zone = files, paths, zone
        self._first, self._mark = first or LONG_TERM[0], mark

    @property
    def root(self) -> Path:
        """The folder of its workspace."""
        return self._paths.root

    @property
    def path(self) -> str:
        """The path of the file from the workspace, whether it exists or not."""
        return long_term_name(self._files, self._paths) or self._first

    def read(self) -> LongTermText:
        """Return the file as it is now, also one that is not UTF-8; no lines where there is none."""
        path = self.path
        with _as_supervisor_errors(path):
            version = self._files.read_shown(self._paths.root / path)
        try:
            text = _text_in(version)
        except UnicodeDecodeError:
            text = decoded(version.data) if version else ""
        return LongTermText(path, text)

    def append(
        self, source: str, content: str, now: datetime, seen: Seen = all_numbers, replaces: str = "", item: int | None = None
    ) -> Written:
        """
        Add an entry of the local day of *now* and return its line; where a line has the same words already, that one.

        Of the line that *replaces* names, as in "42@1f3a9c0d", the item ends that the content is about, or that has the number
        *item*. *seen* returns the numbers of the lines that the writer may see: only those are compared, named and counted.
        BadRequest if the content is blank or too long, if the line has ended already, or which item ends can't be told;
        StaleLine if it is another one by now.
        """
        entry = Entry(local_day(now, self._zone), entry_source(source), entry_content(self._marked("", content)))
        place: list[Line] = []  # of the last try
        ended: list[Line | None] = []

        def find(text: str) -> Line | None:
            return line_with(only_lines(text, seen(text)), entry.content)

        def add(text: str) -> str:
            nonlocal ended
            if replaces:
                old = standing_line(only_lines(text, seen(text)), replaces, "replaces")
                if old == find(text):
                    raise BadRequest("replaces", Text("line {line} says this already; give what is true now", line=old.ref))
                text, *ended = struck_at(text, old, seen(text), entry.day, parted=parted(old, entry.content, item))
            place[:] = filter(None, [find(text)])
            return text if place else with_line(text, str(entry))

        after = self.change(add, kind="replaced" if replaces else "written")
        line = place[0] if place else after.lines[-1]
        refs = [line.ref if line else "" for line in ended]
        numbers = seen(after.text)
        number = line.number if place else bisect(numbers, line.number) * (line.number in numbers)
        total = LongTermText(after.path, only_lines(after.text, numbers)).total
        return Written(after.path, number, total, line.digest, line.text, not place, number > 0, *refs)

    def end(self, ref: str, now: datetime, reason: str = "") -> Ended:
        """Strike the line named as in "42@1f3a9c0d": it is no longer true from today on. Errors as in `append`."""
        day = local_day(now, self._zone)
        ended: list[Line] = []

        def strike(text: str) -> str:
            line = standing_line(text, ref, "target")
            text, struck, _ = struck_at(text, line, all_numbers(text), day, one_line(reason))
            ended[:] = [struck]
            return text

        self.change(strike, kind="ended")
        return Ended(ended[0].ref, ended[0].text, day)

    def delete(self, refs: Iterable[str], seen: Seen = all_numbers) -> Deleted:
        """
        Delete the lines named as in "42@1f3a9c0d"; StaleLine, and nothing is deleted, if one is another line by now.

        *seen* returns the numbers of the lines that the caller may see; no others are counted.
        """
        named = parse_refs(refs)

        def numbers(text: str) -> Collection[int]:
            shown = seen(text)
            refuse_stale(only_lines(text, shown), named)
            return [shown[number - 1] for number in named]

        return self._delete(numbers, seen)

    def delete_numbers(self, numbers: Collection[int]) -> Deleted:
        """Delete the lines of these numbers, whatever they say; those that do not exist, or are blank, are ignored (000)."""
        return self._delete(lambda _: numbers)

    def replace(self, text: str) -> LongTermText:
        """Replace the whole text; the old one is kept in .recalld/previous/."""
        return self.change(lambda _: text.replace("\0", " "), keep_previous=True)

    def change(self, rule: Callable[[str], str], *, keep_previous: bool = False, kind: str = "text") -> LongTermText:
        """
        Replace the text by ``rule(text)``, durably, and return the file as it is then.

        The text has no byte order mark, and the line breaks of the file; it is "" where there is no file. *rule* is called
        again when another program wrote meanwhile; what it raises is raised, and nothing is written. With *keep_previous* the
        old text is kept in .recalld/previous/. *kind* is what the diary calls it. Busy when another process keeps the lock.
        """
        with _as_supervisor_errors(self._first), self.locked():
            for _ in range(_WRITE_TRIES):
                path = self.path
                version = self._files.read_stable(self._paths.root / path)
                before = _changeable_text(path, version)
                after = without_surrogates(self._marked(before, rule(before)))
                with contextlib.suppress(Conflict, FileExistsError):
                    self._write(path, version, after.encode(), is_same=after == before, keep_previous=keep_previous)
                    if after != before:
                        note(kind, path=path, hunks=hunks(before, after), made=version is None)
                    return LongTermText(path, after)
        raise Conflict(self.path)

    # ── steps ────────────────────────────────────────────────────────────────

    def _marked(self, before: str, after: str) -> str:
        return self._mark.lines(before, after) if self._mark else after

    def _delete(self, numbers: Callable[[str], Collection[int]], seen: Seen = all_numbers) -> Deleted:
        count = 0

        def take(text: str) -> str:
            nonlocal count
            after, count = without_lines(text, numbers(text))
            return after

        after = self.change(take, kind="deleted")
        return Deleted(after.path, count, LongTermText(after.path, only_lines(after.text, seen(after.text))).total)

    def _write(self, path: str, version: FileVersion | None, data: bytes, *, is_same: bool, keep_previous: bool) -> None:
        """Replace the text of the *version* by *data*, durably; Conflict or FileExistsError if another program was faster."""
        place = self._paths.root / path
        if is_same:
            self._files.ensure_durable(place)  # whoever wrote it may not have synced it, and it is relied on now
            return
        if version and version.data.startswith(BOM_UTF8):
            data = BOM_UTF8 + data
        if len(data) > (len(version.data) if version else 0):
            refuse_too_large(path, data, Text("delete lines first"))
        if version is None:
            self._files.make_folder(place.parent)
            self._files.create(place, data)
            return
        if keep_previous:
            ReplacedTexts(self._files, self._paths.previous).keep(kept_name(path, version.data), version.data)
        self._files.replace(place, data, version)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the file: agents change texts one at a time."""
        self._files.make_folder(self._paths.root)
        with self._files.lock(self._paths.long_term_lock):
            yield


def refuse_too_large(path: str, data: bytes, repair: str = "") -> None:
    """Raise Unchangeable for a text that no search would read; *repair* says what to do, "" for writing several files."""
    if len(data) > MOST_BYTES:
        raise Unchangeable(
            path,
            Text("it would have more than {bytes:,} bytes, and is not searched then", bytes=MOST_BYTES),
            repair or Text("write it as several files"),
        )


@contextlib.contextmanager
def _as_supervisor_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise from_os_error(error, error.filename or path) from error


def _text_in(version: FileVersion | None) -> str:
    """Return the text of a version without its byte order mark, "" for none; UnicodeDecodeError if it is not UTF-8."""
    return version.data.removeprefix(BOM_UTF8).decode("utf-8") if version else ""


def _changeable_text(path: str, version: FileVersion | None) -> str:
    """Return the text of a version; an error if it can't be changed without harm, or its owner does not want it."""
    if version and not version.stat.mode & _WRITABLE:
        raise NoPermission(path, Text("it is read-only"), Text("make it writable (`chmod u+w`)"))
    try:
        return _text_in(version)
    except UnicodeDecodeError:
        why = not_utf8(version.data) if version else None
        raise Unchangeable(path, why or Text("it is not UTF-8"), Text("save it as UTF-8")) from None
