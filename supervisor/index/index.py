"""
The index of memory under `.recalld/index/`: brought up to date, made anew where it is damaged, and searched.

It can be deleted or damaged at any moment and is made anew (architecture.md, rule 1). One writer at a time, under
`index.lock`; who does not get the lock searches the last commit, and what has changed since in memory. A search looks at the
files it is about to cite: where one has changed, the answer is made from what it says now.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from supervisor.index.chunking import VERSION as CUT
from supervisor.index.commit import Changes, Inventory, commit, difference, differing_files
from supervisor.index.documents import documents
from supervisor.index.engine import VERSION as SCHEMA
from supervisor.index.engine import Engine
from supervisor.index.manifest import Manifest
from supervisor.index.scan import rescan, scan
from supervisor.index.snapshot import View, has_changed, open_commit, refuse_truncated, view_after_commit, with_overlay
from supervisor.protocol.clock import NEVER
from supervisor.protocol.errors import BadFile, Busy
from supervisor.text.tokenizer import VERSION as WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from supervisor.archive.coverage import ExistingSummary
    from supervisor.archive.memory_folder import MemoryFolder
    from supervisor.index.documents import Document
    from supervisor.index.hit import Hit, Tier
    from supervisor.index.manifest import Record
    from supervisor.index.scan import Scan
    from supervisor.protocol.clock import Deadline
    from supervisor.protocol.disk import Stat
    from supervisor.protocol.files import Files
    from supervisor.protocol.paths import WorkspacePaths
    from supervisor.protocol.period import Period
    from supervisor.query.parse import Query

#: What an index must be made with to be read.
VERSION: Final = f"{SCHEMA}.{WORDS}.{CUT}"
#: How often a commit is opened while others come; after that it is as if there were none.
_OPENINGS: Final = 3


class Index:
    """
    The index of the workspace of *layout*; *k1* and *b* are BM25's, days are those of *zone*.

    One thread may search while another brings it up to date.
    """

    def __init__(
        self, files: Files, paths: WorkspacePaths, memory: MemoryFolder, zone: tzinfo, k1: float = 1.2, b: float = 0.75
    ) -> None:
        self._files, self._paths, self._memory, self._zone = files, paths, memory, zone
        self._folder, self._lock = paths.state / "index", paths.state / "index.lock"
        #: tantivy's own list of what is committed: another stat, another commit.
        self._commits = self._folder / "meta.json"
        self._view = View(k1=k1, b=b)
        #: The commit that was found damaged, or made by another version: it is not opened again.
        self._damaged: Stat | None = None
        #: How many groups of files have changed and are not searched: time was up, or they are too many to be held.
        self.left = 0
        #: Asked between two groups of an update; told to stop, it leaves the last commit as it is.
        self.should_stop: Callable[[], bool] = lambda: False
        #: Told how far an update has come: what, how many of how many.
        self.progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None

    @property
    def file_count(self) -> int:
        """How many files are searched."""
        return self._view.file_count

    @property
    def is_readable(self) -> bool:
        """Whether there is an index that is searched; without, it is what memory holds."""
        return self._view.engine is not None

    @property
    def current_commit(self) -> Stat | None:
        """What tells the commit that was last opened or made here from others."""
        return self._view.commit

    def commit_on_disk(self) -> Stat | None:
        """Return what tells the commit that is there from others, None where there is none."""
        return self._files.disk.stat(self._commits)

    def records(self) -> Mapping[str, Record]:
        """Return the files as they were last looked at, by path; the last commit's are read where nothing was yet."""
        with contextlib.suppress(OSError):
            self._opened_quietly()
        return {path: record for path, record in self._view.manifest.files.items() if not record.excluded}

    def inventory(self) -> Inventory:
        """Return what the last commit holds, nothing where it is damaged, and in how many files memory is otherwise."""
        view = self._opened_quietly()
        known = view.manifest if view else Manifest()
        stats = self._files.disk.stats(self._folder).values()
        return Inventory(
            files=sum(not record.excluded for record in known.files.values()),
            units=sum(group.units for group in known.groups.values()),
            size_bytes=sum(stat.size for stat in stats),
            differing=differing_files(known.files, self._scan(known).files),
        )

    # ── bringing it up to date ───────────────────────────────────────────────

    def update(self, wait_s: float = 0.0, deadline: Deadline = NEVER, *, rebuild: bool = False) -> Changes:
        """
        Bring the index up to date, or make all of it *anew*, and return what has changed.

        Without the lock within *wait_s* seconds the changes are held in memory, for this process alone, as far as the
        *deadline* lets. OSError where the disk refuses, BadFile where the index is damaged.
        """
        self._files.make_folder(self._folder)
        seen: tuple[View, Scan] | None = None
        if not rebuild and (view := self._opened()) and not view.is_ahead:
            found = self._scan(view.manifest)
            if found.files == view.manifest.files:  # as nearly always before a turn: then no lock is waited for
                self.left = 0
                return Changes(unread=found.unread)
            seen = view, found
        try:
            with self._files.lock(self._lock, wait_s):
                return self._write(seen, rebuild=rebuild)
        except Busy:
            return self.hold_changes(deadline)

    def hold_changes(self, deadline: Deadline = NEVER) -> Changes:
        """Take in memory what has changed since the last commit, for this process alone, the newest first."""
        with contextlib.suppress(OSError):
            self._opened()
        return self._hold(self._scan(self._view.manifest), deadline)

    def discard_commit(self) -> None:
        """Do without the commit that was found damaged: the next update makes another, until then memory is searched."""
        self._view = View(manifest=replace(self._view.manifest, groups={}), k1=self._view.k1, b=self._view.b)
        if self.commit_on_disk() == self._damaged:
            with contextlib.suppress(OSError):
                self._files.remove(self._commits)  # so that other processes know

    def _hold(self, found: Scan, deadline: Deadline) -> Changes:
        before = self._view.manifest
        self._view, self.left = with_overlay(self._view, found.files, self._made, deadline)
        return replace(difference(before.files, found.files), shared=True, unread=found.unread)

    def _write(self, seen: tuple[View, Scan] | None, *, rebuild: bool) -> Changes:
        """Commit what has changed; *seen* is what was found over a view, looked at again where another has committed since."""
        view, was = self._opened(), self._view
        there = [] if view else self._files.disk.names(self._folder)
        has_parts = any(not name.startswith(".") for name in there)
        # a list that is no damaged one names nothing yet: whoever began it was killed
        rebuilt = not view and bool(was.commit or self._damaged or (has_parts and self._commits.name not in there))
        for name in sorted(there, key=lambda name: name != self._commits.name):  # the list first: it names no file that is gone
            self._files.disk.unlink(self._folder / name)
        before = view.manifest if view else replace(was.manifest, groups={})
        found = seen[1] if seen and seen[0] is view else self._scan(before)
        unread: dict[str, str] = {}
        if rebuild or not view or view.is_ahead or found.files != before.files:
            unread = self._commit(view, Manifest(VERSION, found.files, {} if rebuild else before.groups), clear=rebuild)
        self.left = 0
        changes = difference({} if rebuild else before.files, found.files)
        return replace(changes, new=not view and not rebuilt, rebuilt=rebuilt, unread={**found.unread, **unread})

    def _commit(self, view: View | None, after: Manifest, *, clear: bool) -> dict[str, str]:
        """Make a commit on that of *view*, or the first one; returns by path what could not be read."""
        disk, engine = self._files.disk, (view and view.engine) or Engine(str(self._folder), new=True)
        try:
            if view:
                refuse_truncated(disk, view)  # a merge would read it, and that could end the process
            after, unread = commit(engine, after, self._made, self.should_stop, self.progress, clear=clear)
            if view:
                refuse_truncated(disk, view)  # else the new list would vouch for what was cut off meanwhile
            self._view = view_after_commit(engine, after, disk, self._commits, self._view)
        except BadFile:
            self._damaged = self.commit_on_disk()
            raise
        return unread

    def _made(self, group: str, members: Mapping[str, Record]) -> Iterator[Document]:
        return documents(self._files, self._paths, group, members, self._zone)

    def _scan(self, known: Manifest) -> Scan:
        summaries: dict[Period, ExistingSummary] = {}
        with contextlib.suppress(OSError):
            summaries = self._memory.summaries()
        return scan(self._files, self._paths, known.files, summaries)

    def _opened(self) -> View | None:
        """
        Return the view of the last commit, opened where another was; None where there is none, or of another version.

        BadFile where it can't be read, once; then it is as if there were none.
        """
        for _ in range(_OPENINGS):
            stat, view = self.commit_on_disk(), self._view
            if stat is None or stat == self._damaged:
                return None
            if stat == view.commit:
                return view
            try:
                found = open_commit(self._files.disk, self._commits, stat, view)
            except BadFile:
                if self.commit_on_disk() != stat:
                    continue  # another process has just made another, and taken the files of this one away
                self._damaged = stat
                raise
            if found and found.manifest.version == VERSION:
                self._view, self.left = found, 0
                return found
            if found:
                # what was open is searched on: the files that it was read from may be gone, but not for us
                self._damaged = stat
            return None
        return None

    def _opened_quietly(self) -> View | None:
        """Return the same, None where it can't be read: who searches or updates next hears of that."""
        try:
            return self._opened()
        except BadFile:
            self._damaged = None
            return None

    # ── searching it ─────────────────────────────────────────────────────────

    def search(
        self,
        query: Query,
        limit: int,
        tiers: Sequence[Collection[Tier] | None] = (None,),
        least: float = 0.0,
        share: float = 0.0,
        deadline: Deadline = NEVER,
    ) -> list[Hit]:
        """
        Return what answers, best first, ties in 003's order of tiers, the newest first.

        *tiers* come one behind the other, at most *limit* of each; None are all. What scores below *least*, or below that
        *share* of the best, is left out, and what a file no longer says. BadFile where the index is damaged.
        """
        with contextlib.suppress(OSError):
            self._opened()
        if self._view.engine is None:
            self.hold_changes(deadline)
        view = self._view
        try:
            refuse_truncated(self._files.disk, view)
            found = view.found(query, tiers, limit, least, share)
            if changed := self._changed(view, found):
                self._hold(rescan(self._files, self._paths, view.manifest.files, changed), deadline)
                view = self._view
                found = view.found(query, tiers, limit, least, share)
                changed = self._changed(view, found)
            return [view.hit(query, one, path) for one, path in found if path not in changed]
        except BadFile:
            self._damaged = view.commit
            raise

    def frequency(self, word: str) -> int:
        """Return in how many units the word stands; BadFile where the index is damaged."""
        return self._view.corpora[0].frequency(word)

    def _changed(self, view: View, found: Iterable[tuple[object, str]]) -> set[str]:
        """Return which of the files found are others than the view knows."""
        paths = dict.fromkeys(path for _, path in found)
        return {path for path in paths if has_changed(self._files.disk, self._paths.root, view, path)}
