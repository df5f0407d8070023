"""A long run in parts: each part that is done is a line in a log, so that a run which was cut off goes on where it stopped."""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest


def options_of(module: str, about: str | None) -> argparse.ArgumentParser:
    """What every suite can be told; it adds what it alone takes."""
    options = argparse.ArgumentParser(
        prog=f"python -m {module}", description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--seed", type=int, default=1, help="where it begins: another number, other parts")
    options.add_argument("--log", type=Path, help="a line a part; a run that was cut off goes on")
    return options


def share(module: str, *words: str) -> str:
    """What a suite prints that runs in a process of its own: it forks, and this one may have threads; skipped where it can do nothing."""
    command = [sys.executable, "-m", module, *words]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    if "SKIPPED" in done.stdout:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


class Rounds:
    """What was done, by its key: {"key", "wrong", "commit", …}. Without *log* it is kept in memory alone."""

    def __init__(self, log: Path | None = None) -> None:
        self._log = log
        self._began = time.monotonic()
        self._shown = 0
        commit()  # of the code as it was read, whatever is committed meanwhile
        self.done: dict[str, Mapping[str, Any]] = {}
        if log and log.exists():
            self.done = {one["key"]: one for one in _whole_lines(log)}

    def add(self, key: str, wrong: list[str], **counts: Any) -> None:
        """Note that the part *key* is done, and print at once what is wrong with it."""
        self.done[key] = {"key": key, "wrong": wrong, "commit": commit(), **counts}
        for sentence in wrong:
            print(f"{key}: {sentence}", flush=True)
        if self._log:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(f"\n{json.dumps(self.done[key], ensure_ascii=False)}")  # behind what may have been cut off

    def total(self, count: str) -> int:
        """The sum of one of the counts over all parts."""
        return sum(int(one.get(count, 0)) for one in self.done.values())

    @property
    def wrong(self) -> int:
        """How many violations there are, those of earlier runs in the log included."""
        return sum(len(one["wrong"]) for one in self.done.values())

    @property
    def end(self) -> str:
        """What the last line of a suite ends with: violations, seconds, the commits that it was all done on."""
        commits = ", ".join(dict.fromkeys(str(one.get("commit", "of old")) for one in self.done.values()))
        return f"{self.wrong} violations, {self.seconds:.0f} s; commit {commits}"

    @property
    def seconds(self) -> float:
        """How long this run has taken so far."""
        return time.monotonic() - self._began

    def progress(self, text: str) -> None:
        """Say on a terminal or in a long log how far it is, at most every half a minute."""
        if self.seconds - self._shown >= 30:
            self._shown = int(self.seconds)
            print(f"… {text}, {self.wrong} violations, {self.seconds:.0f} s", file=sys.stderr, flush=True)


@contextlib.contextmanager
def folder_in_memory(prefix: str = "") -> Iterator[Path]:
    """A folder in which an fsync takes no time, where the machine has one; it goes with its end."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix=prefix, dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@lru_cache
def commit() -> str:
    """The commit whose code runs here, with a "+" where files of it were changed; "unknown" without git."""
    said = []
    for words in (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "--untracked-files=no")):
        done = subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
        if done.returncode:
            return "unknown"
        said.append(done.stdout.strip())
    return said[0] + ("+" if said[1] else "")


def _whole_lines(log: Path) -> Iterator[Mapping[str, Any]]:
    """Yield what was written down; a part whose line was cut off is done again."""
    for line in log.read_text(encoding="utf-8", errors="replace").split("\n"):
        with contextlib.suppress(ValueError):
            yield json.loads(line)
