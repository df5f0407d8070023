"""
inbox.json as recalld answers it: read once it stands still, reported where it can't be read, and rid of what is answered.

The file belongs to the assistant. Only elements that have an answer are taken out, the others stay as they are, and nothing is
written where another program has changed the file since it was read. A program that takes `inbox.json.lock` while it writes
excludes recalld (protocol.md, 7.8).
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ..protocol.inbox import parse_inbox, without_inputs
from ..storage.errors import BadFile, Conflict
from ..text.record import record

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..events import Events
    from ..protocol.config import Config
    from ..protocol.message import Message
    from ..protocol.paths import WorkspacePaths
    from ..storage.disk import Stat
    from ..storage.files import Files, FileVersion

_SECOND_NS: Final = 1e9
#: How many times a changed inbox.json is read again for one write.
_TRIES: Final = 5


@record
class Inbox:
    """What was in inbox.json: its inputs, the *digest* of its bytes, and when it was *written*."""

    messages: tuple[Message, ...]
    digest: str
    written: datetime
    stat: Stat


class InboxFile:
    """The inbox of one workspace."""

    def __init__(self, files: Files, paths: WorkspacePaths, config: Config, events: Events) -> None:
        self._files, self._paths, self._config, self._events = files, paths, config, events
        self._broken: tuple[Stat, float] | None = None

    def stat(self) -> Stat | None:
        """Return the stat of the file, None where there is none."""
        return self._files.disk.stat(self._paths.inbox)

    def read(self) -> Inbox | None:
        """Return what waits; None without a file, and while it can't be read, which is reported once it stands still."""
        version = self._files.read_stable(self._paths.inbox)
        if version is None:
            return None
        try:
            messages = parse_inbox(version.data, self._config.archive.zone)
        except ValueError as error:
            self._report_broken(version, str(error))
            return None
        self._events.transition("inbox_invalid", "")
        written = datetime.fromtimestamp(version.stat.mtime_ns / _SECOND_NS, UTC)
        return Inbox(messages, version.digest, written, version.stat)

    def take_out(self, taken: Collection[tuple[str, str]]) -> None:
        """Take the inputs with these ids and words out. Conflict where other programs write the file again and again."""
        with self._files.lock(self._paths.inbox_lock):
            for is_last in (False,) * (_TRIES - 1) + (True,):
                version = self._files.read_stable(self._paths.inbox)
                left = version and without_inputs(version.data, taken, self._config.archive.zone)
                if not left:
                    break
                try:
                    self._files.replace(self._paths.inbox, left, version)
                    break
                except Conflict:
                    if is_last:
                        raise

    def _report_broken(self, inbox: FileVersion, why: str) -> None:
        """Report an unreadable inbox if it has not changed since the last poll; before that, somebody may be writing it."""
        if self._broken is None or self._broken[0] != inbox.stat:
            self._broken = (inbox.stat, time.monotonic())
        if time.monotonic() - self._broken[1] >= self._config.care.poll.total_seconds():
            self._events.transition("inbox_invalid", inbox.digest, why=str(BadFile(self._paths.inbox, why)))
