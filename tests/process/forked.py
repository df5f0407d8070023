"""
Real processes without the wait for Python: the command line is imported once, and each process is a fork of that.

Every child runs the very code of `recalld`, with its own environment, signals and open files; a worker that a supervisor
starts is a fork as well. Call `warm` first, in a process that has no threads yet.
"""

import contextlib
import ctypes
import gc
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import recalld.supervisor.host.daemon
import recalld.supervisor.host.workers
import recalld.worker.__main__
from recalld.supervisor.interfaces.cli.call import Call, run_and_exit
from recalld.supervisor.interfaces.cli.main import COMMAND_LINE, run_command
from recalld.supervisor.interfaces.cli.parser import Command

_POLL_S = 0.002
#: No process of a trial takes so long, on however busy a machine: it hangs.
MOST_S = 120.0
#: Seconds of the processor's time that a command may take, which no other work on the machine makes more.
MOST_CPU_S = 30
_OPEN_FILES = 1024
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: a worker whose supervisor died becomes our child


class Acknowledged:
    """The lines that forked processes write to *out*; *note* is given those that have come whole."""

    def __init__(self, note: Callable[[list[str]], object]) -> None:
        self._note = note
        self._reader, self.out = os.pipe()
        os.set_blocking(self._reader, False)
        self._rest = b""

    def read(self) -> None:
        """Take in what has come."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._reader, 1 << 16):
                *whole, self._rest = (self._rest + data).split(b"\n")
                self._note([line.decode() for line in whole])

    def end(self) -> None:
        """Take in the last lines of those who have ended."""
        self.read()
        os.close(self._reader)
        os.close(self.out)


class Child:
    """A process that this one has forked; made like subprocess.Popen, as far as a supervisor asks for it."""

    def __init__(
        self, run: Callable[[], int], environ: Mapping[str, str] | None = None, files: Sequence[int] = (), hold: bool = False
    ) -> None:
        """Run *run* with *files* as its standard input, output and errors (-1: none); with *hold* it stops itself before it begins."""
        self.returncode: int | None = None
        with open(os.devnull, "r+b") as nothing:
            self._files = [nothing.fileno() if number < 0 else number for number in (*files, -1, -1, -1)[:3]]
            self.pid = os.fork()
            if self.pid == 0:
                self._live(run, environ, hold)

    def _live(self, run: Callable[[], int], environ: Mapping[str, str] | None, hold: bool) -> None:
        code = 1
        try:
            _become(environ, self._files)
            if hold:
                os.kill(os.getpid(), signal.SIGSTOP)
            code = run()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def held(self) -> None:
        """Wait until the child has stopped itself."""
        os.waitpid(self.pid, os.WUNTRACED)

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it lives."""
        if self.returncode is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code; subprocess.TimeoutExpired after so many seconds, and after MOST_S in any case."""
        most_s = MOST_S if timeout is None else timeout
        until = time.monotonic() + most_s
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("recalld", most_s)
            time.sleep(_POLL_S)
        return code

    def send(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send(signal.SIGTERM)

    def kill(self) -> None:
        self.send(signal.SIGKILL)


def _become(environ: Mapping[str, str] | None, files: Sequence[int]) -> None:
    """Be a process of one's own: nothing of the parent's files, locks, signals and variables is left."""
    kept = [os.dup2(os.dup(number), _OPEN_FILES + n) for n, number in enumerate(files)]
    for n, number in enumerate(kept):
        os.dup2(number, n)
    os.closerange(3, _OPEN_FILES + 8)  # a lock that is inherited would be held for ever
    if environ is not None:
        os.environ.clear()
        os.environ.update(environ)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
    recalld.supervisor.host.workers.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": _forked_worker})  # type: ignore[assignment]


def _forked_worker(
    command: Sequence[str], env: Mapping[str, str] | None = None, **given: Any
) -> Child | subprocess.Popen[bytes]:
    """Fork the worker that a supervisor wants to start by *command*: python -P …/worker/__main__.py … One that is waited for is real."""
    if given.get("stderr") == subprocess.PIPE:
        return subprocess.Popen(command, env=env, **given)
    return Child(lambda: work(command[3:]), env)


def work(words: Sequence[str]) -> int:
    """Be a worker process with these arguments."""
    sys.argv = ["worker", *words]
    return recalld.worker.__main__.main()


def command(root: Path, *words: str) -> Callable[[], int]:
    """What a child has to run to be `recalld -w ROOT …`."""

    def life() -> int:
        sys.argv = ["recalld", "-w", str(root), *words]
        call = Call()
        run_and_exit(call, lambda: run_command(call))
        return 0

    return life


def run(root: Path, *words: str, environ: Mapping[str, str], text: str = "") -> tuple[int, str, str]:
    """Run one command to its end: exit code, output, errors; one that hangs is killed, and its errors say so."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(text.encode())
        given.seek(0)
        child = Child(_limited(command(root, *words)), environ, [given.fileno(), out.fileno(), err.fileno()])
        try:
            code = child.wait()
        except subprocess.TimeoutExpired:
            child.kill()
            code = child.wait()
        out.seek(0)
        err.seek(0)
        told = err.read().decode()
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            told += f"it never ended: {' '.join(words)} was killed after {MOST_CPU_S} s of work, or {MOST_S:.0f} s in all\n"
        return code, out.read().decode(), told


