"""
How the supervisor notices changed files: `watch` for file events, `ChangeDetector` for the poll.

File events are hints, so that a change is handled at once instead of after a second. The poll compares stats and finds
whatever the events miss. Neither reacts to files that are only read, nor to recalld's own state in .recalld.
"""

from __future__ import annotations

import stat as modes
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from watchdog.events import (
    DirDeletedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from ..protocol.paths import LONG_TERM, WorkspacePaths, is_foreign, is_on_local_disk
from ..storage.disk import Disk, Stat

if TYPE_CHECKING:
    from ..protocol.queue import TaskQueue

#: The most files in unchanged folders whose stat one call of `tree_changed` takes.
_FILES_EACH: Final = 100
Signature: TypeAlias = "tuple[tuple[Path, Stat | None], ...]"
#: Without the events of opening and of closing unwritten files: the supervisor's own reading would wake it for ever.
_CHANGES = [DirDeletedEvent, FileClosedEvent, FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent]


class Watching(NamedTuple):
    """File events of a workspace: what ends them, and whether they tell of every change that a person waits for."""

    stop: Callable[[], None]
    sees_all: Callable[[], bool]


def watch(paths: WorkspacePaths, hint: Callable[[str], None]) -> Watching:
    """
    Call *hint* with a file's name after each change in the workspace; of .recalld, after a request alone.

    The events do not tell of every change where another system may write to the disk, or where a folder was deleted. OSError if
    the system offers no file events.
    """
    observer = Observer()
    handler, requests = _Hints(hint, is_hint), _Hints(hint, {paths.archive_request.name, paths.forgotten.name}.__contains__)
    for folder, recursive in ((paths.root, False), (paths.memory, True), (paths.drop_box, False)):
        observer.schedule(handler, str(folder), recursive=recursive, event_filter=_CHANGES)
    observer.schedule(handler, str(paths.worker / "results"), recursive=False, event_filter=_CHANGES)
    observer.schedule(requests, str(paths.state), recursive=False, event_filter=[FileCreatedEvent, FileMovedEvent])
    observer.daemon = True
    observer.start()
    is_local = is_on_local_disk(paths)

    def stop() -> None:
        observer.stop()
        observer.join(2)

    def sees_all() -> bool:
        return is_local and all(emitter.is_alive() for emitter in observer.emitters)

    return Watching(stop, sees_all)


class ChangeDetector:
    """Compares the stats of a workspace's files with those of the last call; at the first call everything has changed."""

    def __init__(self, disk: Disk, paths: WorkspacePaths, task_queue: TaskQueue) -> None:
        self._disk = disk
        self._paths = paths
        self._near = (paths.history, paths.drop_box, paths.archive_request, paths.forgotten)
        self._near_before: Signature = ()
        #: Whether a round has emptied the drop-box: a file that comes in the same instant leaves its stat as it is.
        self._is_emptied = False
        self._tasks = (task_queue.queue, task_queue.running, task_queue.results, task_queue.provider_state)
        self._tasks_before: Signature = ()
        self._inbox = paths.inbox
        self._inbox_before: Stat | object | None = object()
        self._folders: dict[Path, _Listed] = {}
        self._next_file = 0

    def near_changed(self) -> bool:
        """Return whether history.json, the drop-box or a request has changed; costs four stats."""
        before, self._near_before = self._near_before, self._signature(self._near)
        if before != self._near_before:
            self._is_emptied = False
            return True
        return self._is_emptied and bool(self._disk.names(self._near[1]))

    def note_emptied(self) -> None:
        """Take the drop-box for known if it is empty: a round has taken what was in it."""
        stat = self._disk.stat(self._near[1])
        self._is_emptied = not self._disk.names(self._near[1])
        if self._is_emptied:
            self._note(self._near[1], stat)

    def _note(self, known: Path, stat: Stat | None) -> None:
        self._near_before = tuple((path, stat if path == known else before) for path, before in self._near_before)

    def tasks_changed(self) -> bool:
        """Return whether tasks, their results or the state of the model have changed; costs four stats."""
        before, self._tasks_before = self._tasks_before, self._signature(self._tasks)
        return before != self._tasks_before

    def inbox_changed(self) -> bool:
        """Return whether inbox.json has changed; costs one stat."""
        before, self._inbox_before = self._inbox_before, self._disk.stat(self._inbox)
        return before != self._inbox_before

    def tree_changed(self) -> bool:
        """
        Return whether a file of memory has changed, appeared or disappeared.

        Costs a stat for each folder and for `_FILES_EACH` files in turn: a file that is written in place is found after some
        calls, and at once by the events.
        """
        before, self._folders = self._folders, {}
        folders, changed = [self._paths.root, self._paths.memory], False
        while folders:
            folder = folders.pop()
            known, stat = before.get(folder), self._disk.stat(folder)
            if known is None or known.stat != stat or known.is_new:
                listed = self._list(folder, stat, is_new=known is None or known.stat != stat)
                changed = changed or known is None or known.files != listed.files
            else:
                listed = known
            self._folders[folder] = listed
            folders += listed.folders
        return self._files_changed() or changed or before.keys() != self._folders.keys()

    def _signature(self, paths: tuple[Path, ...]) -> Signature:
        return tuple((path, self._disk.stat(path)) for path in paths)

    def _list(self, folder: Path, stat: Stat | None, *, is_new: bool) -> _Listed:
        """Return the long-term files of the root, and every Markdown file and folder of another *folder*."""
        listed = _Listed(stat, is_new)
        try:
            names = LONG_TERM[:2] if folder == self._paths.root else self._disk.names(folder)
        except PermissionError:  # the index reports it; changes in other folders are still found
            return listed
        for name in names:
            if is_foreign(name):
                continue
            path = folder / name
            found = self._disk.stat(path)
            if name.endswith(".md"):
                listed.files[path] = found
            elif found and modes.S_ISDIR(found.mode):
                listed.folders.append(path)
        return listed

    def _files_changed(self) -> bool:
        """Look at the next `_FILES_EACH` files and return whether one has changed."""
        files = [(listed.files, path) for listed in self._folders.values() for path in listed.files]
        first = self._next_file if self._next_file < len(files) else 0
        self._next_file = first + _FILES_EACH
        changed = False
        for known, path in files[first : self._next_file]:
            before, known[path] = known[path], self._disk.stat(path)
            changed = changed or before != known[path]
        return changed


@dataclass(slots=True)
class _Listed:
    """
    The files and folders of a folder, as of its *stat*.

    A *new* list is made again at the next look: more files may have come in the same instant.
    """

    stat: Stat | None
    is_new: bool
    files: dict[Path, Stat | None] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)


class _Hints(FileSystemEventHandler):
    def __init__(self, hint: Callable[[str], None], counts: Callable[[str], bool]) -> None:
        self._hint = hint
        self._counts = counts

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Report a change."""
        for path in (str(event.src_path), str(event.dest_path)):
            name = path.rsplit("/", 1)[-1]
            if path and self._counts(name):
                self._hint(name)


def is_hint(name: str) -> bool:
    """Return whether a change of the file counts: it is no part of recalld's state, and no editor's temporary file."""
    return not is_foreign(name) and not name.endswith((".lock", ".bak", ".jsonl", ".gz"))
