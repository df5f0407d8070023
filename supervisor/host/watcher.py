"""
How the supervisor notices changes: `watch` for file events, `ChangeDetector` for the poll, `ConfigWatch` for recalld.toml.

File events are hints, so that a change is handled at once instead of after a second. The poll compares stats and finds
what events miss. Neither reacts to files that are only read, nor, but for the list of what was forgotten, to .recalld/.
"""

import logging
import stat as modes
from collections.abc import Callable
from pathlib import Path

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

from ..protocol.config import FILE, Config
from ..protocol.paths import LONG_TERM, WorkspacePaths, is_foreign
from ..protocol.queue import TaskQueue
from ..storage.disk import Disk, Stat
from ..storage.errors import BadConfig
from ..storage.texts import Text
from ..workspace import Workspace

#: Without the events of opening and of closing unwritten files: the supervisor's own reading would wake it for ever.
_CHANGES = [DirDeletedEvent, FileClosedEvent, FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent]


def watch(paths: WorkspacePaths, hint: Callable[[str], None]) -> Callable[[], None]:
    """
    Call *hint* with a file's name after each change in the workspace; of .recalld, after a request alone.

    Returns what ends it. OSError if the system offers no file events.
    """
    logging.getLogger("watchdog").addHandler(logging.NullHandler())  # one that ends at once would say so on standard error
    observer = Observer()
    handler, requests = _Hints(hint, is_hint), _Hints(hint, {paths.archive_request.name, paths.forgotten.name}.__contains__)
    for folder, recursive in ((paths.root, False), (paths.memory, True), (paths.drop_box, False)):
        observer.schedule(handler, str(folder), recursive=recursive, event_filter=_CHANGES)
    observer.schedule(handler, str(paths.worker / "results"), recursive=False, event_filter=_CHANGES)
    observer.schedule(requests, str(paths.state), recursive=False, event_filter=[FileCreatedEvent, FileMovedEvent])
    observer.daemon = True
    observer.start()

    def stop() -> None:
        observer.stop()
        observer.join(2)

    return stop


class _Hints(FileSystemEventHandler):
    def __init__(self, hint: Callable[[str], None], counts: Callable[[str], bool]) -> None:
        self._hint, self._counts = hint, counts

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Report a change."""
        for path in (str(event.src_path), str(event.dest_path)):
            name = path.rsplit("/", 1)[-1]
            if path and self._counts(name):
                self._hint(name)


def is_hint(name: str) -> bool:
    """Return whether a change of the file counts: it is no part of recalld's state, and no editor's temporary file."""
    return not is_foreign(name) and not name.endswith((".lock", ".bak", ".jsonl", ".gz"))


class ChangeDetector:
    """Compares the stats of a workspace's files with those of the last call; at the first call everything has changed."""

    def __init__(self, disk: Disk, paths: WorkspacePaths, task_queue: TaskQueue) -> None:
        self._disk = disk
        self._paths = paths
        self._tasks = (task_queue.queue, task_queue.running, task_queue.results, task_queue.provider_state)
        #: What the last call of each method saw.
        self._seen: dict[str, object] = {}
        #: The names in the drop-box: only a new one is a change.
        self._dropped: set[str] = set()

    def near_changed(self) -> bool:
        """
        Return whether history.json, a request, the tasks, their results or the state of the model have changed.

        Of the drop-box a new file counts. Costs a list and seven stats.
        """
        paths = self._paths
        near = self._stats(paths.history, paths.archive_request, paths.forgotten, *self._tasks)
        has_changed = self._differs("near", near)
        known, self._dropped = self._dropped, set(self._disk.names(paths.drop_box))
        return has_changed or bool(self._dropped - known)

    def inbox_changed(self) -> bool:
        """Return whether inbox.json has changed; costs one stat."""
        return self._differs("inbox", self._stats(self._paths.inbox))

    def tree_changed(self) -> bool:
        """Return whether a file of memory has changed, appeared or disappeared; costs a stat for each of them."""
        root = self._paths.root
        tree: dict[Path, object] = {root: self._stats(*(root / name for name in LONG_TERM[:2]))}
        folders = [self._paths.memory]
        while folders:
            folder = folders.pop()
            try:
                listed = self._disk.stats(folder)
            except PermissionError:  # the index reports it; changes in other folders are still found
                continue
            tree[folder] = {name: stat for name, stat in listed.items() if name.endswith(".md") and not is_foreign(name)}
            folders += [folder / name for name, stat in listed.items() if modes.S_ISDIR(stat.mode) and not is_foreign(name)]
        return self._differs("tree", tree)

    def _stats(self, *paths: Path) -> list[Stat | None]:
        return [self._disk.stat(path) for path in paths]

    def _differs(self, what: str, now: object) -> bool:
        before, self._seen[what] = self._seen.get(what), now
        return before != now


class ConfigWatch:
    """
    Compares the configuration of *ws* with what *read* returns, which raises BadConfig for a recalld.toml that is wrong.

    A wrong file is reported once, and not used.
    """

    def __init__(self, ws: Workspace, read: Callable[[], Config]) -> None:
        self._ws, self._read = ws, read
        #: The stat of the file, and when it was first seen, by a monotonic clock.
        self._seen: tuple[Stat | object | None, float] = (object(), 0.0)
        #: The stat of the file that was compared last: it may have changed since the workspace was opened.
        self._compared: Stat | object | None = object()
        self._refused = ""
        #: The configuration that was read last and is valid.
        self.valid = ws.config

    def is_changed(self, now_s: float) -> bool:
        """
        True if the configuration has another value; costs a stat while the file is the same.

        A file counts once it has not changed for `care.poll`: an editor may empty it before writing, and without the time zone
        messages would be filed under other days.
        """
        ws = self._ws
        stat = ws.files.disk.stat(ws.paths.config)
        if stat != self._seen[0]:
            self._seen = stat, now_s
        if stat == self._compared or now_s - self._seen[1] < ws.config.care.poll.total_seconds():
            return False
        why = ""
        try:
            config = self._read()
            if config != ws.config and stat is None:  # a program that synchronizes files may put the file back soon
                raise BadConfig(FILE, Text("it is gone; put it back, or start the supervisor again to use the defaults"))
            self.valid = config
        except BadConfig as error:
            why = error.sentence
        self._compared = stat  # not earlier: a file that the disk refused to read is read again
        is_changed = not why and self.valid != ws.config
        if why and why != self._refused:
            ws.events.emit("config_refused", why=why)
        elif is_changed or (self._refused and not why):
            ws.events.emit("config_taken")
        self._refused = why
        return is_changed