def settle(root: Path, environ: Mapping[str, str]) -> list[str]:
    """Run until all is settled, as a person would after a crash; what is wrong with that."""
    until = time.monotonic() + MOST_S
    while True:
        began = time.monotonic()
        code, _, err = run(root, "run", "--until-settled", environ=environ)
        if code != 75 or began > until:  # who was killed may hold the lock for a moment
            return [f"the calm run ended with {code}: {err[-2000:]}"] if code or err else []
        time.sleep(0.2)


def _limited(life: Callable[[], int]) -> Callable[[], int]:
    """End by SIGXCPU when *life* has used the processor for MOST_CPU_S seconds."""

    def limited() -> int:
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S + 5))
        return life()

    return limited


def adopt_orphans() -> None:
    """Become the parent of every process whose own parent dies, to be able to end them."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def end_orphans() -> None:
    """End the workers whose supervisor was killed; there must be no other children."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while pids := children.read_text().split():
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(int(pid), signal.SIGKILL)
                os.waitpid(int(pid), 0)


def plain_environ(**more: str) -> dict[str, str]:
    """This process's variables without any of recalld's, every day having a summary, and *more*."""
    others = {key: value for key, value in os.environ.items() if not key.startswith("RECALLD_")}
    return {**others, "RECALLD_SUMMARIZE_LEAST": "0", **more}


def load_commands() -> None:
    """Load the module of every command."""
    for command in COMMAND_LINE.commands.values():
        for inner in [command] if isinstance(command, Command) else command.commands.values():
            assert inner.params is not None


def warm() -> None:
    """Import and load here what every child will need: dictionaries, the model of extracts, the command's own modules."""
    with tempfile.TemporaryDirectory(prefix="warm-") as folder, open(os.devnull, "w") as nowhere:
        root = Path(folder, "workspace")
        before = dict(os.environ)
        line = (
            '{"role":"user","text":"明天把 nginx 的配置备份一下。 Renew the certificate.","createdAt":"2026-01-05T08:00:00Z"}'
        )
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            for words in (["init"], ["append", "--role", "user", "--text", line], ["run", "--until-settled", "--no-worker"]):
                run_command(Call(["-w", str(root), "--now", "2026-01-28T12:00:00Z", *words]))
            run(root, "append", "--jsonl", environ=plain_environ(), text=line)
            run_command(Call(["-w", str(root), "--now", "2026-01-28T12:00:00Z", "run", "--until-settled", "--no-worker"]))
            _work_once(root)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.default_int_handler)
        os.environ.clear()
        os.environ.update(before)
    load_commands()  # else each child loads them again
    gc.freeze()  # a child's collector must not copy every page


def _work_once(root: Path) -> None:
    """Let a worker of this very process do one task, without the threads of its loop."""
    from recalld.supervisor.workspace import open_workspace
    from recalld.worker.desk import FolderDesk
    from recalld.worker.loop import Worker
    from recalld.worker.providers import choose

    ws = open_workspace(root, {}, recalld.supervisor.storage.clock.utc_now)
    desk = FolderDesk(ws.files, ws.paths, ws.config)
    Worker(desk, choose(ws.config, {}), recalld.supervisor.storage.clock.utc_now).run_once()
