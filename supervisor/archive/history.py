"""
history.json: the conversation, shared with the assistant and any other program (docs/protocol.md, 2 and 5).

Every change is one read, change and write under the lock, and the last look before the rename catches who ignores it.
What can't be read is never written over: BadFile, until a person or the restore has mended it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from supervisor.protocol.errors import BadFile, Conflict
from supervisor.protocol.lenient_json import parse_json
from supervisor.protocol.message import History, parse_history, render_history

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

    from supervisor.protocol.disk import Stat
    from supervisor.protocol.files import Files, FileVersion
    from supervisor.protocol.paths import WorkspacePaths

_TRIES: Final = 5
#: How often, and after how many seconds each, to look again at a file that can't be read before it counts as damaged.
_LOOKS: Final = 8
_LOOK_AGAIN_S: Final = 0.25


class HistoryStore:
    """The file, and the last version of it that was parsed."""

    def __init__(self, files: Files, paths: WorkspacePaths, zone: tzinfo) -> None:
        self._files = files
        self._paths = paths
        self._zone = zone
        self._stat: Stat | None = None
        self._digest = ""
        self._history: History = ()
        self._damaged: Stat | None = None  # the version that was found damaged, and was not waited for again

    def read(self) -> History:
        """
        Return the messages; none where there is no file and there never was one. The same object while nothing changed.

        BadFile when the file is damaged, or gone although a backup says that it was there.
        """
        stat = self._files.disk.stat(self._paths.history)
        if stat is None or stat != self._stat:
            self._parse(self._whole(stat))
        return self._history

    def change(self, step: Callable[[History], History], then: Callable[[History], None] | None = None) -> History:
        """
        Replace the messages by what *step* makes of them, durably; nothing is written when it changes nothing.

        *step* may be called again when another program wrote meanwhile. *then* is called with the outcome while the lock is
        still held. BadFile as with `read`; Busy when the lock, or a quiet moment, was not to be had.
        """
        path = self._paths.history
        with self._files.lock(self._paths.history_lock):
            for last in (False,) * (_TRIES - 1) + (True,):
                look = self._files.read_stable(path)
                before = self._parse(look)
                after = step(before)
                if after is before or after == before:
                    break
                try:
                    self._write(after, look)
                    break
                except Conflict:
                    if last:
                        raise
            if then:
                then(after)
            return after

    def _whole(self, stat: Stat | None) -> FileVersion | None:
        """Return the file; of one that can't be read, the version that nobody has written to for a while."""
        look = self._files.read_stable(self._paths.history)
        for _ in range(0 if stat == self._damaged else _LOOKS):
            if look is None or self._is_json(look):
                break
            self._files.pause(_LOOK_AGAIN_S)
            look = self._files.read_stable(self._paths.history)
        return look

    def _is_json(self, look: FileVersion) -> bool:
        """Tell whether the bytes are JSON: a program that writes in place may be in the middle of them."""
        try:
            parse_json(look.data)
        except ValueError:
            return False
        return True

    def _write(self, after: History, look: FileVersion | None) -> None:
        try:
            data = render_history(after)
        except RecursionError:
            raise BadFile(self._paths.history, "its nesting is too deep") from None
        self._files.replace(self._paths.history, data, look, keep=self._paths.history_backup)
        # parsed anew at the next look: what we wrote is read like anybody's, and what another program puts back as well
        self._stat, self._digest = None, ""

    def _parse(self, look: FileVersion | None) -> History:
        if look is None:
            self._stat, self._digest, self._history = None, "", ()
            if self._files.disk.stat(self._paths.history_backup):
                raise BadFile(self._paths.history, "it is gone, though its backup is there")
            return self._history
        if look.digest != self._digest:
            try:
                self._history = parse_history(look.data, self._zone)
            except ValueError as error:
                self._stat, self._digest, self._damaged = None, "", look.stat
                raise BadFile(self._paths.history, str(error)) from None
            self._digest = look.digest
        self._stat = look.stat
        return self._history
