"""
A process that has all of recalld loaded and forks whoever asks: a command of a test begins at once, and Python's start is paid once.

What differs from a new process is the start itself, and that a command waits for a supervisor on a busy machine: else it would do
its work itself, and a test would see now one, now the other. So tests of the start, of the streams, of the variables of Python and
of a supervisor that is stopped start a new one (`Command.start`), and so does every test of what a person types at a terminal
(tests/test_examples.py).
"""

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import cache
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_PID = 16  # digits of the answer


class Process(subprocess.Popen[str]):
    """`recalld …` or `worker …`, forked, with the pid, the streams and the exit code of any process; all three are given."""

    def _execute_child(self, args: Sequence[str], *given: Any) -> None:
        cwd, environ = given[4:6]
        stdin, _, _, stdout, _, stderr = streams = given[9:15]
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(address())
        socket.send_fds(self._line, [b"\n"], [stdin, stdout, stderr])
        self._line.sendall(json.dumps({"words": [*args], "cwd": str(cwd), "environ": environ}).encode())
        self._line.shutdown(socket.SHUT_WR)
        self.pid = int(self._line.recv(_PID, socket.MSG_WAITALL))
        self._child_created = True
        self._close_pipe_fds(*streams)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if wait_flags == os.WNOHANG and not select.select([self._line], [], [], 0)[0]:
            return 0, 0
        status = int(self._line.recv(_PID, socket.MSG_WAITALL))
        self._line.close()
        return self.pid, status

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            if pid:
                self._handle_exitstatus(status)
        return self.returncode


@cache
def address() -> bytes:
    """The address of the process that forks; it ends with this one."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("")  # the system chooses a name that is no file
        listening.listen()
        number = listening.fileno()
        command = [sys.executable, "-m", "tests.process.prepared", str(number)]
        server = subprocess.Popen(command, cwd=_ROOT, pass_fds=[number], stdin=subprocess.PIPE)
        atexit.register(server.communicate)
        return listening.getsockname()


class _Server:
    """Forks on *listening* until its standard input ends."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._asked: dict[int, socket.socket] = {}
        self._ended, woken = os.pipe()
        os.set_blocking(self._ended, False)
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        while True:
            ready, _, _ = select.select([sys.stdin, self._listening, self._ended], [], [])
            if self._ended in ready:
                self._report()
            if self._listening in ready:
                self._fork()
            if sys.stdin in ready:
                return

    def _fork(self) -> None:
        line, _ = self._listening.accept()
        _, files, _, _ = socket.recv_fds(line, 1, 3)
        with line.makefile("rb") as reader:
            asked = json.load(reader)
        child = forked.Child(_life(asked["words"], asked["cwd"], asked.get("umask")), asked["environ"], files)
        for number in files:
            os.close(number)
        self._asked[child.pid] = line
        line.sendall(b"%*d" % (_PID, child.pid))

    def _report(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._ended, 1 << 10)
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                with self._asked.pop(found[0]) as line, contextlib.suppress(OSError):  # nobody waits for it any more
                    line.sendall(b"%*d" % (_PID, found[1]))


def _life(words: Sequence[str], cwd: str, umask: int | None) -> Callable[[], int]:
    """What a child has to run to be the program that these *words* begin with, as *cwd* is its working folder."""

    def life() -> int:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.chdir(cwd)
        if umask is not None:
            os.umask(umask)
        time.tzset()
        sys.argv = [*words]
        try:
            return {"recalld": recalld.__main__.main, "worker": recalld.worker.__main__.main}[words[0]]() or 0
        finally:
            threading._shutdown()  # as at the end of any process: the threads are waited for

    return life


def _load() -> None:
    """Load what any command needs; nothing may start a thread, which no child would have."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    copy_context().run(forked.warm)  # a command's context is its own
    for path in sorted([*(_ROOT / "supervisor").rglob("*.py"), *(_ROOT / "worker").rglob("*.py")]):
        if not {"mcp.py", "llamaindex"}.intersection(path.parts):  # what they need takes a second, and is needed by them alone
            importlib.import_module(".".join(path.relative_to(_ROOT).with_suffix("").parts).removesuffix(".__init__"))
    locate.ask_supervisor.__defaults__ = (PATIENCE_S,)
    forked.load_commands()
    for word in ("备份", "backup"):
        rarity_of(tokens(word)[0])
    gc.freeze()


if __name__ == "__main__":
    import gc
    import importlib

    import recalld.__main__
    import recalld.worker.__main__
    from recalld.supervisor.interfaces import locate
    from recalld.supervisor.text.tokenizer import tokens
    from recalld.supervisor.text.word_frequency import rarity_of
    from tests.patience import PATIENCE_S
    from tests.process import forked

    _load()
    with socket.socket(fileno=int(sys.argv[1])) as found:
        _Server(found).serve()
