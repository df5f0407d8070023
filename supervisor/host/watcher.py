"""
How the supervisor notices changed files: `watch` for file events, `ChangeDetector` for the poll.

File events are hints, so that a change is handled at once and not after a second. The poll compares stats and finds whatever
the events miss. Files that are only read, and recalld's own state in .recalld, count for neither.
"""

from __future__ import annotations

import stat as modes
from typing import TYPE_CHECKING, TypeAlias

from watchdog.events import (
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from recalld.supervisor.protocol.paths import is_foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.protocol.queue import TaskQueue
    from recalld.supervisor.storage.disk import Disk, Stat

Signature: TypeAlias = "tuple[tuple[Path, Stat | None], ...]"
#: Without opened and closed-without-write events: the supervisor's own reading would wake it for ever.
_CHANGES = [FileClosedEvent, FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent]


def watch(paths: WorkspacePaths, hint: Callable[[str], None]) -> Callable[[], None]:
    """
    Call *hint* with a file's name after each change in the workspace, except in .recalld; return the function that ends it.

    OSError if the system offers no file events.
    """
    observer = Observer()
    handler = _Hints(hint)
    for folder, recursive in ((paths.root, False), (paths.memory, True), (paths.drop_box, False)):
        observer.schedule(handler, str(folder), recursive=recursive, event_filter=_CHANGES)
    observer.schedule(handler, str(paths.worker / "results"), recursive=False, event_filter=_CHANGES)
    observer.daemon = True
    observer.start()

    def stop() -> None:
        observer.stop()
        observer.join(2)

    return stop


class ChangeDetector:
    """Compares the stats of a workspace's files with those of the last call; at the first call everything has changed."""

    def __init__(self, disk: Disk, paths: WorkspacePaths, task_queue: TaskQueue) -> None:
        self._disk = disk
        self._paths = paths
        self._near = (paths.history, paths.drop_box, task_queue.results, task_queue.provider_state, paths.archive_request)
        self._near_before: Signature = ()
        self._tree_before: Signature = ()

    def near_changed(self) -> bool:
        """Return whether the history, drop-box, results, the model's state or a request have changed; costs a few stats."""
        before, self._near_before = self._near_before, tuple((path, self._disk.stat(path)) for path in self._near)
        return before != self._near_before

    def tree_changed(self) -> bool:
        """Return whether a file of memory has changed, appeared or disappeared; costs one stat for each."""
        before, self._tree_before = self._tree_before, tuple(self._memory())
        return before != self._tree_before

    def _memory(self) -> Iterator[tuple[Path, Stat | None]]:
        """Yield the long-term files, and every Markdown file and folder below memory/."""
        long_term = (self._paths.root / "memory.md", self._paths.root / "MEMORY.md")
        yield from ((path, self._disk.stat(path)) for path in long_term)
        folders = [self._paths.memory]
        while folders:
            folder = folders.pop()
            try:
                names = self._disk.names(folder)
            except PermissionError:  # the index reports it, and what is in other folders is still noticed
                continue
            for name in names:
                if is_foreign(name):
                    continue
                path, found = folder / name, self._disk.stat(folder / name)
                if name.endswith(".md"):
                    yield path, found
                elif found and modes.S_ISDIR(found.mode):
                    yield path, found
                    folders.append(path)


class _Hints(FileSystemEventHandler):
    def __init__(self, hint: Callable[[str], None]) -> None:
        self._hint = hint

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Pass a change on, unless the file is one of recalld's state or an editor's."""
        for path in (str(event.src_path), str(event.dest_path)):
            name = path.rsplit("/", 1)[-1]
            if path and not is_foreign(name) and not name.endswith((".lock", ".bak", ".jsonl", ".gz")):
                self._hint(name)
