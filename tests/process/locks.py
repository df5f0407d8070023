"""
A lock storm: eight writers of one history.json, of four kinds, while a supervisor archives; in every second round a ninth that
ignores the lock. Two kinds are other people's programs with the lock in their hands (filelock, flock(1)), two are ways into recalld
(the Python API, `recalld append`).

    python -m tests.process.locks --appends 16000

Who takes the lock loses nothing. What the ninth rewrites away is put back, if recalld has met it: every message that came through
`recalld append` or the Python API, and of other programs' what the supervisor has seen; the rest is counted as `unmet`.
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from filelock import FileLock

from recalld.supervisor.archive.append import append
from recalld.supervisor.storage.clock import utc_now
from recalld.supervisor.workspace import open_workspace
from tests.checker.checker import Acked
from tests.patience import PATIENCE_S
from tests.process import foreign, forked
from tests.process.busy import ZONE, Busy, judged
from tests.process.rounds import Rounds, folder_in_memory, options_of

ENVIRON: Final = forked.plain_environ(
    RECALLD_ARCHIVE_TIMEZONE=ZONE, RECALLD_ARCHIVE_EXCHANGE_WAIT="0", RECALLD_CARE_POLL="50ms"
)
_MOST_S: Final = 300.0
#: The writers by kind; those of OURS leave their words in the seen journal at once.
KINDS: Final = ("filelock", "flock", "api", "command") * 2
OURS: Final = ("api", "command")
#: Seconds between two batches, and messages of one at most: who waits in the kernel for the lock would leave nothing to who polls.
PACE: Final = {"filelock": (0.003, 30), "api": (0.003, 30), "command": (0.003, 30), "flock": (0.15, 30)}


class Writers:
    """What the eight do until *stop* appears; each prints the ids that it takes for safe."""

    def __init__(self, root: Path, stop: Path) -> None:
        self.root = root
        self.history = root / "history.json"
        self.lock = root / "history.json.lock"
        self.stop = stop

    def life(self, kind: str, name: str, seed: int) -> Callable[[], int]:
        def run() -> int:
            chance = random.Random(f"{seed}-{name}")
            writers = {"filelock": self._filelock, "flock": self._flock, "api": self._api, "command": self._command}
            writers[kind](self._batches(kind, name, chance))
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


class LockStorm(Busy):
    """One workspace and those who write to it, below *folder*."""

    def __init__(self, folder: Path, seed: int, *, rogue: bool) -> None:
        super().__init__(folder / "workspace", seed, folder / "told", ENVIRON)
        self.stop = folder / "stop"
        self.seed = seed
        self.rogue = rogue
        self.safe: dict[str, None] = {}  # ids, in the order of each writer
        self.put_back = self.unmet = 0
        self.gone: set[str] = set()  # what the rogue rewrote away

    def run(self, appends: int) -> list[str]:
        """The violations once *appends* messages are acknowledged, and everything is settled; with a rogue, not before a put-back."""
        self.init()
        self.supervisor = self.start("run")
        writers = Writers(self.root, self.stop)
        said = [
            forked.Acknowledged(lambda lines: self.safe.update(dict.fromkeys(lines))),
            forked.Acknowledged(self.gone.update),
        ]
        runs = [(writers.life(kind, f"{kind}-{n}", self.seed), said[0]) for n, kind in enumerate(KINDS)]
        if self.rogue:
            history = self.root / "history.json"
            runs.append((lambda: foreign.ignore_the_lock(history, self.stop, self.seed), said[1]))
        children = [self.fork(run, (-1, lines.out)) for run, lines in runs]
        wrong = self._until(appends, said)
        self.stop.touch()
        wrong += [f"writer {n} ended with {code}" for n, child in enumerate(children) if (code := child.wait(PATIENCE_S))]
        for lines in said:
            lines.end()
        return [*wrong, *self.end_supervisor(), *self.settle(), *self._judge()]

    def _until(self, appends: int, said: list[forked.Acknowledged]) -> list[str]:
        until = time.monotonic() + _MOST_S
        # a storm in which nothing that the rogue took away is put back would prove nothing of it
        while len(self.safe) < appends or (self.rogue and not self._put_back()):
            time.sleep(0.02)
            for lines in said:
                lines.read()
            if time.monotonic() > until:
                return [f"{len(self.safe)} messages were acknowledged in {_MOST_S:.0f} s, and {self._put_back()} put back"]
        return []

    def _put_back(self) -> int:
        return sum(event["messages"] for event in self._log() if event["event"] == "put_back")

    def _log(self) -> list[dict[str, Any]]:
        log = self.root / "log.jsonl"
        lines = log.read_bytes().splitlines(keepends=True) if log.exists() else []
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def _judge(self) -> list[str]:
        met = self._met()
        self.put_back = self._put_back()
        acked = []
        for identity in self.safe:
            if self.rogue and not identity.startswith(OURS) and identity not in met:
                self.unmet += 1  # nobody who keeps to the lock has met it before it was rewritten away
            else:
                found = foreign.message(identity)
                acked.append(Acked(identity, found["text"], found["createdAt"], found["role"]))
        offered = {foreign.message(identity)["text"] for identity in self.safe.keys() | met}
        wrong = [] if self.archived else ["no archive run was told of"]
        return [*wrong, *judged(self.root, acked, by_writer=not self.rogue, offered=offered)]

    def _met(self) -> set[str]:
        """The ids of which recalld has, or ever had, the words: in the journal, or in history.json as it is."""
        found = {one["id"] for one in json.loads((self.root / "history.json").read_bytes())}
        for line in (self.root / ".recalld" / "seen.jsonl").read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                said = json.loads(line)
                found |= {said["seen"]["id"]} if "seen" in said else {one[0] for one in said.get("written", ())}
        return found


def main() -> int:
    options = options_of("tests.process.locks", __doc__)
    options.add_argument("--appends", type=int, default=16_000)
    options.add_argument("--a-round", type=int, default=4_000, help="appends to one workspace")
    found = options.parse_args()
    forked.warm()
    rounds = Rounds(found.log)
    for number in range(len(rounds.done), -(-found.appends // found.a_round)):  # however many more a round had acknowledged
        with folder_in_memory("locks-") as folder:
            storm = LockStorm(folder, found.seed + number, rogue=number % 2 == 1)
            wrong = storm.run(found.a_round)
        counts = {
            "appends": len(storm.safe),
            "unmet": storm.unmet,
            "vanished": sum(identity.startswith(OURS) for identity in storm.gone),
            "put_back": storm.put_back,
        }
        rounds.add(f"seed-{found.seed + number}{' rogue' if storm.rogue else ''}", wrong, **counts)
        rounds.progress(f"{rounds.total('appends')} appends")
    said = f"{rounds.total('appends')} acknowledged appends, of these {rounds.total('unmet')} unmet, "
    said += f"{rounds.total('vanished')} of ours vanished, {rounds.total('put_back')} put back"
    print(f"{said}, {rounds.end}")
    return 1 if rounds.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
