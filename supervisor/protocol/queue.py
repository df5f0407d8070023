"""
The task queue of a workspace: ``queue/ → running/ → results/``, one durable rename a step, and ``failed/`` for failures.

Both processes use it. There is no table of jobs: the folder of a task's file is its state, and its name contains its group. The
supervisor submits, discards and requeues; a worker claims, sends heartbeats and finishes. A task that somebody waits for is
named by its session; the process that waits submits it, reads its result, deletes it, and holds the lock of the session
meanwhile. Who has claimed a task holds its lease by touching its file, and has lost it as soon as somebody else did. Source:
docs/reference/protocol.md, 6.
"""

import threading
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ..storage.clock import truncate_to_ms
from ..storage.errors import Busy
from ..storage.files import Files
from ..storage.lenient_json import parse_json, read_record, record_fields, render_json, wire_name
from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from .message import ATTEMPTS_END, Failure
from .paths import QUEUE_FOLDERS, WORKERS, Period, WorkspacePaths, period_of_group
from .task import AskedTask, Result, Task, parse_result, parse_task, render_result, render_task

#: Seconds after which a worker without work exits.
IDLE_S: Final = 60.0
_NAME: Final = lazy_re(r"(?P<group>(?:day|month)-[0-9-]+|(?:session|reply|lookup)-[0-9a-f]{16})-[0-9a-f]{10}-\d+\.json")
#: How the groups begin of days and months; of tasks that somebody waits for, by the digest of a session; and of answers and
#: looks further, by that of an input.
_PERIODS: Final = ("day-", "month-")
_ASKED: Final = "session-"
_REPLIES: Final = ("reply-", "lookup-")
#: What is recorded of the model, among the failures of groups.
PROVIDER: Final = "provider"


