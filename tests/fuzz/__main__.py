"""
Feed rubbish to every reader and to whole workspaces: ``python -m tests.fuzz --cases 20000``.

One case in forty is a day of a workspace (lives.py), the others are one reader each (readers.py). A case that takes twenty
seconds of processor time is taken to hang. Prints the counts; what fails, by its seed, ends the run with 1. With ``--log FILE`` a run goes on after the
parts that stand there; each part is 2,000 cases.
"""

from __future__ import annotations

import multiprocessing
import sys

from tests.fuzz.parts import A_LIFE_IN, PART, run
from tests.process.rounds import Rounds, options_of


def main(argv: list[str] | None = None) -> int:
    """Run the parts that are left; returns the exit code."""
    parser = options_of("tests.fuzz", __doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    options = parser.parse_args(argv)
    rounds = Rounds(options.log)
    first = options.seed * 1_000_000 // PART
    numbers = range(first, first + -(-options.cases // PART))
    for number, faults in run([number for number in numbers if f"part {number}" not in rounds.done], options.jobs):
        lives = PART // A_LIFE_IN
        rounds.add(f"part {number}", faults, readers=PART - lives, lives=lives)
        rounds.progress(f"{rounds.total('readers') + rounds.total('lives'):,} cases")
    counts = f"{rounds.total('readers'):,} readers, {rounds.total('lives'):,} lives"
    print(f"{counts}, {rounds.end}")
    return 1 if rounds.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
