"""
The event log, log.jsonl: one JSON object a line, for programs and for a person who asks what happened last night.

An event never contains a message's text. A state that lasts is logged once, when it begins (`transition`). A log that can't be
written stops nothing: *report* is called with that once, and what it would say is not written. Source: protocol.md, 8.

Steps that may fail alone are reported while they fail: `Events.attempt` is for one, `FaultScope` for those of a round together.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from .storage.clock import Clock, from_wire, to_wire
from .storage.disk import open_regular
from .storage.errors import (
    BadConfig,
    InternalError,
    LockLost,
    NewerFormat,
    NoPermission,
    StorageError,
    SupervisorError,
    as_supervisor_error,
    from_os_error,
)
from .storage.texts import Text, msgid, restored, stored
from .text.lazy_re import lazy_re

if TYPE_CHECKING:
    from .protocol.config_keys import Log

T = TypeVar("T")

#: All events, and what each means.
EVENTS: Final[Mapping[str, str]] = {
    "started": msgid("a supervisor or a worker started"),
    "stopped": msgid("it ended, after its current step"),
    "config_taken": msgid("recalld.toml was changed, and the running supervisor uses it now"),
    "config_refused": msgid("recalld.toml was changed and is wrong; the running supervisor keeps the configuration before it"),
    "seen": msgid("new messages were found in history.json or in the drop-box"),
    "archived": msgid("an archive run wrote dated files"),
    "submitted": msgid("tasks were put into the worker's queue"),
    "summarised": msgid("a summary was written"),
    "extracted": msgid("an extract stands as the summary: until the model answers, or since none need be asked"),
    "dropped": msgid("a result was rejected: it covers less than the existing summary, or nothing new"),
    "summary_failed": msgid("a task failed; its group waits for a retry"),
    "provider_paused": msgid("the model refuses or can't be reached; it is not called until the wait is over"),
    "provider_back": msgid("the model answers again"),
    "provider_changed": msgid("another model, server or key is configured than the one that was paused; it is asked at once"),
    "calls_spent": msgid("the calls of the day are used up; summaries go on tomorrow"),
    "pool_waits": msgid("the pool of workers can't be used, or refuses; the tasks wait in their files"),
    "pool_goes_on": msgid("the pool takes tasks again"),
    "archive_backlog": msgid("a group, or the model, has failed five times"),
    "conversation_summarised": msgid("the oldest turns of a running conversation went into its summary"),
    "conversation_failed": msgid("the summary of a running conversation could not be written; all its messages stay"),
    "session_summarised": msgid("messages of a session went into a line of the long-term file"),
    "moved": msgid("dated files that a summary covers went to originals/"),
    "trimmed": msgid("messages were removed from history.json; they are in dated files"),
    "history_overflow": msgid("history.json exceeds a hard cap, and no message in it may leave"),
    "hook_failed": msgid("a client's hook got an event that it can't use, or could not do all of its work; the client went on"),
    "proxy_failed": msgid("memory, or keeping what was said, failed for a turn of the proxy; the turn went on without"),
    "history_invalid": msgid("history.json can't be read; nothing is written to it until it can"),
    "quarantine_full": msgid("a damaged file can't be restored, since no more copies can be kept"),
    "repaired": msgid("`fsck --repair` repaired something, or the nightly check a picture"),
    "forgotten": msgid("what a person asked to forget has left every place"),
    "accepted": msgid("`fsck --accept`: what is missing of a dated file is wanted no more"),
    "history_restored": msgid("history.json was restored from its backup and the seen journal"),
    "taken_in": msgid("messages of a source were added"),
    "source_refused": msgid("nothing of a source is read; `recalld import --list` says more"),
    "put_back": msgid("un-written messages that another program's rewrite had removed were inserted again"),
    "message_odd": msgid("a message is invalid; it is skipped, and a copy is in quarantine"),
    "time_odd": msgid(
        "the createdAt of messages is no time, or an impossible one; the time when it was first seen is used instead"
    ),
    "file_quarantined": msgid("a file can't be read; a copy is in quarantine, unless `copy` says that no more are kept"),
    "task_put_back": msgid("a task was requeued: its worker died, or its lease is over"),
    "index_stale": msgid("the index can't be updated; new memories are not found until it can"),
    "index_fresh": msgid("the index is up to date again"),
    "fsck_failed": msgid("`fsck` found messages lost or files damaged"),
    "fsck_passed": msgid("`fsck` finds nothing lost or damaged any more"),
    "on_trouble_failed": msgid("the command of `care.on_trouble` failed, or was killed after 30 s"),
    "replied": msgid("inputs of inbox.json were answered; question and answer are in history.json"),
    "reply_failed": msgid("an input got no answer that can be used; it is kept in worker/failed/, and not answered"),
    "replies_spent": msgid("the calls for answers of the day are used up; inputs wait for tomorrow"),
    "looked_further": msgid("a second message followed an answer that was not enough"),
    "inbox_invalid": msgid("inbox.json can't be read; no context is prepared until it can"),
    "index_damaged": msgid("the index can't be read; the turn goes on, and the index is rebuilt"),
    "file_unread": msgid("files of memory can't be read or are too large; they are not searched"),
    "recall_failed": msgid("a turn got less memory than there is, or none: something could not be read, or it took too long"),
    "backend_failed": msgid("memories can't be found by meaning; their words alone are searched"),
    "backend_back": msgid("memories are found by meaning again"),
    "clock_jump": msgid("the clock was set; no step that goes by age begins for a while"),
    "degraded": msgid("a step is refused; recalld waits and tries it again"),
    "recovered": msgid("nothing is refused any more"),
    "port_refused": msgid("the port of [serve] can't be used, or its host needs allow_remote; it is tried again"),
    "port_open": msgid("the supervisor answers over HTTP"),
    "watch_lost": msgid("there are no file events; changes are found by polling alone"),
    "error": msgid("a step failed with an unexpected exception; the others went on"),
}

#: Events that somebody should act on, and those that say why something works less well.
_ERRORS: Final = frozenset(
    ["archive_backlog", "error", "fsck_failed", "history_invalid", "history_overflow", "on_trouble_failed", "quarantine_full"]
)
_WARNINGS: Final = frozenset(
    (
        *("backend_failed", "config_refused", "conversation_failed", "degraded", "file_quarantined", "file_unread"),
        *("inbox_invalid", "index_damaged", "index_stale", "message_odd", "provider_paused", "recall_failed"),
        *("pool_waits", "replies_spent", "reply_failed", "hook_failed", "proxy_failed", "summary_failed"),
        *("port_refused", "source_refused", "task_put_back", "time_odd", "watch_lost"),
    )
)
#: After these events each state that lasts is reported anew.
_FRESH: Final = frozenset({"started", "config_taken"})
#: Bytes at the end of the log that are searched for the states that last.
_STATES_BYTES: Final = 200_000
#: The names of rotated files; one that is not compressed was rotated while the disk was full.
_ROTATED: Final = lazy_re(r"log-\d{8}T\d{6}(-\d+)?\.jsonl(\.gz)?")
#: A new log file is started after this time, whatever the size of the last.
_ROTATE_EVERY: Final = timedelta(days=1)
#: The longest `keep_days`, a hundred years: a larger number is no date.
_MAX_DAYS: Final = 36_500
#: The events of lasting faults, each with the event that ends it.
_FAULTS: Final = {"error": "", "degraded": "recovered"}
#: What no further round could change: it ends a supervisor.
_ENDING: Final = (BadConfig, NewerFormat, LockLost)


def priority(event: str) -> int:
    """
    Return the priority of an event as syslog counts it: 3 for an error, 4 for a warning, else 6.

    >>> priority("fsck_failed"), priority("degraded"), priority("archived")
    (3, 4, 6)
    """
    return 3 if event in _ERRORS else 4 if event in _WARNINGS else 6


class Events:
    """The log of one workspace; *report* is called with each event, {ts, event, …}. Threads may share it."""

    def __init__(
        self, path: Path, clock: Clock, limits: Log, report: Callable[[Mapping[str, object]], None] | None = None
    ) -> None:
        self._path = path
        self._clock = clock
        self._limits = limits
        self._report = report
        self._lasting: dict[tuple[str, str], object] = {}
        self._faults: dict[str, tuple[SupervisorError, ...]] = {}
        self._once: set[str] = set()
        self._reported: dict[str, frozenset[frozenset[str]]] = {}
        self._lock = threading.RLock()
        #: Why the last event could not be written, "" if it was.
        self._unwritable = ""

    def emit(self, event: str, **fields: object) -> None:
        """Write one event; *fields* are counts, names, groups and durations."""
        if event not in EVENTS:
            raise ValueError(f"{event!r} is not in EVENTS")
        with self._lock:
            now = self._clock()
            entry = {"ts": to_wire(now), "event": event, **fields}
            with contextlib.suppress(OSError):  # the next event tries again
                self._rotate(now)
            before, self._unwritable = self._unwritable, ""
            try:
                texts = {name: kept for name, value in fields.items() if (kept := stored(value))}
                _add_line(self._path, json.dumps({**entry, **({"texts": texts} if texts else {})}, ensure_ascii=True).encode())
            except OSError as error:
                self._unwritable = str(from_os_error(error, self._path))
            if self._report:
                self._report(entry)
                others_last = any(active for (name, _), active in self._lasting.items() if name == "degraded")
                if self._unwritable != before and (self._unwritable or not others_last):
                    fault = {"event": "degraded", "why": self._unwritable} if self._unwritable else {"event": "recovered"}
                    self._report({"ts": to_wire(now), **fault})

    def transition(self, event: str, active: object, cleared: str = "", *, what: str = "", **fields: object) -> None:
        """
        Write the event when *active* is true anew, and *cleared* when it ends, separately for each *what*.

        What another process has written, and nothing has ended, is not written again.
        """
        with self._lock:
            is_first = (event, what) not in self._lasting
            before, self._lasting[event, what] = self._lasting.get((event, what)), active
            if active and active != before:
                if not is_first or lasting_states(self._path, {event: cleared}).get(event) != fields:
                    self.emit(event, **fields)
            elif before and not active and cleared:
                self.emit(cleared)

    def once(self) -> dict[str, tuple[SupervisorError, ...]]:
        """Return the present faults of steps that nothing tries again, by their keys."""
        with self._lock:
            return {key: self._faults[key] for key in self._once if self._faults[key]}

    def end(self, faults: Mapping[str, tuple[SupervisorError, ...]]) -> None:
        """Report that these faults of `once` are over, but for those that have been met again since."""
        with self._lock:
            self._faults |= {key: () for key, errors in faults.items() if self._faults[key] is errors}
            self._tell()

    def report(self, key: str, errors: Iterable[SupervisorError], *, once: bool = False) -> None:
        """
        Report that these are the errors of *key* now; without any, what it had is over. *once*: nothing tries the step again.

        The faults of all keys are one event of each kind: another event says that one was added, or is over while others last,
        each combination once, and `recovered` that none is left. A full disk is one fault, and so are tasks that can't be read.
        """
        with self._lock:
            self._faults[key] = tuple(errors)
            self._once = self._once | {key} if once else self._once - {key}
            self._tell()

    def attempt(self, what: str, step: Callable[[], T], otherwise: T, *, once: bool = True) -> T:
        """
        Return what *step* returns, *otherwise* if it fails in any way, and report the fault of *what*.

        It lasts until the step succeeds or, where nothing tries it again (*once*), until a round can write.
        """
        scope = FaultScope(self._path.parent, raises=())
        value = scope.attempt(what, step, otherwise)
        self.report(what, scope.errors.values(), once=once)
        return value

    def _tell(self) -> None:
        sentences: dict[str, dict[str, Text]] = {event: {} for event in _FAULTS}
        for error in sorted(itertools.chain.from_iterable(self._faults.values()), key=str):
            fault = str(error)
            if isinstance(error, StorageError) or (isinstance(error, NoPermission) and "/worker/" in str(error.path)):
                fault = error.why
            sentences["error" if isinstance(error, InternalError) else "degraded"].setdefault(fault, error.sentence)
        for event, cleared in _FAULTS.items():
            faults = frozenset(sentences[event])
            if faults not in self._reported.get(event, ()):
                self.transition(event, faults, cleared=cleared, why=Text("{reason}", reason=[*sentences[event].values()]))
            self._reported[event] = self._reported.get(event, frozenset()) | {faults} if faults else frozenset()

    def _rotate(self, now: datetime) -> None:
        """Give the file a name with the time if it is full or old enough; compress such files, and delete the oldest."""
        try:
            size = os.lstat(self._path).st_size
        except FileNotFoundError:
            return
        if size < self._limits.rotate_bytes and abs(now - self._first_time(now)) < _ROTATE_EVERY:
            return
        stems = (f"log-{now:%Y%m%dT%H%M%S}{f'-{n}' if n > 1 else ''}.jsonl" for n in itertools.count(1))
        taken = {path.name for path in self._rotated()}
        # the rename takes no space, and of two processes that rotate at once it lets one succeed
        os.rename(self._path, self._path.with_name(next(stem for stem in stems if not taken & {stem, f"{stem}.gz"})))
        self._compress()
        self._delete_old(now)

    def _first_time(self, now: datetime) -> datetime:
        """Return the time of the file's first line, *now* if it can't be read."""
        with open(open_regular(self._path, os.O_RDONLY), "rb") as file:
            line = file.readline(500)
        try:
            return from_wire(json.loads(line)["ts"])
        except (ValueError, TypeError, KeyError):
            return now

    def _rotated(self) -> list[Path]:
        return sorted((path for path in self._path.parent.iterdir() if _ROTATED.fullmatch(path.name)), reverse=True)

    def _compress(self) -> None:
        """Compress the rotated files that are not yet compressed; on a full disk they stay for the next rotation."""
        import gzip
        import shutil

        for path in (path for path in self._rotated() if path.suffix != ".gz"):
            packed = path.with_name(f"{path.name}.gz")
            temporary = path.with_name(f".{packed.name}.{os.getpid()}-0.tmp")
            target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                with (
                    open(open_regular(path, os.O_RDONLY), "rb") as source,
                    open(target, "wb") as file,
                    gzip.open(file, "wb") as archive,
                ):
                    shutil.copyfileobj(source, archive)
                os.rename(temporary, packed)
            except OSError:
                os.unlink(temporary)
                raise
            os.unlink(path)

    def _delete_old(self, now: datetime) -> None:
        """Delete the oldest rotated files beyond the days and bytes that are kept; their names have their times."""
        kept, oldest = 0, f"log-{now - timedelta(days=min(self._limits.keep_days, _MAX_DAYS)):%Y%m%dT%H%M%S}"
        for path in self._rotated():
            kept += path.stat().st_size
            if kept > self._limits.keep_bytes or path.name < oldest:
                path.unlink()


def lasting_states(path: Path, clearing: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """
    Return the events of *clearing* that no event has ended since, by the log at *path*, each with its fields.

    *clearing* maps an event to the one that ends it; what was logged before the last of _FRESH does not count.
    """
    states, over = dict[str, dict[str, Any]](), set[str]()
    for name, _, fields in newest_events(path):
        if name in _FRESH:
            break
        over.add(name)
        if name in clearing and name not in states and clearing[name] not in over:
            states[name] = fields
    return states


def newest_events(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the last events of the log at *path*, newest first, each with its time and fields; other lines are skipped."""
    try:
        with open(open_regular(path, os.O_RDONLY), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _STATES_BYTES))
            lines = file.read().splitlines()
    except OSError:
        return
    for line in reversed(lines):
        try:
            fields = json.loads(line)
            name, at, texts = str(fields.pop("event")), str(fields.pop("ts")), fields.pop("texts", {})
            fields |= {part: restored(str(fields[part]), kept) for part, kept in texts.items()}
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            continue
        yield name, at, fields


class FaultScope:
    """
    The errors of steps that are reported together, by the names of the steps.

    Errors of the kinds *raises* are raised. *root* is named for an OSError that names no file.
    """

    def __init__(self, root: Path, raises: tuple[type[Exception], ...] = _ENDING) -> None:
        self.errors: dict[str, SupervisorError] = {}
        self._root = root
        self._raises = raises

    def attempt(self, name: str, step: Callable[[], T], otherwise: T) -> T:
        """Return what *step* returns; if it fails, keep its error under its *name* and return *otherwise*."""
        try:
            return step()
        except self._raises:
            raise
        except Exception as error:  # noqa: BLE001 - a bug in one step must not stop the others; it is reported
            self.errors[name] = as_supervisor_error(error, name, self._root)
        return otherwise


def _add_line(path: Path, line: bytes) -> None:
    """Append the line; a last one that a crash or a full disk cut off is ended first."""
    handle = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        size = os.fstat(handle).st_size
        is_ended = not size or os.pread(handle, 1, size - 1) == b"\n"
        rest = (b"" if is_ended else b"\n") + line + b"\n"
        if os.write(handle, rest) < len(rest):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        os.close(handle)
