"""
A process that runs for months: how signals end it, what it does in a process of its own, and what it keeps of freed memory.

A supervisor would keep the 70 MB of dictionaries that naming one dated file takes; loading them in another process takes a
quarter or half a second of processor, once for all files of a run. Without glibc freed memory is left alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

#: Seconds until a process must have answered: meanwhile the run waits.
_ANSWER_S: Final = 30.0
#: The process finds modules where this one does.
_PROGRAM: Final = """\
import importlib, json, sys
sys.path[:], module, name, arguments = json.load(sys.stdin)
print(json.dumps(getattr(importlib.import_module(module), name)(*arguments)))
"""
#: glibc's M_ARENA_MAX. The default is eight arenas a core, each of which keeps the memory that an index update once needed.
_M_ARENA_MAX: Final = -8
_ARENAS: Final = 1


def call_in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """
    Return what *function*, a module's, returns; arguments and answer are values that JSON has.

    It is called in this process where no other can be started, or where that ends without an answer,
    or is killed because it takes too long.
    """
    call = json.dumps([sys.path, function.__module__, function.__qualname__, arguments])
    command = [sys.executable, "-P", "-c", _PROGRAM]
    try:
        # a session of its own: Ctrl-C ends the supervisor, which waits for this answer
        ended = subprocess.run(
            command, input=call.encode("ascii"), capture_output=True, timeout=_ANSWER_S, start_new_session=True, check=True
        )
        return json.loads(ended.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return function(*arguments)


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


def on_signals(stop: Callable[[], None]) -> None:
    """
    Let SIGTERM and SIGINT call *stop* in a thread, for as long as the process lives.

    A handler runs only in the main thread, and not before it wakes: a signal that comes as it falls asleep would wait for ever.
    And the code that it interrupts may hold the lock that *stop* needs. So the signal itself writes to a pipe that a thread
    reads.
    """
    heard, rings = os.pipe()
    os.set_blocking(rings, False)

    def listen() -> None:
        while os.read(heard, 1):
            stop()

    threading.Thread(target=listen, name="signals", daemon=True).start()
    signal.set_wakeup_fd(rings, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
