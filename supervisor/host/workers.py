"""
Who does the tasks: worker processes, or a courier that carries them to a pool, where `[pool] url` is set.

The supervisor starts a worker on demand and watches the leases of all (docs/reference/protocol.md, 6). A task without a
heartbeat for the length of the lease is requeued. The time is measured by this process's monotonic clock: the times of files
may be wrong, and a suspended machine must not cost a task. The courier has a thread of its own; nothing of it is loaded without
a pool.

For a task that somebody waits for a running worker is there first; if none runs, one is started for such tasks alone.
`ask_worker` has a worker do a single task without the queue and its files: `model test` asks the model with the key of its own
shell.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..protocol.task import AskedTask, Result, parse_result, render_task
from ..storage.clock import Clock, to_wire, within
from ..storage.errors import BadConfig, NoProcess, NoSummary, why_refused
from ..storage.texts import Text
from ..text.language import Language
from ..workspace import Workspace
from .lock import any_worker, reclaim

if TYPE_CHECKING:
    from ..pool.courier import Courier

#: The most seconds until a worker that keeps ending is started again.
_LONGEST_S: Final = 60.0
#: Seconds until a task that no running worker has claimed gets a worker of its own.
_CLAIM_S: Final = 2.0
#: Seconds until a task that no courier has claimed is given up.
_CARRIED_S: Final = 10.0
#: Seconds after which a worker without work ends.
_ASKED_IDLE_S: Final = 1
#: How many workers in a row may end without having claimed the task: each was killed, or has another model configured.
_MOST_DEATHS: Final = 3
#: Seconds until a worker that was told to end is killed.
_KILLED_AFTER_S: Final = 3.0
#: The beginning of each sentence that a worker prints.
_PREFIX: Final = "recalld worker: "
#: What `recalld[pool]` brings, without which there is no pool.
_NEEDED: Final = ("cryptography", "redis")
#: Not resolved: in a checkout `recalld/supervisor` is a link, and the path must stay inside the package `recalld`.
_WORKER: Final = Path(__file__).absolute().parents[2] / "worker" / "__main__.py"


def worker_command(root: Path) -> list[str]:
    """
    Return the command that starts a worker for the workspace at *root*; options of the worker can follow.

    It names the worker's file, so that no other package `worker`, on PYTHONPATH or in the working folder, is started instead.
    """
    return [sys.executable, "-P", str(_WORKER), "--workspace", str(root)]


def crew_command(pool_file: Path) -> list[str]:
    """Return the command that starts a worker of a pool, whose address is in RECALLD_POOL_URL."""
    return [sys.executable, "-P", str(_WORKER), "--pool-file", str(pool_file.absolute())]


class Workers:
    """Starts one worker, and requeues the tasks of every worker whose lease has ended."""

    def __init__(self, ws: Workspace, clock: Clock, idle_s: float | None = None) -> None:
        self._ws = ws
        self._clock = clock
        self._idle_s = idle_s
        self._child: subprocess.Popen[bytes] | None = None
        self._beats: dict[str, tuple[int, float]] = {}
        self._not_before = 0.0
        #: How many workers in a row have ended while tasks were queued.
        self.failures = 0

    def start_if_needed(self, *, is_quiet: bool = False) -> None:
        """
        Start a worker if a task is queued and this supervisor's worker does not run; NoProcess if the system refuses.

        In quiet hours none is started here: what somebody waits for has an `AskedWorker`.
        """
        if is_quiet:
            return
        if self._child and self._child.poll() is not None:
            self._child = None
            try:
                reclaim(self._ws)
            finally:  # also if the disk refuses: the tasks are then requeued when their lease ends
                self.failures = self.failures + 1 if self._ws.task_queue.queued_count() else 0
                self._not_before = time.monotonic() + min(2.0**self.failures, _LONGEST_S) if self.failures > 1 else 0.0
        if self._child is None and self._ws.task_queue.queued_count() and time.monotonic() >= self._not_before:
            idle = [] if self._idle_s is None else ["--idle", str(self._idle_s)]
            now = {"RECALLD_NOW": to_wire(self._clock())} if "RECALLD_NOW" in os.environ else {}
            self._child = _start(self._ws.paths.root, *idle, environ={**os.environ, **now})

    def watch_leases(self) -> None:
        """Requeue every claimed task that had no heartbeat for the length of the lease."""
        lease_s = self._ws.config.worker.lease.total_seconds()
        now = time.monotonic()
        claimed = self._ws.task_queue.claimed()
        self._beats = {name: self._beats.get(name, (0, now)) for name in claimed}
        for name, beat in claimed.items():
            last, since = self._beats[name]
            if beat != last:
                self._beats[name] = (beat, now)
            elif now - since > lease_s:
                self._ws.task_queue.requeue(name)
                self._ws.events.emit("task_put_back", tasks=1)

    def stop(self) -> None:
        """End this supervisor's worker, which requeues its task."""
        if self._child:
            _end(self._child)
            self._child = None
            reclaim(self._ws)


