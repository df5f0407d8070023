"""
A SIGKILL storm: supervisor, worker and writers are killed at random moments, beside an editor; then a calm run, and the judge.
One of the writers is a program of other people, with the lock in its hands.

    python -m tests.process.storm --kills 200

Every id that a writer was given back must stand, word for word, in exactly one dated file; a person's files hold what was saved
last. Same seed, same kills in the same order; the moments are the machine's.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from filelock import FileLock

from tests.patience import PATIENCE_S
from tests.process import forked
from tests.process.busy import Busy, Feeder, judged
from tests.process.command import fill
from tests.process.editor import Editor
from tests.process.rounds import Rounds, folder_in_memory, options_of

VICTIMS = ("supervisor", "supervisor", "worker", "worker", "both", "writer")
_PAUSE_S = 0.005
#: Edits in one pause.
_EDITS = 0.02


def foreign(root: Path) -> Callable[[], int]:
    """What a program of other people has to run that adds the messages it reads to history.json, under the lock, and prints their ids."""

    def life() -> int:
        history = root / "history.json"
        for line in sys.stdin:
            said = {**json.loads(line), "archived": False}
            with FileLock(f"{history}.lock", mode=0o600).acquire(poll_interval=0.003):
                other = history.with_name(f".{history.name}.swp")
                other.write_text(json.dumps([*json.loads(history.read_bytes()), said]), encoding="utf-8")
                other.chmod(0o600)
                os.rename(other, history)
            print(said["id"], flush=True)
        return 0

    return life


class Storm(Busy):
    """One workspace under attack."""

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder / "workspace", seed, folder / "told")
        self.feeders.append(Feeder("foreign", Random(seed), lambda files: self.fork(foreign(self.root), files)))
        self.editor = Editor(self.root, self.random)
        self.pipe = os.pipe() if self.random.random() < 0.5 else (-1, -1)
        if self.pipe[1] >= 0:
            fill(self.pipe[1])
        self.wrong: list[str] = []
        self.attacked = 0  # archive runs before the calm one

    # ── who lives in the workspace ───────────────────────────────────────────

    def _supervise(self) -> None:
        """Start the supervisor; where its output goes to, nobody may be reading."""
        self.supervisor = self.start("run", files=(-1, self.pipe[1]))

    def _edit(self) -> None:
        """Have a file edited now and then; one that recalld takes away meanwhile is not."""
        if self.random.random() < _EDITS:
            with contextlib.suppress(FileNotFoundError):
                self.editor.edit()

    def workers(self) -> list[int]:
        """The living worker processes that our supervisor started."""
        try:
            children = Path(f"/proc/{self.supervisor.pid}/task/{self.supervisor.pid}/children").read_text()
        except OSError:
            return []
        return [int(pid) for pid in children.split() if _lives(pid)]

    # ── the storm ────────────────────────────────────────────────────────────

    def kill_something(self) -> bool:
        """Kill the supervisor, its worker, both, or a writer; False where none lived."""
        victim = self.random.choice(VICTIMS)
        workers = self.workers() if victim in ("worker", "both") else []
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        killed = bool(workers)
        if victim in ("supervisor", "both"):
            killed |= self._kill("supervisor", self.supervisor)
            self._supervise()
        if victim == "writer" and (writer := self.random.choice(self.feeders).process) and writer.poll() is None:
            killed |= self._kill("writer", writer)
        return killed

    def _kill(self, name: str, process: forked.Child) -> bool:
        """Kill a process that has to live until then."""
        if (code := process.poll()) is not None:
            self.wrong.append(f"the {name} had ended by itself with {code}")
            return False
        process.kill()
        if (code := process.wait()) != -9:
            self.wrong.append(f"the {name} was killed and ended with {code}")
        return True

    def run(self, kills: int, pause_s: float = 0.1) -> list[str]:
        """The violations after *kills* kills, *pause_s* apart on average, and a calm run."""
        self._supervise()
        killed = 0
        due = time.monotonic() + pause_s
        until = time.monotonic() + PATIENCE_S + 10 * kills * pause_s
        # a starved supervisor may come to no archive run between two kills: the calm run archives then
        while killed < kills or (not self.archived and time.monotonic() < until):
            self.feed(0.2)
            self._edit()
            if killed < kills and time.monotonic() >= due:
                killed += self.kill_something()
                due = time.monotonic() + self.random.uniform(0, 2 * pause_s)
            time.sleep(_PAUSE_S)
        for feeder in self.feeders:
            feeder.end()
            self.wrong += [f"a writer ended by itself with {code}" for code in feeder.codes if code not in (0, 75, -9)]
        self.attacked = self.archived
        return [*self.wrong, *self.end_supervisor(), *self._calm()]

    def _calm(self) -> list[str]:
        """Settle everything, once nobody lives any more, and judge."""
        for number in self.pipe:
            if number >= 0:
                os.close(number)
        forked.end_orphans()
        wrong = self.settle(RECALLD_WORKER_LEASE="120s")  # a worker that the machine lets wait is no dead one
        lost = [f"{path} does not hold what was saved last" for path in self.editor.missing()]
        return [*wrong, *lost, *judged(self.root, self.acked, offered=self.offered, touched_paths=self.editor.saved.keys())]


def _lives(pid: str) -> bool:
    with contextlib.suppress(OSError):
        return Path("/proc", pid, "stat").read_text().rpartition(") ")[2][0] not in "ZX"
    return False


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
        with folder_in_memory("storm-") as folder:
            storm = Storm(folder, seed)
            storm.init()
            wrong = storm.run(kills)
            counts = {"kills": kills, "acked": len(storm.acked), "saves": storm.editor.count, "archived": storm.attacked}
        rounds.add(f"seed-{seed}", wrong, **counts)
        rounds.progress(f"{rounds.total('kills')} kills")
    said = f"{rounds.total('kills')} kills, {rounds.total('acked')} acknowledged messages, {rounds.total('saves')} saves"
    print(f"{said}, {rounds.total('archived')} archive runs, {rounds.end}")
    return 1 if rounds.wrong or not rounds.total("archived") else 0


if __name__ == "__main__":
    sys.exit(main())
