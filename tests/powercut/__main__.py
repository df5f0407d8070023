"""
Real power cuts: ``python -m tests.powercut --cuts 60 --fs ext4,xfs`` (as root).

Prints each violation and one line at the end; exits with 1 when there was any. With --log a run that was cut off goes on. Where
there is no root, no loop device or no way to cut, it says so and exits with 0.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tests.powercut.cuts import Cuts
from tests.powercut.rig import KINDS, NO_JOURNAL, Refused, Rig, enter_namespace
from tests.process import forked
from tests.process.rounds import Rounds, folder_in_memory, options_of


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
