"""
Events, one JSON object a line in log.jsonl: for programs, and for the person who asks what happened last night.

Never a message's text. What lasts is told once, when it begins (`edge`). A log that can't be written stops nothing.
Source: docs/protocol.md, 8; 003's companion (rotation at 10 MB or daily, gzip, 30 days, 500 MB).
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from supervisor.protocol.clock import from_wire, to_wire

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from supervisor.protocol.clock import Clock
    from supervisor.protocol.config_keys import Log

#: Every event there is, and what it says.
EVENTS: Final[Mapping[str, str]] = {
    "started": "a supervisor or a worker began",
    "stopped": "it ended, after the step it was in",
    "seen": "new messages were met in history.json or in the drop-box",
    "archived": "an archive run wrote dated files",
    "submitted": "tasks were put into the worker's queue",
    "summarised": "a summary was written",
    "dropped": "a result was set aside: it names less than what stands, or nothing new",
    "summary_failed": "a task failed; its group waits",
    "provider_paused": "the model refuses or can't be reached; nothing is asked of it until the wait is over",
    "provider_back": "the model answers again",
    "calls_spent": "the day's calls are used up; summaries go on tomorrow",
    "archive_backlog": "a group has failed five times (003)",
    "moved": "dated files that a summary covers went to originals/",
    "trimmed": "messages left history.json; their words are in dated files",
    "history_overflow": "un-written messages alone exceed the hard cap (003)",
    "history_invalid": "history.json can't be read; nothing is written to it until it can",
    "quarantine_full": "a damaged file can't be restored, since no further copy of it can be kept",
    "repaired": "`fsck --repair` mended something",
    "history_restored": "history.json was put together again from its backup and the seen journal",
    "put_back": "un-written messages that another program's rewrite had lost were put back",
    "message_odd": "a message can't be understood; it is skipped, and a copy is in quarantine",
    "file_quarantined": "a file can't be read; a copy is in quarantine, unless `copy` says that no more are kept",
    "task_put_back": "a task whose worker died or was silent went back to the queue",
    "index_stale": "the index can't be brought up to date; what is new in memory is not found until it is",
    "index_fresh": "the index is as the files are again",
    "recall_fell": "less of what was archived is found than before",
    "inbox_invalid": "inbox.json can't be read; no context is made ready until it can",
    "index_made": "the index of memory was made: there was none",
    "index_damaged": "the index of memory can't be read; the turn goes on, and the index is made anew",
    "file_unread": "files of memory can't be read or are too large; they are not searched",
    "recall_failed": "a turn got less memory than there is, or none: something could not be read, or time was up",
    "backend_failed": "what scores beside the words can't be had; the words alone score",
    "backend_back": "it answers again",
    "clock_jump": "the clock was moved; nothing that goes by age is begun for a while",
    "supervisor_mute": "a supervisor has the workspace and does not answer; commands do their work themselves",
    "degraded": "the disk refuses to read or write; recalld waits and tries again",
    "recovered": "the disk works again",
    "watch_lost": "file events are not to be had; polling goes on alone",
    "error": "a step failed in a way nobody foresaw; the others went on",
}

#: Bytes at the end of the log in which an event is looked for that another process has told.
_TAIL: Final = 10_000
#: Days after which nothing is older: a hundred years.
_FOR_EVER: Final = 36_500


class Events(Protocol):
    """Where events go: the log, or a list in a test."""

    def emit(self, event: str, **fields: object) -> None:
        """Write one event."""
        ...

    def transition(self, event: str, active: object, cleared: str = "", *, what: str = "", **fields: object) -> None:
        """Write the event when *active* becomes true and the event *cleared* when it ends, separately for each *what*."""
        ...


class EventLog:
    """The log of one workspace. *tell* is called with each event, {ts, event, …}, for who watches."""

    def __init__(
        self, path: Path, clock: Clock, limits: Log, tell: Callable[[Mapping[str, object]], None] | None = None
    ) -> None:
        self._path = path
        self._clock = clock
        self._limits = limits
        self._tell = tell
        self._lasting: dict[tuple[str, str], object] = {}
        self._began: datetime | None = None

    def emit(self, event: str, **fields: object) -> None:
        """Write one event; *fields* are counts, names, groups and durations."""
        if event not in EVENTS:
            raise ValueError(f"{event!r} is not in EVENTS")
        now = self._clock()
        told = {"ts": to_wire(now), "event": event, **fields}
        line = json.dumps(told, ensure_ascii=True)
        try:
            self._rotate(now)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                _add_line(handle, line.encode())
            finally:
                os.close(handle)
        except OSError:
            pass  # a full disk is told of by `degraded`, on the terminal
        if self._tell:
            self._tell(told)

    def transition(self, event: str, active: object, cleared: str = "", *, what: str = "", **fields: object) -> None:
        """
        Write the event when *active* becomes true or another true value; write the event *cleared* when it ends.

        *what* separates causes of the same event. An event that another process wrote near the end of the log is not repeated:
        commands that end after each turn meet the same fault each time.
        """
        key = event, what
        is_first = key not in self._lasting
        before, self._lasting[key] = self._lasting.get(key), active
        if active and active != before:
            if not (is_first and self._is_told({"event": event, **fields}, cleared)):
                self.emit(event, **fields)
        elif before and not active and cleared:
            self.emit(cleared)

    def _is_told(self, event: Mapping[str, object], cleared: str) -> bool:
        """Tell whether this is what the log says last of such events, not over since, and by no supervisor before this one."""
        try:
            with open(self._path, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
                lines = file.read().splitlines()
        except OSError:
            return False
        for line in reversed(lines):
            try:
                found = json.loads(line)
                name = found.pop("event")
                found.pop("ts")
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                continue  # it is cut off, or not ours
            if name == event["event"]:
                return {"event": name, **found} == event
            if name in {cleared, "started"}:
                return False
        return False

    def _rotate(self, now: datetime) -> None:
        """Begin a new file when the old one is full or of another day; delete what is too old or too much."""
        try:
            size = os.stat(self._path).st_size
        except FileNotFoundError:
            self._began = now
            return
        self._began = self._began or self._first(now)
        if size < self._limits.rotate_bytes and abs(now - self._began) < self._limits.rotate_every:
            return
        stems = (f"log-{now:%Y%m%dT%H%M%S}{tail}" for tail in ("", *(f"-{n}" for n in range(2, 1000))))
        old = next(path for stem in stems if not (path := self._path.with_name(f"{stem}.jsonl.gz")).exists())
        with open(self._path, "rb") as source, gzip.open(old, "xb") as target:
            shutil.copyfileobj(source, target)
        os.chmod(old, 0o600)
        os.unlink(self._path)
        self._began = now
        self._forget(now)

    def _first(self, now: datetime) -> datetime:
        """Return when the file was begun: the time of its first line, now where that can't be read."""
        with open(self._path, "rb") as file:
            line = file.readline(500)
        try:
            return from_wire(json.loads(line)["ts"])
        except (ValueError, TypeError, KeyError):
            return now

    def _forget(self, now: datetime) -> None:
        """Delete the oldest files beyond the days and bytes that are kept; their names say when they were put aside."""
        kept, oldest = 0, f"log-{now - timedelta(days=min(self._limits.keep_days, _FOR_EVER)):%Y%m%dT%H%M%S}"
        for path in sorted(self._path.parent.glob("log-*.jsonl.gz"), reverse=True):
            kept += path.stat().st_size
            if kept > self._limits.keep_bytes or path.name < oldest:
                path.unlink()


def _add_line(handle: int, line: bytes) -> None:
    """Add the line at the end, all of it or, on a disk that gets full, none; one that a crash cut off there is ended first."""
    size, written = os.fstat(handle).st_size, 0
    rest = line + b"\n" if not size or os.pread(handle, 1, size - 1) == b"\n" else b"\n" + line + b"\n"
    try:
        while written < len(rest):
            written += os.write(handle, rest[written:])
    except OSError:
        if os.fstat(handle).st_size == size + written:  # else another process has added its own behind
            os.ftruncate(handle, size)
        raise
