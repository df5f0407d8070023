"""The command as people start it: a process, its arguments, what it prints; and a supervisor that answers at its socket."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from tests.patience import PATIENCE_S
from tests.process.prepared import Process

#: Compiled modules are kept between the processes of all these tests, as they are where the package is installed.
_COMPILED = str(Path(tempfile.gettempdir()) / f"recalld-tests-{os.getuid()}")
_FRONT = ("-m", "recalld")


@dataclass(frozen=True)
class Ended:
    """What a process left: its exit code and what it printed."""

    code: int
    out: str
    err: str


class Command:
    """`recalld -w ROOT …`, each in a process of its own, in English, with RECALLD_* as given and no other of the environment's."""

    def __init__(self, root: Path, **environ: str) -> None:
        self.root = root
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("RECALLD_", "PYTHON"))}
        patient = {"RECALLD_RECALL_TIMEOUT_MS": "60000"}  # a busy machine finds the same
        self.environ = {**kept, "PYTHONPYCACHEPREFIX": _COMPILED, "RECALLD_LANGUAGE": "en", **patient, **environ}

    @classmethod
    def made(cls, root: Path, **environ: str) -> Self:
        """The command in a new workspace."""
        command = cls(root, **environ)
        assert command("init").code == 0
        return command

    def start(
        self,
        *words: str,
        before: Sequence[str] = (),
        options: Sequence[str] = (),
        stdout: IO[Any] | int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        **environ: str,
    ) -> subprocess.Popen[str]:
        """
        Start `recalld` with these *words* alone; *before* it another program, *options* of Python.

        It is forked from a process that has it loaded, unless something is said of its start, its output or Python.
        """
        new = (
            before or options or (stdout, stderr) != (subprocess.PIPE,) * 2 or any(key.startswith("PYTHON") for key in environ)
        )
        return (subprocess.Popen if new else Process)(
            [*before, sys.executable, *options, *_FRONT, *words] if new else ["recalld", *words],
            env={**self.environ, **environ},
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            encoding="utf-8",
            cwd=self.root.parent,
        )

    def __call__(self, *words: str, stdin: str = "", **environ: str) -> Ended:
        """Run `recalld -w ROOT` with these *words* to its end."""
        return ended(self.start("-w", str(self.root), *words, **environ), stdin)

    @contextlib.contextmanager
    def supervised(self, *words: str, **more: Any) -> Iterator[subprocess.Popen[str]]:
        """Have a supervisor of the workspace running, once it answers; *more* is for `start`."""
        process = self.start("-w", str(self.root), "run", "--no-worker", *words, **more)
        try:
            until(lambda: answers(self.root / ".recalld" / "socket"), process)
            yield process
        finally:
            process.terminate()
            ended(process)


def ended(process: subprocess.Popen[str], stdin: str = "") -> Ended:
    """What it left at its end; where it hangs it is killed, so that it keeps no lock, and the test fails with what it printed."""
    try:
        out, err = process.communicate(stdin, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{process.args} did not end in {PATIENCE_S:g} s: {process.communicate()}") from None
    return Ended(process.returncode, out or "", err or "")


def until(holds: Callable[[], Any], process: subprocess.Popen[str] | None = None, most_s: float = PATIENCE_S) -> Any:
    """What *holds* returns once it is true; *process* has to live until then."""
    deadline, turn = time.monotonic() + most_s, threading.Event()
    while not (found := holds()):
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"it did not come in {most_s} s"
        turn.wait(0.01)
    return found


def fill(writer: int) -> None:
    """Fill the pipe with empty lines, so that who writes to it waits for its reader."""
    os.set_blocking(writer, False)
    for size in (1 << 16, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"\n" * size)
    os.set_blocking(writer, True)


def answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        return line.connect_ex(str(path)) == 0
