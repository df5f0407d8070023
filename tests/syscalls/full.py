"""
Full disks, for real: ``python -m tests.syscalls.full --cycles 50`` (as root).

A small tmpfs is filled to the last byte, or of its last inode, under a living supervisor that has just been given work; it says
`degraded` (or `index_stale`, where only the index had no room left), room is made, it says that all is well again, and
everything is there. Nobody lends it a hand.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.checker.__main__ import read_folder
from tests.checker.checker import Given, check
from tests.patience import PATIENCE_S
from tests.powercut.rig import Refused, enter_namespace
from tests.process import forked
from tests.process.feeder import say
from tests.process.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.checker.checker import Acked

ENVIRON: Final = forked.plain_environ(
    RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai",
    RECALLD_ARCHIVE_UNARCHIVED_LIMIT="3",
    RECALLD_ARCHIVE_EXCHANGE_WAIT="0",
    RECALLD_ARCHIVE_WRITE_WAIT="50ms",
    RECALLD_ARCHIVE_WRITE_WAIT_LIMIT="200ms",
    RECALLD_CARE_POLL="50ms",
)
#: What a tmpfs may be short of.
SHORT: Final = {"bytes": "size=3m", "inodes": "size=64m,nr_inodes=400"}
#: What says that there is no room, each with what takes it back.
REPORTS: Final = {"degraded": "recovered", "index_stale": "index_fresh"}
#: How often nobody says a word after room was made, so that the supervisor has to find out by itself.
_SILENT: Final = 0.1


class Full:
    """A workspace on a tmpfs of its own at *point*."""

    def __init__(self, point: Path, short_of: str, seed: int) -> None:
        self.point = point
        self.root = point / "workspace"
        self.short_of = short_of
        self.random = random.Random(seed)
        self.acked: list[Acked] = []
        self._count = 0

    def run(self, cycles: int) -> list[str]:
        """The violations after *cycles* times full and free again, and a calm run."""
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", SHORT[self.short_of], "tmpfs", str(self.point)], capture_output=True, check=False
        )
        if mounted.returncode:
            raise Refused(mounted.stderr.decode().strip())
        try:
            with tempfile.TemporaryFile() as told:
                return self._cycles(cycles, told.fileno())
        finally:
            subprocess.run(["umount", "--lazy", str(self.point)], check=False)

    def _cycles(self, cycles: int, told: int) -> list[str]:
        forked.run(self.root, "init", environ=ENVIRON)
        null = os.open(os.devnull, os.O_RDWR)
        supervisor = forked.Child(forked.command(self.root, "run", "--json"), ENVIRON, [null, told, told])
        wrong = self._await(told, 0, lambda said: "started" in said, "that it started")
        for number in range(cycles):
            wrong += [f"cycle {number}: {sentence}" for sentence in self._cycle(supervisor, told)]
            if wrong:
                break
        supervisor.terminate()
        if code := supervisor.wait(PATIENCE_S):
            wrong.append(f"the supervisor ended with {code}")
        if b"Traceback" in (said := os.pread(told, 1 << 24, 0)):
            wrong.append(said.decode()[-2000:])
        os.close(null)
        code, _, err = forked.run(self.root, "run", "--until-settled", environ=ENVIRON)
        wrong += [f"the calm run ended with {code}: {err}"] if code or err else []
        files, modes, outside = read_folder(self.root)
        given = Given.of_writers(datetime.now(UTC), "Asia/Shanghai")
        return [*wrong, *outside, *check(files, self.acked, given, modes)]

    def _cycle(self, supervisor: forked.Child, told: int) -> list[str]:
        """Give it work while it sleeps, fill the disk, wake it; make room, and wait until all is well."""
        began = len(os.pread(told, 1 << 24, 0))
        if supervisor.poll() is not None:
            return [f"the supervisor is gone ({supervisor.returncode})"]
        os.kill(supervisor.pid, signal.SIGSTOP)
        for _ in range(self.random.randint(1, 3)):
            self._drop()
        filled = self._fill()
        os.kill(supervisor.pid, signal.SIGCONT)
        # what it deletes by itself, such as a part of the index, is taken as well
        wrong = self._await(
            told,
            began,
            lambda said: not REPORTS.keys().isdisjoint(said),
            "that there is no room",
            lambda: filled.extend(self._fill(len(filled))),
        )
        self._append()
        for path in filled:
            path.unlink()
        if self.random.random() >= _SILENT:
            self._append()
        return wrong or self._await(told, began, _is_well, "that all is well")

    def _drop(self) -> None:
        """Move a finished message file into the drop-box, which is a promise as good as an id."""
        self._count += 1
        acked, line = say(self.random, f"full-{self._count:05d}")
        other = self.root / "inbox.d" / f".{acked.id}.swp"
        other.write_bytes(line)
        other.chmod(0o600)
        other.rename(self.root / "inbox.d" / "new" / f"{acked.id}.json")
        self.acked.append(acked)

    def _append(self) -> None:
        """Add a message as a user does who knows nothing of all this: it is kept, or refused with 74."""
        self._count += 1
        acked, line = say(self.random, f"full-{self._count:05d}")
        code, out, err = forked.run(self.root, "append", "--jsonl", environ=ENVIRON, text=line.decode())
        if code not in (0, 74) or (code == 0) != (out.strip() == acked.id) or "Traceback" in err:
            raise AssertionError(f"append ended with {code}: {out}{err}")
        if code == 0:
            self.acked.append(acked)

    def _fill(self, first: int = 0) -> list[Path]:
        """Take all that is left; the files that did, numbered from the *first*."""
        files = []
        with contextlib.suppress(OSError):
            while True:
                path = self.point / f"filler-{first + len(files)}"
                with path.open("wb", buffering=0) as file:
                    files.append(path)
                    while self.short_of == "bytes":
                        try:
                            file.write(b"x" * 4096)
                        except OSError as error:
                            if error.errno == errno.ENOSPC:
                                return files
                            raise
        return files

    def _await(
        self, told: int, began: int, has: Callable[[list[str]], bool], what: str, meanwhile: Callable[[], None] = lambda: None
    ) -> list[str]:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            said = []
            for line in os.pread(told, 1 << 24, began).splitlines():
                with contextlib.suppress(ValueError):
                    said.append(json.loads(line)["event"])
            if has(said):
                return []
            meanwhile()
            time.sleep(0.02)
        return [f"it never said {what}, only {os.pread(told, 1 << 24, began).decode()[-800:]}"]


def _is_well(said: list[str]) -> bool:
    """Return whether each report was taken back after it was made last."""
    last = {event: n for n, event in enumerate(said)}
    return all(last.get(cleared, -1) > last[report] for report, cleared in REPORTS.items() if report in last)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cycles", type=int, default=50)
    options.add_argument("--a-round", type=int, default=10, help="cycles of one workspace")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--log", type=Path)
    found = options.parse_args()
    try:
        enter_namespace()
        forked.warm()
        rounds = Rounds(found.log)
        while rounds.total("cycles") < found.cycles:
            number = found.seed + len(rounds.done)
            cycles = min(found.a_round, found.cycles - rounds.total("cycles"))
            short_of = list(SHORT)[number % len(SHORT)]
            with tempfile.TemporaryDirectory(prefix="full-") as folder:
                full = Full(Path(folder), short_of, number)
                rounds.add(f"{short_of} seed-{number}", full.run(cycles), cycles=cycles, acked=len(full.acked))
            rounds.progress(f"{rounds.total('cycles')} cycles")
    except Refused as refused:
        print(f"SKIPPED, no disk was filled: {refused}")
        return 0
    counts = f"{rounds.total('cycles')} times full, {rounds.total('acked')} acknowledged messages"
    print(f"{counts}, {rounds.end}")
    return 1 if rounds.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
