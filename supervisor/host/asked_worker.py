"""
A worker for a task that somebody waits for: a running worker does it first; if none runs, one is started for such tasks alone.

`ask_worker` has a worker do a single task without the queue and its files: `model test` and `doctor` ask the model with the key
of their own shell, and `doctor` changes nothing (docs/decisions/0022-doctor-asks-and-changes-nothing.md).
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

from ..protocol.task import parse_result, render_task
from ..storage.clock import within
from ..storage.errors import NoProcess, NoSummary
from ..storage.texts import Text
from ..text.record import record
from .lock import any_worker, reclaim
from .workers import worker_command

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ..protocol.task import AskedTask, Result
    from ..text.language import Language
    from ..workspace import Workspace

#: Seconds until a task that no running worker has claimed gets a worker of its own.
_CLAIM_S: Final = 2.0
#: Seconds after which a worker without work ends.
_IDLE_S: Final = 1
#: How many workers in a row may end without having claimed the task: each was killed, or has another model configured.
_MAX_DEATHS: Final = 3
#: The beginning of each sentence that a worker prints.
_PREFIX: Final = "recalld worker: "


class AskedWorker:
    """Keeps a worker running while somebody waits for a task; it stays for *idle_s* seconds after its last one."""

    def __init__(self, ws: Workspace, idle_s: float = _IDLE_S) -> None:
        self._ws, self._idle_s = ws, idle_s
        self._child: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self._patience = within(_CLAIM_S)

    def ensure(self, *, is_claimed: bool) -> None:
        """Start a worker if none runs, or none claims the task; NoSummary with the worker's own sentence if it can't work."""
        if is_claimed:
            self._patience, self._deaths = within(_CLAIM_S), 0
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
        command = [*worker_command(self._ws.paths.root), "--asked", "--idle", str(self._idle_s)]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        try:
            return subprocess.Popen(command, env={**os.environ, **self._ws.environ}, **streams)  # type: ignore[call-overload, no-any-return]
        except OSError as error:
            raise NoProcess(error.strerror or str(error)) from error

    def _bury(self, child: subprocess.Popen[bytes]) -> None:
        """Raise NoSummary after a worker that reports why it can't work, or after a few that end without a word."""
        self._child = None
        _, errors = child.communicate()
        sentence = _sentence(errors)
        self._deaths += 1
        if child.returncode > 0 and sentence:
            raise NoSummary(sentence.rstrip("."), "provider")
        if self._deaths >= _MAX_DEATHS:
            raise NoSummary(Text("the worker ended without a result; `recalld worker` shows why"), "provider")


@record
class WorkerAnswer:
    """What a worker made of one task: a *result*, or the *sentence* with which it ended, and its exit code."""

    result: Result | None = None
    sentence: str = ""
    exit_code: int = 0


def ask_worker(
    root: Path, task: AskedTask, wait_s: float, environ: Mapping[str, str], language: Language = "en"
) -> WorkerAnswer:
    """Have a worker of its own do the task, which is in no queue, for at most *wait_s* seconds."""
    command = [*worker_command(root), "--task", "--language", language]
    try:
        made = subprocess.run(
            command, input=render_task(task), env=dict(environ), capture_output=True, check=False, timeout=wait_s
        )
    except subprocess.TimeoutExpired:
        return WorkerAnswer(None, Text("the server did not answer in time"), 69)
    if made.returncode:
        return WorkerAnswer(None, _sentence(made.stderr), made.returncode)
    return WorkerAnswer(parse_result(made.stdout))


def _sentence(errors: bytes) -> str:
    return errors.decode("utf-8", "replace").strip().removeprefix(_PREFIX)
