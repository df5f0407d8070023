"""
File events of any number of folders through one inotify descriptor and one thread.

watchdog has a thread for each folder, and a fleet watches thousands. Events are hints: where the system has no room for a
watch, or drops events, the looks find every change. Source: inotify(7).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import threading
from typing import TYPE_CHECKING, Final

from recalld.supervisor.host.watcher import Watching, is_hint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recalld.supervisor.protocol.paths import WorkspacePaths

_CLOSE_WRITE, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x8, 0x40, 0x80, 0x100, 0x200
_OVERFLOW: Final = 0x4000
_ONLY_FOLDERS, _FOLLOW_NO_LINK = 0x0100_0000, 0x0200_0000
_MASK: Final = _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLY_FOLDERS | _FOLLOW_NO_LINK
#: The head of an event: watch, mask, cookie, and the length of the name behind it.
_HEAD: Final = struct.Struct("iIII")
_READ_BYTES: Final = 1 << 16


class FileEvents:
    """Calls a function with the name of each file that changes in a watched folder; OSError where the system has no inotify."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._handle = self._called("inotify_init1", os.O_CLOEXEC)
        self._hints: dict[int, Callable[[str], None]] = {}
        self._is_over = False
        threading.Thread(target=self._read, name="file events", daemon=True).start()

    def watch(self, paths: WorkspacePaths, hint: Callable[[str], None]) -> Watching:
        """Watch where messages, inputs and results of a workspace arrive."""
        stop = self.watch_folders((paths.root, paths.drop_box, paths.worker / "results"), hint)
        return Watching(stop, _sees_all)

    def watch_folders(self, folders: tuple[Path, ...], hint: Callable[[str], None]) -> Callable[[], None]:
        """Watch these folders; return the function that ends it."""
        watches: list[int] = []

        def stop() -> None:
            for watch in watches:
                self._hints.pop(watch, None)
                with contextlib.suppress(OSError):  # the folder is gone, and the watch with it
                    self._called("inotify_rm_watch", self._handle, watch)

        try:
            for folder in folders:
                watch = self._called("inotify_add_watch", self._handle, os.fsencode(folder), _MASK)
                self._hints[watch] = hint
                watches.append(watch)
        except OSError:
            stop()
            raise
        return stop

    def close(self) -> None:
        """End the thread: removing a watch is an event, too."""
        self._is_over = True
        with contextlib.suppress(OSError):
            watch = self._called("inotify_add_watch", self._handle, b"/", _DELETE)
            self._called("inotify_rm_watch", self._handle, watch)

    def _called(self, name: str, *arguments: object) -> int:
        found: int = getattr(self._libc, name)(*arguments)
        if found < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return found

    def _read(self) -> None:
        while not self._is_over:
            data = os.read(self._handle, _READ_BYTES)
            at = 0
            while at < len(data):
                watch, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size + length
                self._pass_on(watch, mask, os.fsdecode(data[at - length : at].rstrip(b"\0")))
        os.close(self._handle)

    def _pass_on(self, watch: int, mask: int, name: str) -> None:
        if mask & _OVERFLOW:
            for hint in dict.fromkeys(list(self._hints.values())):
                hint("")
        elif (found := self._hints.get(watch)) and is_hint(name):
            found(name)


def _sees_all() -> bool:
    return True