def _start(root: Path, *options: str, environ: Mapping[str, str], stderr: int | None = None) -> subprocess.Popen[bytes]:
    command, nothing = [*worker_command(root), *options], subprocess.DEVNULL
    try:
        return subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=stderr, env=environ)
    except OSError as error:
        raise NoProcess(why_refused(error)) from error


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(_KILLED_AFTER_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


# ── for a task that somebody waits for ───────────────────────────────────────


class AskedWorker:
    """Keeps a worker running while somebody waits for a task; it stays for *idle_s* seconds after its last one."""

    def __init__(self, ws: Workspace, idle_s: float = _ASKED_IDLE_S) -> None:
        self._ws, self._idle_s = ws, idle_s
        self._child: subprocess.Popen[bytes] | None = None
        self._begin_waiting()

    def ensure(self, *, is_claimed: bool) -> None:
        """Start a worker if none runs, or none claims the task; NoSummary with the worker's own sentence if it can't work."""
        if is_claimed:
            self._begin_waiting()
        if self._ws.config.pool.url:  # its courier sees to it, in the supervisor
            if self._patience.is_over and not is_claimed:
                raise NoSummary(
                    Text("no supervisor brings tasks to the pool, or the pool takes none; `recalld pool status` shows it"),
                    "provider",
                )
            return
        if self._child and self._child.poll() is not None:
            self._bury(self._child)
        if self._child is None and (not any_worker(self._ws) or self._patience.is_over):
            reclaim(self._ws)
            options = ("--asked", "--idle", str(self._idle_s))
            environ = {**os.environ, **self._ws.environ}
            self._child = _start(self._ws.paths.root, *options, environ=environ, stderr=subprocess.PIPE)

    def stop(self) -> None:
        """End the worker that was started here."""
        if self._child:
            with self._child:  # its pipe is closed, too
                _end(self._child)
            self._child = None

    def _begin_waiting(self) -> None:
        self._patience, self._deaths = within(_CARRIED_S if self._ws.config.pool.url else _CLAIM_S), 0

    def _bury(self, child: subprocess.Popen[bytes]) -> None:
        """Raise NoSummary after a worker that could not work, or after a few that ended without a word."""
        self._child = None
        _, errors = child.communicate()
        self._deaths += 1
        if child.returncode > 0 or self._deaths >= _MOST_DEATHS:
            why = _sentence(errors).rstrip(".") or Text("the worker ended without a result; `recalld worker` shows why")
            raise NoSummary(why, "provider")


def ask_worker(
    root: Path, task: AskedTask, wait_s: float, environ: Mapping[str, str], language: Language = "en"
) -> Result | tuple[str, int]:
    """
    Have a worker of its own do the task, which is in no queue, for at most *wait_s* seconds.

    Returns its result, or the sentence with which it ended, and its exit code.
    """
    command = [*worker_command(root), "--task", "--language", language]
    try:
        process = subprocess.run(
            command, input=render_task(task), env=dict(environ), capture_output=True, check=False, timeout=wait_s
        )
    except subprocess.TimeoutExpired:
        return Text("the server did not answer in time"), 69
    return (_sentence(process.stderr), process.returncode) if process.returncode else parse_result(process.stdout)


def _sentence(errors: bytes) -> str:
    return errors.decode("utf-8", "replace").strip().removeprefix(_PREFIX)


# ── a pool in their place ────────────────────────────────────────────────────


def workers_of(ws: Workspace, clock: Clock, idle_s: float | None = None) -> Workers:
    """Return what sees to the tasks: worker processes, or a courier where a model writes; BadConfig where that can't be."""
    if not ws.config.pool.url or ws.extracting:
        return Workers(ws, clock, idle_s)
    check_installed()
    return CourierWorkers(ws, clock)


def check_installed() -> None:
    """Raise BadConfig with what to install, where the extra is missing."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in _NEEDED):
        raise BadConfig("pool.url", Text("a pool needs recalld[pool], which is not installed: `pip install 'recalld[pool]'`"))


def name_of(root: Path) -> str:
    """Return the name of a workspace outside of it: that of its folder, and a digest of where it is."""
    digest = hashlib.sha256(f"{socket.gethostname()}\0{root}".encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', root.name)[:24] or 'workspace'}-{digest}"


class CourierWorkers(Workers):
    """Has the tasks of the workspace done by its pool; a courier carries them from the first on. BadConfig for a wrong key."""

    def __init__(self, ws: Workspace, clock: Clock) -> None:
        super().__init__(ws, clock)
        from ..pool.cargo import Seal
        from ..pool.redis_pool import Broker

        self._broker, self._name = Broker(ws.config.pool.url, ws.config.pool.prefix), name_of(ws.paths.root)
        self._courier: Courier | None = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._seal = Seal.of(ws.config.pool.key_env, ws.environ)  # a wrong key is reported now

    def start_if_needed(self, *, is_quiet: bool = False) -> None:
        """Carry the tasks that are queued; in quiet hours the first is one that somebody waits for."""
        queue = self._ws.task_queue
        if self._courier:
            self.failures = self._courier.missed
            self._courier.wake()
        elif queue.queued_count(awaited=True) or (not is_quiet and queue.queued_count()):
            self._begin()

    def stop(self) -> None:
        """Give every task back; what a worker has begun comes home to the next courier."""
        self._ended.set()
        if self._thread:
            self._thread.join()
        self._courier = self._thread = None

    def _begin(self) -> None:
        from ..pool.courier import Courier
        from ..pool.redis_pool import RedisPool

        ws, pool, ended = self._ws, RedisPool(self._broker, self._name), threading.Event()
        courier = Courier(pool, self._name, ws.files, ws.paths, ws.config, ws.events, self._seal, self._clock)

        def run() -> None:
            courier.run(ended)
            pool.close()

        self._courier, self._ended = courier, ended
        self._thread = threading.Thread(target=run, name="courier", daemon=True)
        self._thread.start()
