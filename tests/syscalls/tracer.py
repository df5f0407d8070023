"""
One child under strace: what it asks of the disk, and one of its calls made to fail, or to be its last.

The trace begins when the child is about to begin, so Python's own start is not in it. Never with --seccomp-bpf: faults then
silently do not fire. Counting is strace's: the n-th call of one name in one thread.
"""

# ruff: noqa: SIM905 - a table of words is read, not a literal of quotes
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from tests.process.forked import Child

#: What changes a disk, and what only reads it.
CHANGES: Final = frozenset(
    "write pwrite64 writev fsync fdatasync rename renameat renameat2 link linkat unlink unlinkat mkdir mkdirat rmdir ftruncate "
    "truncate fchmod fchmodat chmod fchown utimensat".split()
)
READS: Final = frozenset("read pread64 getdents64 newfstatat lstat stat fstat".split())
_OPENS: Final = frozenset({"open", "openat", "creat"})
_SET: Final = ",".join(f"?{name}" for name in sorted(CHANGES | READS | _OPENS))
_LINE: Final = re.compile(r"(\w+)\((.*)\)? += (.*)")
HANG_S: Final = 15.0


@dataclass(frozen=True)
class Call:
    """The *nth* call of that name; *asked* is the number of bytes of a write."""

    name: str
    nth: int
    changes: bool
    asked: int
    text: str


@dataclass(frozen=True)
class Outcome:
    """How a child ended; *fired* tells whether the fault was seen in the trace, *hung* that it had to be killed."""

    code: int
    out: str
    err: str
    trace: str
    fired: bool
    hung: bool
    seconds: float


def traced(
    run: Callable[[], int],
    environ: Mapping[str, str],
    scratch: Path,
    fault: str = "",
    given: Path = Path(os.devnull),
    *,
    thread: bool = False,
    only: str = "",
) -> Outcome:
    """
    Run *run* in a child with the strace injection *fault*; with *thread* what its first further thread does is watched.

    With *only* the calls of that name alone are traced, without the paths of files, which takes half the time.
    """
    found = scratch / "trace"
    said, out = os.pipe()  # pipes, not files: no limit of the disk holds for them, and what is said fits into one
    told, err = os.pipe()
    files = [os.open(given, os.O_RDONLY), out, err]
    child = Child(run, environ, files, hold=not thread)
    for number in files:
        os.close(number)
    child.held()
    followed = max(int(name) for name in os.listdir(f"/proc/{child.pid}/task"))
    what = ["-e", f"trace={only}"] if only else ["-y", "-e", f"trace={_SET}"]
    options = ["-q", "-s", "0", "-o", str(found), *what, *(["-e", f"inject={fault}"] if fault else [])]
    tracer = subprocess.Popen(["strace", *options, "-p", str(followed)], stderr=subprocess.PIPE)
    _await_tracer(child, followed, tracer)
    began = time.monotonic()
    os.kill(child.pid, signal.SIGCONT)
    hung = False
    try:
        child.wait(HANG_S)
    except subprocess.TimeoutExpired:
        hung = True
        child.kill()
    code = child.wait()
    seconds = time.monotonic() - began
    tracer.communicate()
    with os.fdopen(said, "rb") as printed, os.fdopen(told, "rb") as complained:
        texts = [pipe.read().decode(errors="replace") for pipe in (printed, complained)]
    trace = found.read_text(encoding="utf-8", errors="replace")
    fired = "+++ killed by SIGKILL" in trace if "signal=" in fault else "(INJECTED)" in trace
    return Outcome(code, *texts, trace, fired, hung, seconds)


def _await_tracer(child: Child, followed: int, tracer: subprocess.Popen[bytes]) -> None:
    status = Path(f"/proc/{child.pid}/task/{followed}/status")
    while "TracerPid:\t0\n" in status.read_text():
        if tracer.poll() is not None:
            child.kill()
            raise OSError(f"strace does not take hold: {tracer.communicate()[1].decode().strip()}")
        time.sleep(0.0005)


def calls(trace: str, root: Path) -> list[Call]:
    """The calls of a trace that are about files below *root*, in their order."""
    counts: dict[str, int] = {}
    found = []
    for line in trace.splitlines():
        match = _LINE.match(line)
        if not match:
            continue
        name, words, _ = match.groups()
        counts[name] = counts.get(name, 0) + 1
        if f"{root}/" in words or f"{root}>" in words or f'{root}"' in words:
            changes = name in CHANGES or (name in _OPENS and "O_CREAT" in words)
            asked = int(words.rpartition(", ")[2].rstrip(") ")) if name == "write" else 0
            found.append(Call(name, counts[name], changes, asked, line))
    return found


@lru_cache
def refused() -> str:
    """Why nothing can be traced here; "" where it can."""
    if not shutil.which("strace"):
        return "there is no strace (Debian: apt-get install strace)"
    done = subprocess.run(["strace", "-o", os.devnull, "-e", "trace=none", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else f"strace is refused: {done.stderr.decode().strip()}"
