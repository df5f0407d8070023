"""
Real power cuts: ``python -m tests.powercut --cuts 60 --fs ext4,xfs`` (as root).

A living supervisor, its worker and two writers on one workspace, cut again and again, then settled. After each cut every acknowledged
message has to be there at once, before anything mends it; the next life goes on from what lies there. What was acknowledged is kept
outside the file system.

Prints each violation and one line at the end; exits with 1 when there was any. With --log a run that was cut off goes on. Where
there is no root, no loop device or no way to cut, it says so and exits with 0.
"""

import argparse
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from recalld.supervisor.storage.disk import RealDisk
from tests.patience import PATIENCE_S
from tests.powercut.rig import JOURNAL, KINDS, NO_JOURNAL, Refused, Rig, enter_namespace
from tests.process import forked
from tests.process.busy import HURRY, Busy, judged
from tests.process.rounds import Rounds, folder_in_memory, options_of

_LONGEST_S: Final = 0.6


class Cuts(Busy):
    """One workspace on *rig*; with *control* ("all", "folders") that is never fsynced, which has to be seen."""

    def __init__(self, rig: Rig, seed: int, told: Path, control: str = "") -> None:
        super().__init__(rig.point / "workspace", seed, told, HURRY | {"RECALLD_LANGUAGE": "zh"})
        self.rig = rig
        self.control = control
        self.has_archived = False

    def run(self, cuts: int) -> list[str]:
        """The violations after *cuts* cuts, and of the settled whole."""
        wrong: list[str] = []
        self.rig.mount()
        shutil.rmtree(self.root, ignore_errors=True)
        self.init()
        for number in range(cuts):
            flag = self.random.choice((JOURNAL, NO_JOURNAL))
            wrong += [f"life {number}: {one}" for one in self._live(flag)]
            self.rig.unmount()
            self.rig.mount()
            wrong += [f"cut {number} (flag {flag}): {one}" for one in self._judge(calm=False)]
        wrong += [*self.settle(), *self._judge(calm=True)]
        self.rig.unmount()
        return wrong

    def _live(self, flag: int) -> list[str]:
        """Let everybody work for a moment, and pull the plug; what is wrong unless something was archived before the first."""
        self.supervisor = self.start("run")
        until = time.monotonic() + self.random.uniform(0.05, _LONGEST_S)
        latest = time.monotonic() + PATIENCE_S
        while (now := time.monotonic()) < until or (not self.has_archived and now < latest):
            self.has_archived = self.has_archived or self.archived > 0
            self.feed(0.3)
            time.sleep(0.003)
        code = self.supervisor.poll()
        wrong = [] if code is None else [f"the supervisor had ended by itself with {code}"]
        wrong += [] if self.has_archived else ["no archive run was told of"]
        self.rig.cut(flag)
        self.supervisor.kill()
        for feeder in self.feeders:
            if feeder.process:
                feeder.process.kill()
            feeder.end()
        self.supervisor.wait()
        forked.end_orphans()
        return wrong

    def fork(self, run: Callable[[], int], files: Sequence[int] = (-1, -1)) -> forked.Child:
        return super().fork(_careless(run, self.control) if self.control else run, files)

    def _judge(self, **given: Any) -> list[str]:
        if not self.root.is_dir():
            return ["the workspace is gone"]
        return judged(self.root, self.acked, by_writer=True, offered=self.offered, **given)


def _careless(run: Callable[[], int], what: str) -> Callable[[], int]:
    """The control: recalld as it would be if it trusted the disk to write things down by itself."""

    def life() -> int:
        RealDisk.sync_folder = lambda *_: None  # type: ignore[method-assign]
        if what == "all":
            RealDisk.sync = lambda *_: None  # type: ignore[method-assign]
        return run()

    return life


def _rigs(folder: Path, kinds: list[str]) -> dict[str, Rig]:
    """A rig of each kind that was tried and works; Refused where none does."""
    rigs, why = {}, []
    for kind in kinds:
        try:
            rig = Rig(folder, kind)
            rig.mount()
            rig.cut(NO_JOURNAL)
            rig.unmount()
            rigs[kind] = rig
        except Refused as refused:
            why.append(f"{kind}: {refused}")
    if why:
        print(f"NOT CUT, {'; '.join(why)}", file=sys.stderr)
    if not rigs:
        raise Refused("; ".join(why))
    return rigs


def _cut(options: argparse.Namespace, rigs: dict[str, Rig], folder: Path, rounds: Rounds) -> None:
    kinds = list(rigs)
    while rounds.total("cuts") < options.cuts:
        number = options.seed + len(rounds.done)
        kind = kinds[number % len(kinds)]
        cuts = min(options.a_round, options.cuts - rounds.total("cuts"))
        workspace = Cuts(rigs[kind], number, folder / "told", options.control)
        wrong = workspace.run(cuts)
        rounds.add(f"{kind} seed-{number}", wrong, cuts=cuts, acked=len(workspace.acked))
        rounds.progress(f"{rounds.total('cuts')} cuts")
        if options.control and wrong:
            return


def main() -> int:
    options = options_of("tests.powercut", __doc__)
    options.add_argument("--cuts", type=int, default=60)
    options.add_argument("--fs", default="ext4,xfs", help=f"some of {','.join(KINDS)}")
    options.add_argument("--a-round", type=int, default=10, help="cuts of one workspace before it is settled")
    options.add_argument("--control", choices=("all", "folders"), default="", help="never fsync that: it has to be found")
    found = options.parse_args()
    if unknown := set(found.fs.split(",")) - KINDS.keys():
        options.error(f"--fs {','.join(sorted(unknown))}: some of {','.join(KINDS)}")
    try:
        enter_namespace()
        forked.warm()
        forked.adopt_orphans()
        rounds = Rounds(found.log)
        with folder_in_memory("powercut-") as name:
            rigs = _rigs(name, found.fs.split(","))
            try:
                _cut(found, rigs, name, rounds)
            finally:
                for rig in rigs.values():
                    rig.close()
    except Refused as refused:
        print(f"SKIPPED, no power was cut: {refused}")
        return 0
    kinds: Counter[str] = Counter()
    for key, one in rounds.done.items():
        kinds[key.split()[0]] += int(one["cuts"])
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    done = f"{rounds.total('cuts')} cuts ({counts}), {rounds.total('acked')} acknowledged"
    print(f"{done}, {rounds.end}")
    return (rounds.wrong == 0) if found.control else (rounds.wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
