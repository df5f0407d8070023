"""
The search index of memory under `.recalld/index/`: update it, rebuild it when it is damaged, and search it.

The folder can be deleted or damaged at any moment: the index is rebuilt from the files (docs/architecture.md,
"Principles"). One process writes at a time, under `index.lock`; another one searches the last commit, with later changes
held in memory. Before a search cites a file it checks whether the file has changed; if so, it searches the present text.
"""

import contextlib
import errno
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from typing import Final, TypeVar

from ..archive.memory_folder import MemoryFolder
from ..protocol.paths import Period, WorkspacePaths
from ..protocol.summary_file import Summary
from ..storage.clock import NEVER, Deadline, within
from ..storage.control import UNENDING, UNLIMITED, Control
from ..storage.disk import Stat
from ..storage.errors import BadFile, Busy
from ..storage.files import Files
from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from ..text.tokenizer import VERSION as WORDS
from .chunking import VERSION as CUT
from .documents import CONTEXT_WIDTHS, documents
from .engine import LIST, Engine, Writing
from .engine import VERSION as SCHEMA
from .hit import SearchResult
from .manifest import (
    Changes,
    Group,
    Manifest,
    Record,
    Scan,
    files_read,
    has_new_long_term,
    keys_of,
    parse_manifest,
    render_manifest,
    scan,
)
from .view import Inventory, View, overlay_of

T = TypeVar("T")

#: An index that was made with another version is rebuilt.
VERSION: Final = f"{SCHEMA}.{WORDS}.{CUT}"
#: The files that tantivy makes; other files in the folder are not touched.
_PARTS: Final = lazy_re(r"[0-9a-f]{32}\.\S+|meta\.json|\.managed\.json|\.tantivy-\w+\.lock|\.tmp\w{6}")
#: From this many groups on an update reports its progress.
_LONG: Final = 50
#: Attempts to open the last commit while other processes commit; after that the index counts as absent.
_OPENINGS: Final = 3