class TaskQueue:
    """The queue in the four folders under ``worker/``."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files = files
        self._folders = [paths.worker / name for name in QUEUE_FOLDERS]
        self.queue, self.running, self.results, self.failed = self._folders
        self._paths = paths
        self.provider_state = self.failed / f"{PROVIDER}.json"

    def prepare(self) -> None:
        """Create the folders where they are absent."""
        for folder in self._folders:
            self._files.make_folder(folder, lasting=True)

    def sync_folders(self) -> None:
        """Make durable which files are in the folders, after a process was killed between a change and its fsync."""
        for folder in self._folders:
            self._files.disk.sync_folder(folder)

    # ── the supervisor's side ────────────────────────────────────────────────

    def submit(self, task: Task | AskedTask) -> bool:
        """Put the task into the queue; False when it is queued, running or finished already."""
        name = f"{task.id}.json"
        if any(self._files.disk.stat(folder / name) for folder in (self.running, self.results)):
            return False
        try:
            self._files.create(self.queue / name, render_task(task))
        except FileExistsError:
            return False
        return True

    def active_groups(self) -> dict[str, str]:
        """Return the days and months that have a task or a result, each with the name of its folder."""
        return {_group(name): folder.name for folder in self._folders[:3] for name in self._names(folder)}

    def queued_count(self, *, awaited: bool = False) -> int:
        """Count the days and months in the queue, or what somebody waits for (*awaited*)."""
        return len(self._names(self.queue, (_ASKED, *_REPLIES) if awaited else _PERIODS))

    def finished(self) -> list[Path]:
        """Return the result files of days and months, by name."""
        return [self.results / name for name in self._names(self.results)]

    def read_result(self, path: Path) -> Result:
        """Return the parsed result; ValueError with a reason when the file is not one."""
        version = self._files.read_stable(path)
        if version is None:
            raise ValueError(Text("it is gone"))
        result = parse_result(version.data)
        if (path.name, result.group) != (f"{result.id}.json", _group(path.name)) or not result.id.endswith(
            f"-{result.attempt}"
        ):
            raise ValueError("its name is not its id")
        return result

    def discard(self, path: Path) -> None:
        """
        Delete a collected result and what a crash left of its task; the result is deleted last.

        What is queued goes before what runs: a worker may claim the task meanwhile.
        """
        self._files.remove(self.queue / path.name)
        self._files.remove(self.running / path.name)
        self._files.remove(path)

    def claimed(self) -> dict[str, int]:
        """Return all running tasks by file name, each with the time of its last heartbeat in nanoseconds."""
        names = self._names(self.running, (*_PERIODS, _ASKED, *_REPLIES))
        stats = {name: self._files.disk.stat(self.running / name) for name in names}
        return {name: stat.mtime_ns for name, stat in stats.items() if stat}

    def requeue(self, name: str) -> None:
        """Move a running task back to the queue; one that has a result already is removed."""
        if self._files.disk.stat(self.results / name):
            self._files.ensure_durable(self.results / name)
            self._files.remove(self.running / name)
            return
        try:
            self._files.move(self.running / name, self.queue / name)
        except FileExistsError:
            self._files.remove(self.running / name)
        except FileNotFoundError:
            return

    def cancel_queued(self, *, asked_too: bool = True) -> int:
        """
        Remove every day and month that no worker has claimed, since it would only fail like the one before; returns how many.

        Tasks that a person requested are removed only if *asked_too*.
        """
        names = [name for name in self._names(self.queue) if asked_too or not getattr(self._queued(name), "redo", False)]
        for name in names:
            self._files.remove(self.queue / name)
        return len(names)

    def _queued(self, name: str) -> Task | AskedTask | None:
        """Return the queued task; None where there is none, or it can't be read."""
        version = self._files.read_stable(self.queue / name)
        with suppress(ValueError):
            return parse_task(version.data) if version else None
        return None

    # ── answers ──────────────────────────────────────────────────────────────

    def replies(self) -> dict[str, str]:
        """Return the ids of the answers that are asked for, each with the folder that shows how far its task has come."""
        names = {name: folder.name for folder in self._folders[:3] for name in self._names(folder, _REPLIES)}
        return {name.removesuffix(".json"): folder for name, folder in names.items()}

    # ── the process that waits for a task ────────────────────────────────────

    def answer(self, identity: str) -> Result | None:
        """Return the result of the task with this id, None while there is none; ValueError where the file is none."""
        path = self.results / f"{identity}.json"
        return self.read_result(path) if self._files.disk.stat(path) else None

    def place_of(self, task: AskedTask) -> str:
        """Return the name of the folder that shows how far the task has come; "" where it is in none."""
        folders = (self.results, self.running, self.queue)
        return next((folder.name for folder in folders if self._files.disk.stat(folder / f"{task.id}.json")), "")

    def withdraw(self, identity: str) -> None:
        """Delete the task with this id and its result: nobody waits any more. A worker that has it stops within a heartbeat."""
        self.discard(self.results / f"{identity}.json")

    def abandoned(self) -> list[Path]:
        """Return the results that nobody waits for any more: the process that did was killed."""
        return [self.results / name for name in self._names(self.results, _ASKED) if not self.is_awaited(name)]

    def is_awaited(self, name: str) -> bool:
        """Return whether somebody waits for the task: for an answer whoever asked, else who holds the lock of its session."""
        kind, _, digest = _group(name).rpartition("-")
        # an answer is withdrawn by whoever asked, also after a crash
        return f"{kind}-" in _REPLIES or (f"{kind}-" == _ASKED and self._files.disk.is_locked(self._paths.session_lock(digest)))

    # ── the worker's side ────────────────────────────────────────────────────

    def claim(self, server: str = "", *, asked_only: bool = False) -> Task | AskedTask | None:
        """
        Move the next task to ``running/`` and return it; None when the queue is empty or other workers were faster.

        First answers, then what else somebody waits for, if it is meant for the model with the mark *server*; then, unless
        *asked_only*, the newest day or month. What nobody waits for any more is deleted. A file that is not a task is moved to
        ``results/`` unchanged, where the supervisor quarantines it.
        """
        waiting = self._names(self.queue, _REPLIES) + self._names(self.queue, _ASKED)
        for name in waiting:
            if not self.is_awaited(name):
                self._files.remove(self.queue / name)
        names = [] if asked_only else sorted(self._names(self.queue), key=_recency, reverse=True)
        claims = (self._claim(name, server) for name in (*waiting, *names))
        return next((task for task in claims if task), None)

    def _claim(self, name: str, server: str) -> Task | AskedTask | None:
        """Move the task to ``running/`` and return it; None if another worker was faster, or has to do it."""
        try:
            queued = self._queued(name)
            if isinstance(queued, AskedTask) and queued.server not in {"", server}:
                return None
            self._files.move(self.queue / name, self.running / name)
        except (FileNotFoundError, FileExistsError):
            return None
        self._files.disk.touch(self.running / name)
        version = self._files.read_stable(self.running / name)
        try:
            if version is None:
                return None
            task = parse_task(version.data)
            if name != f"{task.id}.json":
                raise ValueError("its name is not its id")
        except ValueError:
            self._files.move(self.running / name, self.results / name)
            return None
        return task

    def finish(self, result: Result) -> None:
        """Write the result, once, and remove the running task."""
        name = f"{result.id}.json"
        try:
            self._files.create(self.results / name, render_result(result))
        except FileExistsError:  # a second worker was faster, with the same task
            self._files.ensure_durable(self.results / name)
        self._files.remove(self.running / name)

    # ── failures ─────────────────────────────────────────────────────────────

    def failures(self) -> dict[str, Failure]:
        """Return the last failure of each day and month that waits for a retry; unreadable files are skipped."""
        by_group = {}
        for group in filter(period_of_group, self.recorded_names()):
            with suppress(ValueError):
                failure = read_record(Failure, self.recorded(group), wire_name)
                if 0 < failure.attempts < ATTEMPTS_END:
                    # truncated to milliseconds, as in history.json
                    failed_at, next_at = truncate_to_ms(failure.failed_at), truncate_to_ms(failure.next_at)
                    by_group[group] = replace(failure, failed_at=failed_at, next_at=next_at)
        return by_group

    def fail(self, group: str, failure: Failure) -> None:
        """Record the last failure of a day or a month."""
        fields = record_fields(failure, wire_name)
        self.record(group, {name: value for name, value in fields.items() if value or name != "refused"})

    def recorded_names(self) -> list[str]:
        """Return the names under which failures are recorded: groups, and that of the provider."""
        return [name.removesuffix(".json") for name in self._files.disk.names(self.failed)]

    def recorded(self, name: str) -> dict[str, Any]:
        """Return what is recorded of the failures of a group, or of the provider; empty where nothing is that can be read."""
        version = self._files.read_stable(self.failed / f"{name}.json")
        with suppress(ValueError):
            raw = parse_json(version.data) if version else {}
            return raw if isinstance(raw, dict) else {}
        return {}

    def record(self, name: str, fields: dict[str, Any]) -> None:
        """Record failures; of the provider the caller has read what was recorded, and holds the lock of the calls."""
        path = self.failed / f"{name}.json"
        self._files.make_folder(path.parent, lasting=True)  # a session may be summed up where no supervisor has run yet
        self._files.replace(path, render_json(fields) + b"\n", self._files.read_stable(path))

    def clear(self, group: str) -> None:
        """Delete the record of the group's failures: it succeeded, or has nothing left to do."""
        self._files.remove(self.failed / f"{group}.json")

    def _names(self, folder: Path, groups: str | tuple[str, ...] = _PERIODS) -> list[str]:
        return [name for name in self._files.disk.names(folder) if _group(name).startswith(groups)]


