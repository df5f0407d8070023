"""
The eight writers of the lock storm, of four kinds: two of other people's programs with the lock in their hands (filelock, flock(1)),
and two ways into recalld (the Python API, `recalld append`). Each prints the ids that it takes for safe.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from filelock import FileLock

from recalld.supervisor.archive.append import append
from recalld.supervisor.storage.clock import utc_now
from recalld.supervisor.workspace import open_workspace
from tests.process import foreign, forked

#: The writers by kind; those of OURS leave their words in the seen journal at once.
KINDS: Final = ("filelock", "flock", "api", "stream", "filelock", "flock", "api", "command")
OURS: Final = ("api", "stream", "command")
#: Seconds between two batches, and messages of one at most: who waits in the kernel for the lock would leave nothing to who polls.
PACE: Final = {"filelock": (0.003, 30), "api": (0.003, 30), "command": (0.003, 30), "flock": (0.15, 30), "stream": (0.15, 60)}


class Writers:
    """What the eight do until *stop* appears."""

    def __init__(self, root: Path, stop: Path) -> None:
        self.root = root
        self.history = root / "history.json"
        self.lock = root / "history.json.lock"
        self.stop = stop

    def life(self, kind: str, name: str, seed: int) -> Callable[[], int]:
        def run() -> int:
            chance = random.Random(f"{seed}-{name}")
            writers = {"filelock": self._filelock, "flock": self._flock, "api": self._api, "stream": self._stream}
            writers.get(kind, self._command)(self._batches(kind, name, chance))
            return 0

        return run

    def _batches(self, kind: str, name: str, chance: random.Random) -> Iterator[list[str]]:
        count, (pause_s, most) = 0, PACE[kind]
        while not self.stop.exists():
            time.sleep(chance.uniform(0, 2 * pause_s))
            size = chance.randint(1, most)
            yield [f"{name}-{count + n}" for n in range(size)]
            count += size

    def _filelock(self, batches: Iterator[list[str]]) -> None:
        for batch in batches:
            with FileLock(self.lock, mode=0o600).acquire(poll_interval=0.003):
                foreign.add(self.history, batch)
            _say(batch)

    def _flock(self, batches: Iterator[list[str]]) -> None:
        program = [sys.executable, "-S", "-E", foreign.__file__, str(self.history)]
        for batch in batches:
            prefix, _, first = batch[0].rpartition("-")
            subprocess.run(["flock", str(self.lock), *program, prefix, first, str(len(batch))], check=True)
            _say(batch)

    def _api(self, batches: Iterator[list[str]]) -> None:
        ws = open_workspace(self.root, os.environ, utc_now)
        for batch in batches:
            raws = [dict(foreign.message(one)) for one in batch]
            _say(append(ws, raws, utc_now(), os.urandom(10 * len(raws))))

    def _stream(self, batches: Iterator[list[str]]) -> None:
        """Feed one `recalld append --jsonl`, which prints the ids itself."""
        reader, given = os.pipe()
        child = forked.Child(forked.command(self.root, "append", "--jsonl"), dict(os.environ), [reader, 1, 2])
        os.close(reader)
        for batch in batches:
            os.write(given, b"".join(json.dumps(foreign.message(one)).encode() + b"\n" for one in batch))
        os.close(given)
        if code := child.wait():
            raise SystemExit(code)

    def _command(self, batches: Iterator[list[str]]) -> None:
        """Run `recalld append` for one batch after another."""
        for batch in batches:
            text = "".join(json.dumps(foreign.message(one)) + "\n" for one in batch)
            code, out, err = forked.run(self.root, "append", "--jsonl", environ=os.environ, text=text)
            os.write(1, out.encode())
            os.write(2, err.encode())
            if code not in (0, 75):
                raise SystemExit(code)


def _say(identities: list[str]) -> None:
    os.write(1, b"".join(one.encode() + b"\n" for one in identities))