class Index:
    """
    The search index of one workspace; *zone* is the time zone of days.

    Threads may search while another one updates the index: each search keeps the view that it began with.
    """

    def __init__(self, files: Files, paths: WorkspacePaths, memory: MemoryFolder, zone: tzinfo) -> None:
        self._files, self._paths, self._memory, self._zone = files, paths, memory, zone
        self._folder, self._lock = paths.state / "index", paths.state / "index.lock"
        self._list = self._folder / LIST
        self._view = self._empty = View()
        #: Returns the documents of a group of files.
        self._documents = partial(documents, files, paths, zone)
        #: Held while the view is replaced, but not while a commit is made.
        self._changing = threading.RLock()
        #: The commit that is damaged, or was made by another version; it is not opened again.
        self._damaged: Stat | None = None
        #: Files that the last scan could not read, by path with the reason: they are not searched as they are now.
        self.unread: Mapping[str, str] = {}
        #: Why that commit can't be read, "" where it can, or is of another version; an update sets it back.
        self.damage = ""

    @property
    def file_count(self) -> int:
        """The number of files that are searched."""
        return self._view.file_count

    @property
    def is_readable(self) -> bool:
        """Whether an index is open; without one only the files held in memory are searched."""
        return self._view.engine is not None

    @property
    def left(self) -> int:
        """How many groups of files are not searched: the index is being made, or too many have changed."""
        return self._view.left

    @property
    def current_commit(self) -> Stat | None:
        """The commit that was last opened or made by this object, None for none."""
        return self._view.commit

    def commit_on_disk(self) -> Stat | None:
        """Return the commit that is on disk, None for none; a link in place of the folder is not followed."""
        with contextlib.suppress(NotADirectoryError):
            self._files.check_folder(self._folder)
            return self._files.disk.stat(self._list)
        return None

    def records(self) -> Mapping[str, Record]:
        """Return the searched files by path, as they were at the last scan, or in the last commit if there was no scan."""
        with contextlib.suppress(OSError):
            self._opened()
        return {path: record for path, record in self._view.manifest.files.items() if not record.excluded}

    def inventory(self) -> Inventory:
        """Return the size of the last commit (zeros if it is damaged), how many files differ from it, and its damage."""
        view = self._opened()
        known = view.manifest if view else Manifest()
        present = replace(known, files=self._scan(known.files).files)
        return Inventory(
            files=sum(not record.excluded for record in known.files.values()),
            units=sum(group.units for group in known.groups.values()),
            size_bytes=sum(stat.size for stat in self._files.disk.stats(self._folder).values()) if view else 0,
            differing=sum(map(len, present.differing().values())) + len(present.gone()),
            damage=self.damage,
        )

    def close(self) -> None:
        """
        Close the open commit, with its files, memory and threads; the next search or update opens it again.

        A running search keeps its commit open until it ends.
        """
        with self._changing:
            self._view = self._empty

    # ── updating ─────────────────────────────────────────────────────────────

    def update(
        self, wait_s: float = 0.0, control: Control = UNLIMITED, for_s: float = UNENDING, *, rebuild: bool = False
    ) -> Changes:
        """
        Bring the index up to date (*rebuild*: build all of it again) and return what has changed.

        After *for_s* seconds of work the index has what was made by then, and the next update goes on with what is `left`. If
        another process holds the lock for more than *wait_s* seconds, the changes are held in memory, for this process alone,
        as far as the deadline of *control* allows. If *control* says stop, the last commit is kept (InterruptedError). OSError
        for an error of the disk, or a link in place of the folder; BadFile if even a new index can't be read.
        """
        self._files.make_folder(self._folder)
        self._files.check_folder(self._folder)
        seen: tuple[View, Scan] | None = None
        if not rebuild and (view := self._opened()) and not view.is_ahead:
            changes = self._scan(view.manifest.files)
            # nearly always so before a turn: no lock is needed
            if changes.files == view.manifest.files and not view.unmade:
                return Changes(unread=changes.unread)
            seen = view, changes
        try:
            with self._files.lock(self._lock, wait_s):
                try:
                    return self._write(seen, control, for_s, rebuild=rebuild)
                except BadFile as error:
                    self.discard_commit(self.commit_on_disk(), error.why)
                    return self._write(None, control, for_s, rebuild=rebuild)
        except Busy:
            return self.hold_changes(control.deadline)

    def hold_changes(self, deadline: Deadline = NEVER, cited: Collection[str] = ()) -> Changes:
        """
        Hold in memory, for this process alone, the files that have changed since the last commit, the newest first.

        Those that are *cited* come before all. Later searches begin with them; those that the *deadline* leaves no time for are
        counted in `left`.
        """
        with self._changing:
            with contextlib.suppress(OSError):
                self._opened()
            before = self._view
            changes = self._scan(before.manifest.files)
            after = replace(before.manifest, files=changes.files)
            overlay = overlay_of(before.overlay, after, cited, self._documents, deadline)
            is_ahead = before.is_ahead or changes.files != before.manifest.files
            self._view = replace(before, manifest=after, overlay=overlay, is_ahead=is_ahead)
        return Changes(files_read(before.manifest.files, changes.files), shared=True, unread=changes.unread)

    def discard_commit(self, damaged: Stat | None, why: str) -> None:
        """Discard the *damaged* commit: the next update makes a new one; until then only files held in memory are searched."""
        with self._changing:
            self._damaged, self.damage = damaged, why
            self._view = replace(self._empty, manifest=replace(self._view.manifest, groups={}))
        if damaged and self.commit_on_disk() == damaged:
            with contextlib.suppress(OSError):
                self._files.remove(self._list)  # so that other processes notice

    def _write(self, seen: tuple[View, Scan] | None, control: Control, for_s: float, *, rebuild: bool) -> Changes:
        """Commit the changes; *seen* is a view with a scan, made again if another process has committed since."""
        view, was = self._opened(), self._view
        names = [] if view else [name for name in self._files.disk.names(self._folder) if _PARTS.fullmatch(name)]
        has_parts = any(not name.startswith(".") for name in names)
        # a list without damage or a commit: the process that began it was killed
        rebuilt = not view and bool(was.commit or self._damaged or (has_parts and self._list.name not in names))
        # delete the list first, so that it never names a missing file
        for name in sorted(names, key=lambda name: name != self._list.name):
            self._files.disk.unlink(self._folder / name)
        before = view.manifest if view else replace(was.manifest, groups={})
        scanned = seen[1] if seen and seen[0] is view else self._scan(before.files)
        unread: dict[str, str] = {}
        if rebuild or not view or view.is_ahead or scanned.files != before.files or view.unmade:
            after = Manifest(VERSION, scanned.files, {} if rebuild else before.groups)
            unread = self._commit(view, after, control, for_s, clear=rebuild)
        self.unread = {**scanned.unread, **unread}
        read = files_read({} if rebuild else before.files, scanned.files)
        why = (self.damage or "it was made by another version, or a part of it is gone") if rebuilt else ""
        self.damage = ""
        return Changes(read, rebuilt=rebuilt, damage=why, unread=self.unread)

    def _commit(self, view: View | None, after: Manifest, control: Control, for_s: float, *, clear: bool) -> dict[str, str]:
        """Make a commit of the groups that differ from the files of *after*; return the unreadable files, with the reason."""
        engine = (view and view.engine) or Engine(self._files.disk, self._folder, new=True)
        with engine.writing(clear=clear) as writing:
            groups, unread = self._write_groups(writing, after, control, for_s)
            after = replace(after, groups=groups)
            writing.keep(render_manifest(after))
        with self._changing:
            engine.look_at_parts()
            self._view = replace(self._empty, engine=engine, manifest=after)
        return unread

    def _write_groups(
        self, writing: Writing, after: Manifest, control: Control, for_s: float
    ) -> tuple[dict[str, Group], dict[str, str]]:
        """
        Write the groups that differ, the newest first; return all groups, and the unreadable files, with the reason.

        After *for_s* seconds those that are made are enough, one at least. InterruptedError if *control* says stop between two.
        """
        gone, unread, differing, deadline = after.gone(), dict[str, str](), after.differing(), NEVER
        groups = {name: group for name, group in after.groups.items() if name not in gone}
        for name in gone:
            writing.delete(name)
        for done, (name, files) in enumerate(differing.items()):
            if deadline.is_over:
                break
            if control.should_stop():
                raise InterruptedError(errno.EINTR, "told to stop")
            if len(differing) >= _LONG:
                control.progress("index", done, len(differing))
            writing.delete(name)
            try:
                groups[name] = Group(keys_of(files), *writing.add(self._documents(name, files)))
            except Exception as error:  # noqa: BLE001 - a bug that one file triggers must cost that file alone
                # without keys it differs from its files, and is tried again
                groups[name] = Group((), 0, (0,) * len(CONTEXT_WIDTHS))
                unread.update(dict.fromkeys(files, type(error).__name__))
            deadline = deadline if done else within(for_s)  # the first group loads the libraries
        return groups, unread

    def _scan(self, known: Mapping[str, Record]) -> Scan:
        summaries: dict[Period, Summary] = {}
        with contextlib.suppress(OSError):
            summaries = self._memory.summaries()
        changes = scan(self._files, self._paths, known, summaries)
        self.unread = changes.unread
        return changes

    def _opened(self) -> View | None:
        """
        Return the view of the last commit, opened if it is new; None if there is none that can be read, or of this version.

        The view that is open stays: its files may be deleted, but this process still has them open.
        """
        with self._changing:
            for _ in range(_OPENINGS):
                stat, view = self.commit_on_disk(), self._view
                if stat is None or stat == self._damaged:
                    return None
                if stat == view.commit:
                    return view
                try:
                    opened = self._open()
                except BadFile as error:
                    if self.commit_on_disk() != stat:
                        continue  # another process has made a new commit and deleted the files of this one
                    self._damaged, self.damage = stat, error.why
                    return None
                if opened and opened.manifest.version == VERSION:
                    self._view, self.damage = opened, ""
                    return opened
                self._damaged = stat if opened else self._damaged
                return None
        return None

    def _open(self) -> View | None:
        """Return the view of the commit on disk; None if its process was killed before it was finished. BadFile for damage."""
        engine = Engine(self._files.disk, self._folder, new=False)
        if not engine.parts:
            return None
        try:
            return replace(self._empty, engine=engine, manifest=parse_manifest(engine.note()))
        except ValueError:
            raise BadFile(self._folder, Text("it has no valid manifest")) from None

    # ── searching ────────────────────────────────────────────────────────────

    def search(
        self, read: Callable[[View], SearchResult], deadline: Deadline = NEVER, names: Collection[str] = ()
    ) -> SearchResult:
        """Return the answer that *read* gives for the view, without hits of a file that has changed (`read_current`)."""
        answer, changed = self.read_current(read, lambda answer: (hit.unit.path for hit in answer.hits), names, deadline)
        return replace(answer, hits=tuple(hit for hit in answer.hits if hit.unit.path not in changed))

    def read_current(
        self,
        read: Callable[[View], T],
        paths: Callable[[T], Iterable[str]],
        names: Collection[str] = (),
        deadline: Deadline = NEVER,
    ) -> tuple[T, set[str]]:
        """
        Return what *read* returns for the view, again if one of the *paths* has changed, and the paths that still have.

        The view is that of `_current`. A commit that turns out to be damaged is discarded.
        """
        view = self._current(names, deadline)
        try:
            result, changed = self._read(view, read, paths)
        except BadFile as error:
            self.discard_commit(view.commit, error.why)
            result, changed = self._read(self._current(names, deadline), read, paths)
        if changed:
            self.hold_changes(deadline, changed)
            result, changed = self._read(self._view, read, paths)
        return result, changed

    def _read(self, view: View, read: Callable[[View], T], paths: Callable[[T], Iterable[str]]) -> tuple[T, set[str]]:
        if view.engine:
            view.engine.refuse_truncated()
        result = read(view)
        return result, view.changed(self._files.disk, self._paths.root, paths(result))

    def _current(self, names: Collection[str], deadline: Deadline) -> View:
        """Return the view with the dated files of these *names*, and the long-term file, as they are now, if there is time."""
        with self._changing:  # in one step: a commit of another thread may be of the files as they were before
            with contextlib.suppress(OSError):
                self._opened()
            view = self._view
            files = view.manifest.files
            lacks_a_name = not {path.rpartition("/")[2] for path in files}.issuperset(names)
            if view.engine is None or lacks_a_name or has_new_long_term(self._files, self._paths, files):
                self.hold_changes(deadline)
            return self._view

    def frequency(self, word: str) -> int:
        """Return how many passages contain the word; BadFile if the index is damaged."""
        return self._view.corpora[0].frequency(word)
