"""
Lines on standard output and standard error, printed by a thread, so that neither a supervisor nor a worker ever waits for them.

A reader may stop reading (a pager, a container's log), go away, or be a full disk. Nothing waits for it: the newest lines are
kept until it reads on, and the number of those that could not be printed is printed.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TextIO

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
