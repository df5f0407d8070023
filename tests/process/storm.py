"""
A SIGKILL storm: supervisor, worker, writers and an editor are killed at random moments; then a calm run, and the judge.

    python -m tests.process.storm --kills 200

Every id that a writer was given back must stand, word for word, in exactly one dated file; a person's files hold what was saved
last. The checker shares no code with the product. Same seed, same kills in the same order; the moments are the machine's.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.checker.checker import Given, check
from tests.checker.reading import read_folder
from tests.patience import PATIENCE_S
from tests.process import forked
from tests.process.command import fill
from tests.process.editor import Saves, edit
from tests.process.feeder import Feeder
from tests.process.rounds import Rounds, folder_in_memory, options_of

#: Everything hurries, so that every kill has something to hit.
HURRY = {
    "RECALLD_ARCHIVE_TIMEZONE": "Asia/Shanghai",
    "RECALLD_ARCHIVE_UNARCHIVED_LIMIT": "3",
    "RECALLD_ARCHIVE_QUIET": "1s",
    "RECALLD_ARCHIVE_EXCHANGE_WAIT": "0",
    "RECALLD_ARCHIVE_KEEP_NEWEST": "4",
    "RECALLD_HISTORY_SOFT_CAP": "20",
    "RECALLD_HISTORY_HARD_CAP": "30",
    "RECALLD_CARE_POLL": "50ms",
    "RECALLD_CARE_TREE_POLL": "100ms",
    "RECALLD_WORKER_LEASE": "2s",
}
VICTIMS = ("supervisor", "supervisor", "worker", "worker", "both", "writer", "editor")
_PAUSE_S = 0.005
#: In the calm run a worker that the machine lets wait is no dead one.
_CALM = {"RECALLD_WORKER_LEASE": "120s"}


class Storm:
    """One workspace under attack."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.seed = seed
        self.random = random.Random(seed)
        self.environ = forked.plain_environ(**HURRY, PYTHONUNBUFFERED="1")
        self.told = (root.parent / "told").open("w+b")
        self.feeders = [
            Feeder(f"storm-{n}", random.Random(f"{seed}-{n}"), lambda files: self._start(("append", "--jsonl"), files))
            for n in range(2)
        ]
        self.saves = Saves()
        self.pipe = os.pipe() if self.random.random() < 0.5 else (-1, -1)
        if self.pipe[1] >= 0:
            fill(self.pipe[1])
        self.supervisor: Any = None
        self.editor: forked.Child | None = None
        self.wrong: list[str] = []
        self.calm_s = 0.0
        self.archived = 0
        self._edits = -1
        self._rest = b""

    # ── who lives in the workspace ───────────────────────────────────────────

    def _start(self, words: Sequence[str], files: Sequence[int] = ()) -> Any:
        files = [*(files or (-1, -1)), self.told.fileno()]
        given, out, err = (os.open(os.devnull, os.O_RDWR) if number < 0 else os.dup(number) for number in files)
        try:
            return forked.Child(forked.command(self.root, *words), self.environ, [given, out, err])
        finally:
            for number in (given, out, err):
                os.close(number)

    def _supervise(self) -> Any:
        """Start the supervisor; where its output goes to, nobody may be reading."""
        return self._start(("run",), (-1, self.pipe[1]))

    def _open_editor(self) -> None:
        reader, out = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        self.editor = forked.Child(edit(self.root, self.seed, 0.25), self.environ, [null, out, self.told.fileno()])
        for number in (out, null):
            os.close(number)
        os.set_blocking(reader, False)
        self._edits, self._rest = reader, b""

    def _watch(self) -> None:
        """Note what writers and the editor say."""
        for feeder in self.feeders:
            feeder.collect()
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._edits, 1 << 16):
                *whole, self._rest = (self._rest + data).split(b"\n")
                for line in whole:
                    self.saves.note(line.decode())

    def workers(self) -> list[int]:
        """The living worker processes that our supervisor started."""
        try:
            children = Path(f"/proc/{self.supervisor.pid}/task/{self.supervisor.pid}/children").read_text()
        except OSError:
            return []
        return [int(pid) for pid in children.split() if _lives(pid)]

    # ── the storm ────────────────────────────────────────────────────────────

    def kill_something(self) -> bool:
        """Kill the supervisor, its worker, both, a writer or the editor; False where none lived."""
        victim = self.random.choice(VICTIMS)
        workers = self.workers() if victim in ("worker", "both") else []
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        killed = bool(workers)
        if victim in ("supervisor", "both"):
            killed |= self._kill("supervisor", self.supervisor)
            self.supervisor = self._supervise()
        if victim == "writer" and (writer := self.random.choice(self.feeders).process) and writer.poll() is None:
            killed |= self._kill("writer", writer)
        if victim == "editor":
            killed |= self._close_editor()
            self._open_editor()
        return killed

    def _kill(self, name: str, process: Any) -> bool:
        """Kill a process that has to live until then."""
        if (code := process.poll()) is not None:
            self.wrong.append(f"the {name} had ended by itself with {code}")
            return False
        process.kill()
        if (code := process.wait()) != -9:
            self.wrong.append(f"the {name} was killed and ended with {code}")
        return True

    def _close_editor(self) -> bool:
        assert self.editor
        killed = self._kill("editor", self.editor)
        self._watch()
        os.close(self._edits)
        self._edits = -1
        return killed

    def run(self, kills: int, pause_s: float = 0.1) -> list[str]:
        """The violations after *kills* kills, *pause_s* apart on average, and a calm run."""
        self.supervisor = self._supervise()
        self._open_editor()
        killed = 0
        due = time.monotonic() + pause_s
        until = time.monotonic() + PATIENCE_S + 10 * kills * pause_s
        # a starved supervisor may come to no archive run between two kills: the calm run archives then
        while killed < kills or (not archived_in(self.root) and time.monotonic() < until):
            for feeder in self.feeders:
                if self.random.random() < 0.2:
                    feeder.feed()
            self._watch()
            if killed < kills and time.monotonic() >= due:
                killed += self.kill_something()
                due = time.monotonic() + self.random.uniform(0, 2 * pause_s)
            time.sleep(_PAUSE_S)
        self._close_editor()
        for feeder in self.feeders:
            feeder.end()
            self.wrong += [f"a writer ended by itself with {code}" for code in feeder.codes if code not in (0, 75, -9)]
        self.archived = archived_in(self.root)
        return [*self.wrong, *self._end_supervisor(), *self._calm()]

    def _end_supervisor(self) -> list[str]:
        """Tell it to end; what is wrong with how it does."""
        wrong = []
        if (code := self.supervisor.poll()) is not None:
            wrong.append(f"the supervisor had ended by itself with {code}")
        self.supervisor.terminate()
        try:
            self.supervisor.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.supervisor.kill()
            wrong.append(f"SIGTERM did not end it in {PATIENCE_S:.0f} s")
        for number in self.pipe:
            if number >= 0:
                os.close(number)
        self.told.seek(0)
        told = self.told.read().decode()
        return [*wrong, told[-2000:]] if "Traceback" in told else wrong

    def _calm(self) -> list[str]:
        """Settle everything, once nobody lives any more, and judge."""
        forked.end_orphans()
        deadline = time.monotonic() + PATIENCE_S
        while True:
            began = time.monotonic()
            code, _, err = forked.run(self.root, "run", "--until-settled", environ=self.environ | _CALM)
            if code != 75 or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        self.calm_s = time.monotonic() - began
        wrong = [f"the calm run ended with {code}: {err[-2000:]}"] if code or err else []
        files, modes, outside = read_folder(self.root)
        given = Given.of_writers(
            datetime.now(UTC),
            "Asia/Shanghai",
            offered={text for feeder in self.feeders for text in feeder.offered},
            touched_paths=self.saves.paths,
        )
        lost = [f"{path} does not hold what was saved last" for path in self.saves.missing(self.root)]
        return [*wrong, *outside, *lost, *check(files, self.acked, given, modes)]

    @property
    def acked(self) -> list[Any]:
        return [one for feeder in self.feeders for one in feeder.acked]