def _group(name: str) -> str:
    match = _NAME.fullmatch(name)
    return match["group"] if match else ""


def _recency(name: str) -> str:
    period: Period | None = period_of_group(_group(name))
    return period.last_day if period else ""


# ── the lease of a running task ───────────────────────────────────────────────


class Lease:
    """The lease of one running task, shown by the time of its file. Its methods may be called from any thread."""

    def __init__(self, files: Files, task_queue: TaskQueue, task: Task | AskedTask) -> None:
        self.task = task
        self._files = files
        self._task_queue = task_queue
        self._path = task_queue.running / f"{task.id}.json"
        self._lock = threading.Lock()
        self._touched = self._mtime()
        self._lost = self._touched is None

    def heartbeat(self) -> bool:
        """Show that its holder is alive; False when the lease is lost."""
        with self._lock:
            if self._is_held():
                with suppress(FileNotFoundError):  # it was requeued meanwhile
                    self._files.disk.touch(self._path)
                self._touched = self._mtime()
            return self._is_held()

    def held(self) -> bool:
        """Return whether this process still has the lease, by its file."""
        with self._lock:
            return self._is_held()

    @property
    def lost(self) -> bool:
        """Whether the lease was lost when the file was last checked; free of cost, for frequent calls."""
        return self._lost

    def give_up_if_abandoned(self) -> None:
        """Lose the lease of a task that nobody waits for any more, and delete the task."""
        if isinstance(self.task, AskedTask) and not self._task_queue.is_awaited(self._path.name):
            with self._lock:
                self._lost = True
                self._task_queue.withdraw(self.task.id)

    def requeue(self) -> None:
        """Put the task back into the queue, unless the lease is lost."""
        with self._lock:
            if self._is_held():
                self._task_queue.requeue(self._path.name)
                self._lost = True

    def _is_held(self) -> bool:
        # a claim touches the file: a time that this process did not set was set by another
        self._lost = self._lost or self._touched is None or self._mtime() != self._touched
        return not self._lost

    def _mtime(self) -> int | None:
        stat = self._files.disk.stat(self._path)
        return stat.mtime_ns if stat else None


def worker_lock(files: Files, paths: WorkspacePaths) -> ExitStack:
    """Hold one of the worker locks until the stack is closed: it shows the supervisor that the claimed tasks have a worker."""
    lock = ExitStack()
    for slot in range(WORKERS):
        with suppress(Busy):
            lock.enter_context(files.disk.lock_for_life(paths.worker_lock(slot), 0))
            return lock
    raise Busy(paths.worker_lock(0), 0)
