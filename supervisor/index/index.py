"""
The search index of memory under `.recalld/index/`: update it, rebuild it when it is damaged, and search it.

The folder can be deleted or damaged at any moment: the index is rebuilt from the files (docs/architecture.md,
"Principles"). One process writes at a time, under `index.lock`; another one searches the last commit, with later changes
held in memory. Before a search cites a file it checks whether the file has changed; if so, it searches the present text.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from ..archive.coverage import ExistingSummary
from ..protocol.paths import WorkspacePaths
from ..protocol.period import Period
from ..query.parse import Query
from ..storage.clock import NEVER, Deadline
from ..storage.control import UNENDING, UNLIMITED, Control
from ..storage.disk import Stat
from ..storage.errors import BadFile, Busy
from ..storage.files import Files
from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from ..text.tokenizer import VERSION as WORDS
from .chunking import VERSION as CUT
from .commit import Changes, Inventory, commit, difference, inventory_of
from .documents import documents
from .engine import VERSION as SCHEMA
from .engine import Engine, refuse_damaged, segment_files
from .hit import Answer, Asked
from .manifest import Manifest, Record, parse_manifest
from .overlay import overlay_of
from .scan import Scan, has_new_long_term, rescan, scan
from .view import View

if TYPE_CHECKING:
    from ..archive.memory_folder import MemoryFolder

T = TypeVar("T")

#: An index that was made with another version is rebuilt.
VERSION: Final = f"{SCHEMA}.{WORDS}.{CUT}"
#: The files that tantivy makes; other files in the folder are not touched.
_PARTS: Final = lazy_re(r"[0-9a-f]{32}\.\S+|meta\.json|\.managed\.json|\.tantivy-\w+\.lock|\.tmp\w{6}")
#: Attempts to open the last commit while other processes commit; after that the index counts as absent.
_OPENINGS: Final = 3


class Index:
    """
    The search index of one workspace; *k1* and *b* are the parameters of BM25, *zone* is the time zone of days.

    Threads may search while another one updates the index: each search keeps the view that it began with.
    """

    def __init__(
        self, files: Files, paths: WorkspacePaths, memory: MemoryFolder, zone: tzinfo, k1: float = 1.2, b: float = 0.75
    ) -> None:
        self._files, self._paths, self._memory, self._zone = files, paths, memory, zone
        self._folder, self._lock = paths.state / "index", paths.state / "index.lock"
        #: tantivy's list of committed files, which each commit replaces: a different stat means a different commit.
        self.list_of_files = self._folder / "meta.json"
        self._view = View(k1=k1, b=b)
        #: Returns the documents of a group of files.
        self._documents = partial(documents, files, paths, zone)
        #: Held while the view is replaced, but not while a commit is made.
        self._changing = threading.RLock()
        #: When the index was last opened, searched or updated, by the monotonic clock.
        self.used_s = float("-inf")
        #: The commit that is damaged, or was made by another version; it is not opened again.
        self._damaged: Stat | None = None
        #: Changed groups of files that are not searched, because time was up or too many have changed.
        self.left = 0
        #: Files that the last scan could not read, by path with the reason: they are not searched as they are now.
        self.unread: Mapping[str, str] = {}
        #: Whether a search has found the commit damaged and discarded it; an update sets it back.
        self.is_lost = False

    @property
    def file_count(self) -> int:
        """The number of files that are searched."""
        return self._view.file_count

    @property
    def is_readable(self) -> bool:
        """Whether an index is open; without one only the files held in memory are searched."""
        return self._view.engine is not None

    @property
    def made_percent(self) -> int:
        """How much of memory the index holds, by the bytes of its files: less than 100 while it is being made."""
        left, total = self._view.unmade
        return 100 - -(-100 * left // total) if left else 100

    @property
    def current_commit(self) -> Stat | None:
        """The commit that was last opened or made by this object, None for none."""
        return self._view.commit

    def commit_on_disk(self) -> Stat | None:
        """Return the commit that is on disk, None for none; a link in place of the folder is not followed."""
        with contextlib.suppress(NotADirectoryError):
            self._files.check_folder(self._folder)
            return self._files.disk.stat(self.list_of_files)
        return None

    def records(self) -> Mapping[str, Record]:
        """Return the searched files by path, as they were at the last scan, or in the last commit if there was no scan."""
        with contextlib.suppress(OSError):
            try:
                self._opened()
            except BadFile:
                self._damaged = None  # the next search or update raises the error
        return {path: record for path, record in self._view.manifest.files.items() if not record.excluded}

    def inventory(self) -> Inventory:
        """Return the size of the last commit (zeros if it is damaged), how many files differ from it, and its damage."""
        view, damage = None, ""
        try:
            view = self._opened()
        except BadFile as error:
            self._damaged, damage = None, error.why  # the next search or update raises the error
        known = view.manifest if view else Manifest()
        stats = self._files.disk.stats(self._folder).values() if view else ()
        return inventory_of(known, self._scan(known).files, stats, damage)

    def close(self) -> None:
        """
        Close the open commit, with its files, memory and threads; the next search or update opens it again.

        A running search keeps its commit open until it ends.
        """
        with self._changing:
            self._view = View(k1=self._view.k1, b=self._view.b)

    # ── updating ─────────────────────────────────────────────────────────────

    def update(
        self, wait_s: float = 0.0, control: Control = UNLIMITED, for_s: float = UNENDING, *, rebuild: bool = False
    ) -> Changes:
        """
        Bring the index up to date (*rebuild*: build all of it again) and return what has changed.

        After *for_s* seconds of work the index has what was made by then, and the next update goes on (`made_percent`). If
        another process holds the lock for more than *wait_s* seconds, the changes are held in memory, for this process alone,
        as far as the deadline of *control* allows. If *control* says stop, the last commit is kept (InterruptedError). OSError
        for an error of the disk, or a link in place of the folder; BadFile if the index is damaged.
        """
        self._files.make_folder(self._folder)
        self._files.check_folder(self._folder)
        seen: tuple[View, Scan] | None = None
        if not rebuild and (view := self._opened()) and not view.is_ahead:
            changes = self._scan(view.manifest)
            # nearly always so before a turn: no lock is needed
            if changes.files == view.manifest.files and not view.unmade[0]:
                self.left = 0
                return Changes(unread=changes.unread)
            seen = view, changes
        try:
            with self._files.lock(self._lock, wait_s):
                return self._write(seen, control, for_s, rebuild=rebuild)
        except Busy:
            return self.hold_changes(control.deadline)

    def hold_changes(self, deadline: Deadline = NEVER) -> Changes:
        """Hold in memory the files that have changed since the last commit, for this process alone, the newest first."""
        with self._changing:
            with contextlib.suppress(OSError):
                self._opened()
            before = self._view
            changes = self._scan(before.manifest)
            self._hold(before, changes, deadline)
        return replace(difference(before.manifest.files, changes.files), shared=True, unread=changes.unread)

    def discard_commit(self) -> None:
        """Discard the damaged commit: the next update makes a new one; until then only files held in memory are searched."""
        with self._changing:
            self.is_lost = True
            self._view = View(manifest=replace(self._view.manifest, groups={}), k1=self._view.k1, b=self._view.b)
        if self._damaged and self.commit_on_disk() == self._damaged:
            with contextlib.suppress(OSError):
                self._files.remove(self.list_of_files)  # so that other processes notice

    def _hold(self, view: View, changes: Scan, deadline: Deadline) -> View:
        """Return *view* with the files *changes* held in memory as far as *deadline* allows; later searches begin with it."""
        after = replace(view.manifest, files=changes.files)
        overlay, left = overlay_of(view.overlay, after, self._documents, deadline)
        is_ahead = view.is_ahead or changes.files != view.manifest.files
        now = replace(view, manifest=after, overlay=overlay, is_ahead=is_ahead)
        with self._changing:
            if self._view is view:  # otherwise there is a newer one
                self._view, self.left = now, left
        return now

    def _write(self, seen: tuple[View, Scan] | None, control: Control, for_s: float, *, rebuild: bool) -> Changes:
        """Commit the changes; *seen* is a scan and its view, scanned again if another process has committed since."""
        view, was = self._opened(), self._view
        names = [] if view else [name for name in self._files.disk.names(self._folder) if _PARTS.fullmatch(name)]
        has_parts = any(not name.startswith(".") for name in names)
        # a list without damage or a commit: the process that began it was killed
        rebuilt = not view and bool(was.commit or self._damaged or (has_parts and self.list_of_files.name not in names))
        # delete the list first, so that it never names a missing file
        for name in sorted(names, key=lambda name: name != self.list_of_files.name):
            self._files.disk.unlink(self._folder / name)
        before = view.manifest if view else replace(was.manifest, groups={})
        scanned = seen[1] if seen and seen[0] is view else self._scan(before)
        unread: dict[str, str] = {}
        was_whole = view is not None and not view.unmade[0]
        if rebuild or not view or view.is_ahead or scanned.files != before.files or view.unmade[0]:
            after = Manifest(VERSION, scanned.files, {} if rebuild else before.groups)
            unread = self._commit(view, after, control, for_s, clear=rebuild)
        self.left, self.unread, self.is_lost = 0, {**scanned.unread, **unread}, False
        changes = difference({} if rebuild else before.files, scanned.files)
        is_new = not rebuilt and not was_whole and self.made_percent == 100
        return replace(changes, new=is_new, rebuilt=rebuilt, unread=self.unread)

    def _commit(self, view: View | None, after: Manifest, control: Control, for_s: float, *, clear: bool) -> dict[str, str]:
        disk, engine = self._files.disk, (view and view.engine) or Engine(str(self._folder), new=True)
        try:
            if view:
                view.refuse_truncated(disk)  # a merge would read the truncated file, which could end the process
            after, unread = commit(engine, after, self._documents, control, for_s, clear=clear)
            if view:
                view.refuse_truncated(disk)  # otherwise the new list would make a truncated file look valid
            with self._changing:
                stat = disk.stat(self.list_of_files)
                self._view = self._view_of(engine, after, segment_files(disk, self.list_of_files) or {}, stat)
        except BadFile:
            self._damaged = self.commit_on_disk()
            raise
        return unread

    def _view_of(self, engine: Engine, manifest: Manifest, parts: Mapping[Path, Stat], commit: Stat | None) -> View:
        before = self._view
        return View(engine, manifest, commit=commit, segments=parts, unmade=manifest.unmade(), k1=before.k1, b=before.b)

    def _scan(self, known: Manifest) -> Scan:
        summaries: dict[Period, ExistingSummary] = {}
        with contextlib.suppress(OSError):
            summaries = self._memory.summaries()
        changes = scan(self._files, self._paths, known.files, summaries)
        self.unread = changes.unread
        return changes

    def _opened(self) -> View | None:
        """
        Return the view of the last commit, opened if it is new; None if there is none, or it is of another version.

        BadFile, once, if the commit can't be read; after that it counts as absent.
        """
        self.used_s = time.monotonic()
        with self._changing:
            return self._open_last()

    def _open_last(self) -> View | None:
        for _ in range(_OPENINGS):
            stat, view = self.commit_on_disk(), self._view
            if stat is None or stat == self._damaged:
                return None
            if stat == view.commit:
                return view
            try:
                opened = self._open(stat)
            except BadFile:
                if self.commit_on_disk() != stat:
                    continue  # another process has made a new commit and deleted the files of this one
                self._damaged = stat
                raise
            if opened and opened.manifest.version == VERSION:
                self._view, self.left = opened, 0
                return opened
            if opened:
                # keep the open view: its files may be deleted, but this process still has them open
                self._damaged = stat
            return None
        return None

    def _open(self, stat: Stat) -> View | None:
        """
        Return the view of the commit on disk, as of *stat*; BadFile if it is damaged.

        None if its list names no files: the first commit is not finished, or its process was killed.
        """
        # the stats are from before the opening, so that the next check sees a change during it
        parts = segment_files(self._files.disk, self.list_of_files)
        if parts is None:
            return None
        refuse_damaged(self._files.disk, parts, stat)
        engine = Engine(str(self._folder), new=False)
        try:
            manifest = parse_manifest(engine.note())
        except ValueError:
            raise BadFile(self._folder, Text("it has no valid manifest")) from None
        return self._view_of(engine, manifest, parts, stat)

    # ── searching ────────────────────────────────────────────────────────────

    def search(
        self,
        query: Query,
        limit: int,
        least: float = 0.0,
        deadline: Deadline = NEVER,
        part: Callable[[View], View] = lambda whole: whole,
        names: Collection[str] = (),
        meaning: Asked | None = None,
        *,
        originals: bool = True,
    ) -> Answer:
        """
        Return the hits, best first, or why there are none (`View.answer`); none of a file that has changed.

        *part* returns what is searched of the view, with messages that no file holds yet. For *names* and errors see
        `read_current`.
        """

        def read(whole: View) -> Answer:
            return part(whole).answer(query, limit, least, meaning, originals=originals)

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

        The view is that of `_current`. BadFile if the index is damaged.
        """
        view, disk, root = self._current(names, deadline), self._files.disk, self._paths.root
        try:
            view.refuse_truncated(disk)
            made = read(view)
            if changed := view.changed(disk, root, paths(made)):
                view = self._hold(view, rescan(self._files, self._paths, view.manifest.files, changed), deadline)
                made = read(view)
                changed = view.changed(disk, root, paths(made))
        except BadFile:
            self._damaged = view.commit
            raise
        return made, changed

    def _current(self, names: Collection[str], deadline: Deadline) -> View:
        """Return the view with the dated files of these *names*, and the long-term file, as they are now, if there is time."""
        with self._changing:  # in one step: a commit of another thread may be of the files as they were before
            with contextlib.suppress(OSError):
                self._opened()
            view = self._view
            is_new = has_new_long_term(self._files, self._paths, view.manifest.files) or not view.file_names.issuperset(names)
            if view.engine is None or is_new:
                self.hold_changes(deadline)
            return self._view

    def frequency(self, word: str) -> int:
        """Return how many passages contain the word; BadFile if the index is damaged."""
        return self._view.corpora[0].frequency(word)
