"""
A worker for what somebody waits for: one that runs does it first, else one is started that does nothing else.

`ask_worker` has one do a single task without the queue and its files: `model test` and `doctor` ask the model with the key of
their own shell, and `doctor` changes nothing (docs/decisions/0022-doctor-asks-and-changes-nothing.md).
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from recalld.supervisor.host.lock import any_worker, reclaim
from recalld.supervisor.host.workers import worker_command
from recalld.supervisor.protocol.task import parse_result, render_task
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.clock import within
from recalld.supervisor.storage.errors import NoProcess, NoSummary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recalld.supervisor.protocol.task import AskedTask, Result
    from recalld.supervisor.text.language import Language
    from recalld.supervisor.workspace import Workspace

#: Seconds after which a task that no running worker has claimed gets a worker of its own; and those of a worker without work.
_CLAIM_S: Final = 2.0
_IDLE_S: Final = 1
#: How many workers in a row may end without having claimed the task: each was killed, or has another model configured.
_MAX_DEATHS: Final = 3
#: What the worker's sentences begin with.
_PREFIX: Final = "recalld worker: "


class AskedWorker:
    """Sees to it that a worker runs while somebody waits."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._child: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self._patience = within(_CLAIM_S)

    def ensure(self, *, is_claimed: bool) -> None:
        """Start a worker where none runs, or none claims the task; NoSummary with its sentence if it can't work."""
        if is_claimed:
            self._patience, self._deaths = within(_CLAIM_S), 0
        if self._child and self._child.poll() is not None:
            self._bury(self._child)
        if self._child is None and (not any_worker(self._ws) or self._patience.is_over):
            reclaim(self._ws)
            self._child = self._started()

    def stop(self) -> None:
        """End the worker that was started here."""
        if self._child is None:
            return
        self._child.terminate()
        try:
            self._child.communicate(timeout=3)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.communicate()
        self._child = None

    def _started(self) -> subprocess.Popen[bytes]:
        command = [*worker_command(self._ws.paths.root), "--asked", "--idle", str(_IDLE_S)]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        try:
            return subprocess.Popen(command, env={**os.environ, **self._ws.environ}, **streams)  # type: ignore[call-overload, no-any-return]
        except OSError as error:
            raise NoProcess(error.strerror or str(error)) from error

    def _bury(self, child: subprocess.Popen[bytes]) -> None:
        """Give up after a worker that says why it can't work, or after a few that say nothing."""
        self._child = None
        _, said = child.communicate()
        sentence = _sentence(said)
        self._deaths += 1
        if child.returncode > 0 and sentence:
            raise NoSummary(sentence.rstrip("."), "provider")
        if self._deaths >= _MAX_DEATHS:
            raise NoSummary(Text("model.worker_ended"), "provider")


@dataclass(frozen=True, slots=True)
class WorkerSaid:
    """What a worker said to one task: its *result*, or the *sentence* with which it ended, and its exit code."""

    result: Result | None = None
    sentence: str = ""
    exit_code: int = 0


def ask_worker(root: Path, task: AskedTask, wait_s: float, environ: Mapping[str, str], language: Language = "en") -> WorkerSaid:
    """Have a worker of its own do the task, which is in no queue, for at most *wait_s* seconds."""
    command = [*worker_command(root), "--task", "--language", language]
    try:
        made = subprocess.run(
            command, input=render_task(task), env=dict(environ), capture_output=True, check=False, timeout=wait_s
        )
    except subprocess.TimeoutExpired:
        return WorkerSaid(None, Text("server.timeout"), 69)
    if made.returncode:
        return WorkerSaid(None, _sentence(made.stderr), made.returncode)
    return WorkerSaid(parse_result(made.stdout))


def _sentence(said: bytes) -> str:
    return said.decode("utf-8", "replace").strip().removeprefix(_PREFIX)
