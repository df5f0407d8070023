"""
A process that runs for months: what it does in another one, what it keeps of freed memory, how signals end it, how it prints.

A supervisor would keep the 70 MB of dictionaries that naming one dated file takes; loading them in another process takes a
quarter or half a second of processor, once for all files of a run. Without glibc freed memory is left alone.

Lines are printed by a thread, since a reader may stop reading (a pager, a container's log), go away, or be a full disk. Nothing
waits for it: what does not fit beside the lines that wait for it is not printed.
"""

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from queue import Full, Queue
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
#: Seconds to wait for the reader at the end, of a full queue twice.
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
def line_printer(out: TextIO | None) -> Iterator[Callable[[str], None]]:
    """
    Yield a function that prints a line to *out* soon, never waits and never fails; it does nothing if *out* is None (closed).

    A line for which there is no room is dropped. At the end of the block the lines that are left are waited for, for a few
    seconds at most.
    """
    if out is None:
        yield lambda _line: None
        return
    lines: Queue[str | None] = Queue(_MAX_LINES)
    thread = threading.Thread(target=_print, args=(lines, out.fileno(), out.encoding), name="output", daemon=True)
    thread.start()

    def print_line(line: str) -> None:
        with contextlib.suppress(Full):
            lines.put_nowait(line)

    try:
        yield print_line
    finally:
        with contextlib.suppress(Full):
            lines.put(None, timeout=_CLOSE_S)
        thread.join(_CLOSE_S)


def _print(lines: Queue[str | None], handle: int, encoding: str) -> None:
    """Print the *lines* until one is None; a line that a full disk cut off is ended before the next."""
    is_cut = False
    for line in iter(lines.get, None):
        # not by the stream: a thread that waits in it would hold the lock that Python needs at its end
        rest = (b"\n" if is_cut else b"") + f"{line}\n".encode(encoding, "backslashreplace")
        with contextlib.suppress(OSError):
            while rest:
                rest = rest[os.write(handle, rest) :]
                is_cut = bool(rest)
