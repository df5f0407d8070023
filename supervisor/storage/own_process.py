"""
A function called in a process of its own, which ends with all that the function loads.

A supervisor runs for months, and would keep in memory the 150 MB of dictionaries that naming one dated file takes. Loading them
takes a quarter or half a second of processor, so one process serves all workspaces until the host has nothing to do. No
answer may go to another call: it would put one person's words into the name of another's file.

And what a process that runs for months keeps of the memory it has freed: nothing is done with another C library than glibc.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds until a process must have answered: meanwhile other workspaces wait.
_ANSWER_S: Final = 30.0
#: The process finds modules where this one does.
_PROGRAM: Final = f"""\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from {__name__} import answer_all
answer_all()
"""
#: glibc's M_ARENA_MAX. The default is eight arenas a core, each of which keeps the memory that an index update once needed.
_M_ARENA_MAX: Final = -8
_ARENAS: Final = 1


class _Process:
    """The process that calls functions, started at the first call after it has ended; one call at a time."""

    def __init__(self) -> None:
        self._calling = threading.Lock()
        self._started: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with self._calling:
            try:
                return self._answer(function, arguments)
            except BaseException as error:  # Ctrl-C, too: the answer that is still to come is no other call's
                self._kill()
                if not isinstance(error, (OSError, ValueError)):
                    raise
        return function(*arguments)

    def end(self) -> None:
        if self._calling.acquire(blocking=False):
            try:
                self._kill()
            finally:
                self._calling.release()

    def _answer(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return what the process answers; OSError or ValueError if it ends, answers another call, or takes too long."""
        number, process = next(self._numbers), self._running()
        asked = json.dumps([number, function.__module__, function.__qualname__, arguments]).encode("ascii")
        limit = threading.Timer(_ANSWER_S, process.kill)  # ends a write that nobody reads, too
        limit.daemon = True
        limit.start()
        try:
            if process.stdin and process.stdout:
                process.stdin.write(asked + b"\n")
                process.stdin.flush()
                answered, answer = json.loads(process.stdout.readline())
                if answered == number:
                    return answer
            raise ValueError("no answer to this call")
        finally:
            limit.cancel()

    def _running(self) -> subprocess.Popen[bytes]:
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
        return self._started

    def _kill(self) -> None:
        process, self._started = self._started, None
        if process:
            process.kill()
            process.communicate()


_PROCESS: Final = _Process()


def call_in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """
    Return what *function*, a module's, returns; arguments and answer are values that JSON has.

    It is called in this process where no other can be started, or where that ends without an answer,
    or is killed because it takes too long.
    """
    return _PROCESS.call(function, *arguments)


def end_own_process() -> None:
    """End the process that functions were called in, unless it is in use; the next call starts another."""
    _PROCESS.end()


def answer_all() -> None:
    """Call the function that each line of standard input names, and write what it returns as a line to standard output."""
    for line in sys.stdin:
        number, module, name, arguments = json.loads(line)
        print(json.dumps([number, getattr(import_module(module), name)(*arguments)]), flush=True)


def limit_malloc_arenas() -> None:
    """Make all threads share one malloc arena, so that freed memory is reused."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def give_back_memory() -> None:
    """Give what is freed back to the system, also below what is in use: after a first archive run a quarter of the memory."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
