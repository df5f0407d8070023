"""
A lock storm: eight writers of one history.json, of four kinds, while a supervisor archives; in every second round a ninth that
ignores the lock.

    python -m tests.process.locks --appends 16000

Who takes the lock loses nothing. What the ninth rewrites away is put back, if recalld has met it: every message that came through
`recalld append` or the Python API, and of other programs' what the supervisor has seen; the rest is counted as `unmet`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.checker.checker import Acked, Given, check
from tests.checker.reading import read_folder
from tests.patience import PATIENCE_S
from tests.process import foreign, forked
from tests.process.lockers import KINDS, OURS, Writers
from tests.process.rounds import Rounds, folder_in_memory, options_of

ENVIRON: Final = forked.plain_environ(
    RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai", RECALLD_ARCHIVE_EXCHANGE_WAIT="0", RECALLD_CARE_POLL="50ms"
)


class LockStorm:
    """One workspace and those who write to it, below *folder*."""

    def __init__(self, folder: Path, seed: int, *, rogue: bool) -> None:
        self.root = folder / "workspace"
        self.stop = folder / "stop"
        self.seed = seed
        self.rogue = rogue
        self.acked: dict[str, None] = {}  # in the order of each writer
        self.put_back = self.unmet = 0
        self.vanished: set[str] = set()
        self.calm_s = 0.0
        self._err = (folder / "told").open("w+b")
        self._gone = (folder / "gone").open("w+b")
        self._null = os.open(os.devnull, os.O_RDWR)

    def run(self, appends: int, most_s: float = 300.0) -> list[str]:
        """The violations once *appends* messages are acknowledged, and everything is settled; with a rogue, not before a put-back."""
        forked.run(self.root, "init", environ=ENVIRON)
        supervisor = self._child(forked.command(self.root, "run"), self._null)
        writers = Writers(self.root, self.stop)
        told = forked.Acknowledged(lambda lines: self.acked.update(dict.fromkeys(lines)))
        children = [self._child(writers.life(kind, f"{kind}-{n}", self.seed), told.out) for n, kind in enumerate(KINDS)]
        if self.rogue:
            history = self.root / "history.json"
            children.append(self._child(lambda: foreign.ignore_the_lock(history, self.stop, self.seed), self._gone.fileno()))
        os.close(told.out)
        wrong = self._until(appends, told, most_s)
        self.stop.touch()
        wrong += [f"writer {n} ended with {code}" for n, child in enumerate(children) if (code := child.wait(PATIENCE_S))]
        told.end()
        if (code := supervisor.poll()) is not None:
            wrong.append(f"the supervisor had ended by itself with {code}")
        supervisor.terminate()
        if code := supervisor.wait(PATIENCE_S):
            wrong.append(f"the supervisor ended with {code}")
        return [*wrong, *self._judge()]

    def _child(self, run: Callable[[], int], out: int) -> forked.Child:
        return forked.Child(run, ENVIRON, [self._null, out, self._err.fileno()])

    def _until(self, appends: int, told: forked.Acknowledged, most_s: float) -> list[str]:
        until = time.monotonic() + most_s
        while len(self.acked) < appends or not self._has_put_back():
            time.sleep(0.02)
            told.read()
            if time.monotonic() > until:
                return [f"{len(self.acked)} messages were acknowledged in {most_s:.0f} s, and {self._put_back()} put back"]
        return []

    def _has_put_back(self) -> bool:
        """Tell whether recalld has put back what the rogue took away: a storm without that would prove nothing of it."""
        return not self.rogue or self._put_back() > 0

    def _put_back(self) -> int:
        log = self.root / "log.jsonl"
        lines = log.read_bytes().splitlines(keepends=True) if log.exists() else []
        events = [json.loads(line) for line in lines if line.endswith(b"\n")]
        return sum(event["messages"] for event in events if event["event"] == "put_back")

    def _judge(self) -> list[str]:
        began = time.monotonic()
        code, _, err = forked.run(self.root, "run", "--until-settled", environ=ENVIRON)
        self.calm_s = time.monotonic() - began
        wrong = [f"the calm run ended with {code}: {err[-2000:]}"] if code or err else []
        files, modes, outside = read_folder(self.root)
        met = _met(files)
        events = [json.loads(line) for line in files["log.jsonl"].splitlines()]
        self.put_back = self._put_back()
        wrong += [] if any(event["event"] == "archived" for event in events) else ["no archive run was told of"]
        self._gone.seek(0)
        self.vanished = {line for line in self._gone.read().decode().split() if line.startswith(OURS)}
        acked = []
        for identity in self.acked:
            if self.rogue and not identity.startswith(OURS) and identity not in met:
                self.unmet += 1  # nobody who keeps to the lock has met it before it was rewritten away
            else:
                found = foreign.message(identity)
                acked.append(Acked(identity, found["text"], found["createdAt"], found["role"]))
        given = Given.of_writers(
            datetime.now(UTC),
            "Asia/Shanghai",
            by_writer=not self.rogue,
            offered={foreign.message(identity)["text"] for identity in self.acked.keys() | met},
        )
        wrong += [*outside, *check(files, acked, given, modes)]
        self._err.seek(0)
        told = self._err.read().decode()
        self._err.close()
        self._gone.close()
        os.close(self._null)
        return [*wrong, told[-2000:]] if "Traceback" in told else wrong


def _met(files: Mapping[str, bytes]) -> set[str]:
    """The ids of which recalld has, or ever had, the words: in the journal, or in history.json as it is."""
    found = {one["id"] for one in json.loads(files["history.json"])}
    for line in files[".recalld/seen.jsonl"].splitlines():
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
            "appends": len(storm.acked),
            "unmet": storm.unmet,
            "vanished": len(storm.vanished),
            "put_back": storm.put_back,
        }
        rounds.add(f"seed-{found.seed + number}{' rogue' if storm.rogue else ''}", wrong, **counts, slowest=storm.calm_s)
        rounds.progress(f"{rounds.total('appends')} appends")
    said = f"{rounds.total('appends')} acknowledged appends, of these {rounds.total('unmet')} unmet, "
    said += f"{rounds.total('vanished')} of ours vanished, {rounds.total('put_back')} put back"
    print(f"{said}, {rounds.end}")
    return 1 if rounds.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
