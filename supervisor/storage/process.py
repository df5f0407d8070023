"""
A process that runs for months: what it does in another one, what it keeps of freed memory, how signals end it, how it prints.

A supervisor would keep the 70 MB of dictionaries that naming one dated file takes; loading them in another process takes a
quarter or half a second of processor, once for all files of a run. Without glibc freed memory is left alone.

Lines are printed by a thread, since a reader may stop reading (a pager, a container's log), go away, or be a full disk. Nothing
waits for it: the newest lines are kept until it reads on, and the number of those that could not be printed is printed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TextIO

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
    import subprocess  # most commands start no process

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


#: Lines that wait for a reader, at most.
_MAX_LINES: Final = 1000
#: Seconds to wait for the reader at the end.
_CLOSE_S: Final = 1.0


def is_journal(out: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Return whether *out* goes to systemd's journal, which takes the priority of a line from `<3>` before it."""
    named = environ.get("JOURNAL_STREAM")
    if not named or out is None:
        return False
    with contextlib.suppress(OSError, ValueError):  # it is closed, or is no file
        stat = os.fstat(out.fileno())
        return named == f"{stat.st_dev}:{stat.st_ino}"
    return False


@contextlib.contextmanager
def line_printer(out: TextIO | None, lost: Callable[[int], str]) -> Iterator[Callable[[str], None]]:
    """
    Yield a function that prints a line to *out* soon, never waits and never fails; it does nothing if *out* is None (closed).

    *lost* makes the line that says how many lines could not be printed; it is printed in their place. At the end of the block
    the lines that are left are waited for, _CLOSE_S seconds at most.
    """
    if out is None:
        yield lambda _line: None
        return
    printer = _LinePrinter(out, lost)
    try:
        yield printer.print
    finally:
        printer.close()


class _LinePrinter:
    """The lines that are left, and a thread that prints them."""

    def __init__(self, out: TextIO, lost: Callable[[int], str]) -> None:
        self._handle, self._encoding = out.fileno(), out.encoding
        self._lost = lost
        self._lines: deque[str] = deque(maxlen=_MAX_LINES)
        self._lost_lines = 0
        self._is_cut = False
        self._is_ending = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def print(self, line: str) -> None:
        with self._changed:
            self._lost_lines += len(self._lines) == _MAX_LINES  # the oldest one makes room
            self._lines.append(line)
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._is_ending = True
            self._changed.notify()
        self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines or self._is_ending)
                if not self._lines:
                    return
                lost, self._lost_lines = self._lost_lines, 0
                lines = [self._lost(lost)] * bool(lost) + [self._lines.popleft()]
            if not self._write("".join(f"{line}\n" for line in lines)):
                with self._changed:
                    self._lost_lines += lost + 1

    def _write(self, text: str) -> bool:
        """Write the text and return whether that worked; a line that was cut off before is ended first."""
        # not by the stream: a thread that waits in it would hold the lock that Python needs at its end
        rest = (b"\n" if self._is_cut else b"") + text.encode(self._encoding, "backslashreplace")
        try:
            while rest:
                rest = rest[os.write(self._handle, rest) :]
                self._is_cut = bool(rest)
        except OSError:
            return False
        return True
