"""
The worker behind a chat: a process that answers one task after another and tells each piece of an answer (worker/talking.py).

It is not in the terminal's group of processes: Ctrl-C reaches the chat alone, which ends the answer by ending the process. The
next answer gets a new one.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

from recalld.supervisor.host.workers import worker_command
from recalld.supervisor.protocol.task import parse_result, render_task
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import NoSummary

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from recalld.supervisor.protocol.task import AskedTask, Result
    from recalld.supervisor.text.language import Language
    from recalld.supervisor.workspace import Workspace

#: The beginning of each sentence that a worker prints.
_PREFIX = "recalld worker: "


class Stopped(Exception):
    """The answer was ended, by another thread than the one that waits for it."""


class ModelProcess:
    """Asks the configured model of *ws*; its own sentences are in *language*."""

    def __init__(self, ws: Workspace, language: Language) -> None:
        self._ws, self._language = ws, language
        self._child: Any = None
        self._is_ended = False

    def __enter__(self) -> Self:
        """Start the process: it loads what it needs while the question is typed."""
        if not self._ws.extracting:
            self._started()
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.stop()

    def ask(self, task: AskedTask, said: Callable[[str], None]) -> Result:
        """
        Return the model's answer; *said* gets each piece as it comes in. NoSummary where the process can't ask it.

        What interrupts it ends the process, and with it the answer; `end` does so from another thread: Stopped.
        """
        child = self._started()
        try:
            if self._is_ended:
                raise Stopped
            child.stdin.write(render_task(task).rstrip() + b"\n")
            child.stdin.flush()
            for line in child.stdout:
                told: dict[str, Any] = json.loads(line)
                if "result" in told:
                    return parse_result(json.dumps(told["result"]).encode())
                said(told["said"])
        except BrokenPipeError:
            pass
        except BaseException:
            self.stop()
            raise
        raise self._ended(child)

    def end(self) -> None:
        """End the answer that another thread waits for, and ask for no further one."""
        self._is_ended = True
        if child := self._child:
            child.kill()

    def stop(self) -> None:
        """End the process, which closes its connection to the model."""
        child, self._child = self._child, None
        if child:
            child.kill()
            child.communicate()

    def _started(self) -> Any:
        if self._child is None or self._child.poll() is not None:
            command = [*worker_command(self._ws.paths.root), "--talk", "--language", self._language]
            streams: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            environ = {**os.environ, **self._ws.environ}
            self._child = subprocess.Popen(command, env=environ, start_new_session=True, **streams)
        return self._child

    def _ended(self, child: Any) -> NoSummary | Stopped:
        """Return why the process ended without a result: `end`, its own sentence, or that it gave none."""
        self._child = None
        _, errors = child.communicate()
        if self._is_ended:
            return Stopped()
        sentence = errors.decode("utf-8", "replace").strip().removeprefix(_PREFIX).rstrip(".。")
        return NoSummary(sentence or Text("model.worker_ended"), "provider")
