"""
A function called in a process of its own, which ends with all that the function loads.

A supervisor runs for months, and would keep in memory the 150 MB of dictionaries that naming one dated file takes. Loading them
takes a quarter or half a second of processor, so one process serves all workspaces until the host has nothing to do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: The process finds modules where this one does.
_PROGRAM: Final = f"""\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from {__name__} import answer_all
answer_all()
"""


class _Process:
    """The process that calls functions, started at the first call after it has ended; one call at a time."""

    def __init__(self) -> None:
        self._calling = threading.Lock()
        self._started: subprocess.Popen[bytes] | None = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with self._calling:
            try:
                return self._answer(json.dumps([function.__module__, function.__qualname__, arguments]).encode("ascii"))
            except (OSError, ValueError):
                self._kill()
        return function(*arguments)

    def end(self) -> None:
        if self._calling.acquire(blocking=False):
            try:
                self._kill()
            finally:
                self._calling.release()

    def _answer(self, asked: bytes) -> Any:
        if self._started is None or self._started.poll() is not None:
            self._kill()
            # a session of its own: Ctrl-C ends the supervisor, which waits for this answer
            self._started = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        if self._started.stdin and self._started.stdout:
            self._started.stdin.write(asked + b"\n")
            self._started.stdin.flush()
            return json.loads(self._started.stdout.readline())
        raise OSError

    def _kill(self) -> None:
        process, self._started = self._started, None
        if process:
            process.kill()
            process.communicate()


_PROCESS: Final = _Process()


def call_in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """
    Return what *function*, a module's, returns; arguments and answer are values that JSON has.

    It is called in this process where no other can be started, or where that ends without an answer.
    """
    return _PROCESS.call(function, *arguments)


def end_own_process() -> None:
    """End the process that functions were called in, unless it is in use; the next call starts another."""
    _PROCESS.end()


def answer_all() -> None:
    """Call the function that each line of standard input names, and write what it returns as a line to standard output."""
    for line in sys.stdin:
        module, name, arguments = json.loads(line)
        print(json.dumps(getattr(import_module(module), name)(*arguments)), flush=True)
