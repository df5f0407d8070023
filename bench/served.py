"""recalld in a process of its own, for the benchmarks: a workspace settled, a supervisor started, asked, watched, ended."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recalld.supervisor.interfaces.locate import PROTOCOL, folder_id

#: RECALLD_* of whoever runs the benchmark stay out of it; modules are compiled once, as where a package is installed.
ENVIRON = {key: value for key, value in os.environ.items() if not key.startswith("RECALLD_")}
ENVIRON.pop("PYTHONDONTWRITEBYTECODE", None)
WAIT_S = 600.0


def settle(root: Path, at: str, environ: Mapping[str, str] = ENVIRON) -> int:
    """Have recalld archive and summarise in the workspace all that is due at that moment; returns its exit code."""
    command = [sys.executable, "-P", "-m", "recalld", "-w", str(root), "--now", at, "run", "--until-settled"]
    return subprocess.run(command, env=environ, stdout=subprocess.DEVNULL, check=False).returncode


def processor_s(pid: int) -> float:
    """Return the processor seconds of a process, with those of threads that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int, key: str) -> float:
    """Return what a process holds, from /proc: RssAnon is its own, VmRSS with what it shares."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))


class Served:
    """The supervisor of a workspace, as its process and its socket."""

    def __init__(self, root: Path, process: subprocess.Popen[bytes]) -> None:
        self.root, self.process = root, process

    def ask(self, *argv: str) -> str:
        """Return what the command prints when the supervisor runs it; one question, one connection, as the command does."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.connect(str(self.root / ".recalld" / "socket"))
            asked = {"op": "command", "request": {"argv": argv, "env": {}}, "caller": {}}
            line.sendall(json.dumps({"version": PROTOCOL, **asked, "folder": folder_id(str(self.root))}).encode() + b"\n")
            _, _, data = b"".join(iter(lambda: line.recv(1 << 16), b"")).partition(b"\n")  # the first line acknowledges
            answer: dict[str, Any] = json.loads(data)
        assert answer["code"] == 0, answer["err"]
        return str(answer["out"])

    def finds(self, words: str, path: str) -> bool:
        """Return whether a search for *words* leads to the file."""
        return any(hit["path"] == path for hit in json.loads(self.ask("search", "--json", "--", words)))

    def await_found(self, words: str, path: str) -> float:
        """Wait until the search leads there; return the seconds it took."""
        began = time.monotonic()
        while not self.finds(words, path):
            assert time.monotonic() - began < WAIT_S, f"{words} is not found in {path}"
            time.sleep(0.01)
        return time.monotonic() - began

    def await_rest(self, share: float = 0.02) -> None:
        """Wait until it uses less than that share of a processor for two seconds, a minute at most."""
        for _ in range(30):
            before = self.cpu_s()
            time.sleep(2)
            if self.cpu_s() - before < 2 * share:
                return

    def memory_mb(self, key: str = "RssAnon") -> float:
        """Return what the process holds."""
        return memory_mb(self.process.pid, key)

    def cpu_s(self) -> float:
        """Return the processor seconds that its threads have used."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


@contextlib.contextmanager
def served(
    root: Path, stdout: int = subprocess.DEVNULL, python: Path = Path(sys.executable), **environ: str
) -> Iterator[Served]:
    """Have a supervisor of *python* run over the workspace, without a worker, once its socket answers."""
    command = [str(python), "-P", "-m", "recalld", "-w", str(root), "run", "--no-worker"]
    process = subprocess.Popen(command, env={**ENVIRON, **environ}, stdout=stdout)
    here = Served(root, process)
    try:
        began = time.monotonic()
        while True:
            with contextlib.suppress(OSError, ValueError):
                here.ask("search", "backup")
                break
            assert process.poll() is None, "the supervisor has ended"
            assert time.monotonic() - began < WAIT_S, "the supervisor never answers"
            time.sleep(0.02)
        yield here
    finally:
        process.terminate()
        process.wait()
