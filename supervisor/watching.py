"""
File events, as hints: something in the workspace was written, moved or deleted, so look now and not in a second.

What was only opened or read counts for nothing, nor does the machine's own state; whatever is missed here, the poll finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

from supervisor.protocol.layout import is_foreign

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.protocol.layout import Layout

#: A closed-without-write or opened event is our own reading; acting on it would wake us for ever.
_CHANGES = [FileClosedEvent, FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent]


class _Hints(FileSystemEventHandler):
    def __init__(self, hint: Callable[[str], None]) -> None:
        self._hint = hint

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Pass a change on, unless it is one of the machine's own files or an editor's."""
        for path in (str(event.src_path), str(event.dest_path)):
            name = path.rsplit("/", 1)[-1]
            if path and not is_foreign(name) and not name.endswith((".lock", ".bak", ".jsonl", ".gz")):
                self._hint(name)


def watch(layout: Layout, hint: Callable[[str], None]) -> Callable[[], None]:
    """
    Call *hint* with a file's name after every change below the workspace, but .recalld; returns what ends it.

    OSError where it can't.
    """
    observer = Observer()
    handler = _Hints(hint)
    for folder, recursive in ((layout.root, False), (layout.memory, True), (layout.drop_box, False)):
        observer.schedule(handler, str(folder), recursive=recursive, event_filter=_CHANGES)
    observer.schedule(handler, str(layout.worker / "results"), recursive=False, event_filter=_CHANGES)
    observer.daemon = True
    observer.start()

    def stop() -> None:
        observer.stop()
        observer.join(2)

    return stop
