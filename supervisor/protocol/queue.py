"""
The task queue of a workspace: ``queue/ → running/ → results/``, one durable rename a step, and ``failed/`` for failures.

Both processes use it. There is no table of jobs: the folder of a task's file is its state, and its name contains its group.
The supervisor submits, discards and requeues; a worker claims, sends heartbeats and finishes.
Source: docs/reference/protocol.md, 6.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.protocol.message import ATTEMPTS_END
from recalld.supervisor.protocol.paths import QUEUE_FOLDERS
from recalld.supervisor.protocol.period import Period, period_of_group
from recalld.supervisor.protocol.task import Result, Task, parse_result, parse_task, render_result, render_task
from recalld.supervisor.storage.clock import from_wire, to_wire, truncate_to_ms
from recalld.supervisor.storage.lenient_json import parse_json, render_json

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.storage.files import Files

_TASK: Final = re.compile(r"(?P<group>(?:day|month)-[0-9-]+)-[0-9a-f]{10}-\d+\.json")


class TaskQueue:
    """The queue in the four folders under ``worker/``."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files = files
        self.queue, self.running, self.results, self.failed = (paths.worker / name for name in QUEUE_FOLDERS)
        self.provider_state = self.failed / "provider.json"

    def prepare(self) -> None:
        """Create the folders where they are absent."""
        for folder in (self.queue, self.running, self.results, self.failed):
            self._files.make_folder(folder, lasting=True)

    def sync_folders(self) -> None:
        """Make durable which files are in the folders, after a process was killed between a change and its fsync."""
        for folder in (self.queue, self.running, self.results, self.failed):
            self._files.disk.sync_folder(folder)

    # ── the supervisor's side ────────────────────────────────────────────────

    def submit(self, task: Task) -> bool:
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
        """Return the groups that have a task or a result, each with the name of its folder."""
        found: dict[str, str] = {}
        for folder in (self.queue, self.running, self.results):
            for name in _names(self._files, folder):
                found[_group(name)] = folder.name
        return found

    def queued_count(self) -> int:
        """Count the tasks in the queue."""
        return len(_names(self._files, self.queue))

    def finished(self) -> list[Path]:
        """Return the result files, by name."""
        return [self.results / name for name in _names(self._files, self.results)]

    def read_result(self, path: Path) -> Result:
        """Return the parsed result; ValueError with a reason when the file is not one."""
        version = self._files.read_stable(path)
        if version is None:
            raise ValueError("it is gone")
        result = parse_result(version.data)
        if (path.name, result.group) != (f"{result.id}.json", _group(path.name)) or not result.id.endswith(
            f"-{result.attempt}"
        ):
            raise ValueError("its name is not its id")
        return result

    def discard(self, path: Path) -> None:
        """Delete a collected result and what a crash left of its task; the result is deleted last."""
        self._files.remove(self.running / path.name)
        self._files.remove(self.queue / path.name)
        self._files.remove(path)

    def claimed(self) -> dict[str, int]:
        """Return the running tasks by file name, each with the time of its last heartbeat in nanoseconds."""
        stats = {name: self._files.disk.stat(self.running / name) for name in _names(self._files, self.running)}
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
        Remove every task that no worker has claimed, since it would only fail like the one before; returns how many.

        Tasks that a person requested are removed only if *asked_too*.
        """
        names = [name for name in _names(self._files, self.queue) if asked_too or not self._is_redo(name)]
        for name in names:
            self._files.remove(self.queue / name)
        return len(names)

    def _is_redo(self, name: str) -> bool:
        version = self._files.read_stable(self.queue / name)
        with suppress(ValueError):
            return version is not None and parse_task(version.data).redo
        return False

    # ── the worker's side ────────────────────────────────────────────────────

    def claim(self) -> Task | None:
        """
        Move the newest task to ``running/`` and return it; None when the queue is empty or other workers were faster.

        A file that is not a task is moved to ``results/`` unchanged, where the supervisor quarantines it.
        """
        for name in sorted(_names(self._files, self.queue), key=_recency, reverse=True):
            try:
                self._files.move(self.queue / name, self.running / name)
            except (FileNotFoundError, FileExistsError):
                continue
            self._files.disk.touch(self.running / name)
            version = self._files.read_stable(self.running / name)
            try:
                if version is None:
                    continue
                task = parse_task(version.data)
                if name != f"{task.id}.json":
                    raise ValueError("its name is not its id")
            except ValueError:
                self._files.move(self.running / name, self.results / name)
                continue
            return task
        return None

    def heartbeat(self, task: Task) -> None:
        """Update the time of the running task; does nothing when it was requeued in the meantime."""
        try:
            self._files.disk.touch(self.running / f"{task.id}.json")
        except FileNotFoundError:
            return

    def finish(self, result: Result) -> None:
        """Write the result, once, and remove the running task."""
        name = f"{result.id}.json"
        try:
            self._files.create(self.results / name, render_result(result))
        except FileExistsError:  # a second worker was faster, with the same task
            self._files.ensure_durable(self.results / name)
        self._files.remove(self.running / name)

    # ── failures ─────────────────────────────────────────────────────────────

    def failures(self) -> dict[str, tuple[int, datetime, datetime, str]]:
        """Return by group: attempts, when it failed, when to try again, why. Files that can't be parsed are skipped."""
        found = {}
        for name in self._files.disk.names(self.failed):
            group = name.removesuffix(".json")
            version = self._files.read_stable(self.failed / name) if period_of_group(group) else None
            if version is None:
                continue
            try:
                raw = parse_json(version.data)
                attempts, failed_at, next_at = raw["attempts"], from_wire(raw["failedAt"]), from_wire(raw["nextAt"])
                if attempts in range(1, ATTEMPTS_END):
                    # truncated to milliseconds, as in history.json
                    times = truncate_to_ms(failed_at), truncate_to_ms(next_at)
                    found[group] = int(attempts), *times, str(raw["reason"])
            except (ValueError, TypeError, KeyError):
                continue
        return found

    def fail(self, group: str, attempts: int, failed_at: datetime, next_at: datetime, reason: str) -> None:
        """Record the group's last failure."""
        path = self.failed / f"{group}.json"
        fields = {"attempts": attempts, "failedAt": to_wire(failed_at), "nextAt": to_wire(next_at), "reason": reason}
        self._files.replace(path, render_json(fields) + b"\n", self._files.read_stable(path))

    def provider(self) -> dict[str, Any]:
        """Return the recorded state of the provider; empty where there is no file or it can't be parsed."""
        version = self._files.read_stable(self.provider_state)
        try:
            raw = parse_json(version.data) if version else {}
        except ValueError:
            return {}
        return raw if isinstance(raw, dict) else {}

    def note_provider(self, fields: dict[str, Any]) -> None:
        """Record the provider's last fault and the cost of the day; who read them before holds the lock of the calls."""
        path = self.provider_state
        self._files.make_folder(path.parent, lasting=True)  # a session may be summed up where no supervisor has run yet
        self._files.replace(path, render_json(fields) + b"\n", self._files.read_stable(path))

    def clear(self, group: str) -> None:
        """Delete the record of the group's failure: it succeeded, or has nothing left to do."""
        self._files.remove(self.failed / f"{group}.json")


def _names(files: Files, folder: Path) -> list[str]:
    return [name for name in files.disk.names(folder) if _TASK.fullmatch(name)]


def _group(name: str) -> str:
    match = _TASK.fullmatch(name)
    return match["group"] if match else ""


def _recency(name: str) -> str:
    period: Period | None = period_of_group(_group(name))
    return period.last_day if period else ""