def archived_in(root: Path) -> int:
    """How many archive runs the log of the workspace tells of."""
    try:
        lines = (root / "log.jsonl").read_bytes().splitlines()
    except OSError:
        return 0
    return sum(b'"event": "archived"' in line for line in lines)


def _lives(pid: str) -> bool:
    with contextlib.suppress(OSError):
        return Path("/proc", pid, "stat").read_text().rpartition(") ")[2][0] not in "ZX"
    return False


def one_round(seed: int, kills: int) -> tuple[list[str], Storm]:
    """A storm over a new workspace."""
    with folder_in_memory("storm-") as folder:
        storm = Storm(folder / "workspace", seed)
        with contextlib.closing(storm.told):
            forked.run(storm.root, "init", environ=storm.environ)
            return storm.run(kills), storm


def main() -> int:
    options = options_of("tests.process.storm", __doc__)
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--a-round", type=int, default=100, help="kills over one workspace")
    found = options.parse_args()
    forked.warm()
    forked.adopt_orphans()
    rounds = Rounds(found.log)
    while rounds.total("kills") < found.kills:
        seed = found.seed + len(rounds.done)
        kills = min(found.a_round, found.kills - rounds.total("kills"))
        wrong, storm = one_round(seed, kills)
        counts = {"kills": kills, "acked": len(storm.acked), "saves": storm.saves.count, "archived": storm.archived}
        rounds.add(f"seed-{seed}", wrong, **counts, slowest=storm.calm_s)
        rounds.progress(f"{rounds.total('kills')} kills")
    said = f"{rounds.total('kills')} kills, {rounds.total('acked')} acknowledged messages, {rounds.total('saves')} saves"
    print(f"{said}, {rounds.total('archived')} archive runs, {rounds.end}")
    if not rounds.total("archived"):
        print("no archive run was told of before the storms calmed down: nothing was killed in one")
    return 1 if rounds.wrong or not rounds.total("archived") else 0


if __name__ == "__main__":
    sys.exit(main())
