"""The proof that the explorer finds faults: each mutant explored in its workload until it is found, and the table of it."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence

from tests.crash.explorer import Explorer, Report
from tests.crash.mutants import Mutant


def prove(mutant: Mutant) -> Report:
    """Explore the mutant up to its first failure; crashes inside recovery only where none was found without."""
    workload = mutant.workload()
    start = workload.start()
    before = [(owner, name, vars(owner)[name]) for owner, name, _ in mutant.changes]
    for owner, name, other in mutant.changes:
        setattr(owner, name, other)
    try:
        explorer = Explorer(workload.recover, workload.judge, workload.glance, stop=True)
        report = explorer.explore(workload.work, start, mutant.name)
        if not report.failures:
            explorer.depth, explorer.points = 1, 16
            report.join(explorer.explore(workload.work, start))
    finally:
        for owner, name, original in before:
            setattr(owner, name, original)
    return report


def is_found(mutant: Mutant, report: Report) -> bool:
    """Tell whether what was found is what the mutant does; an error that the mutant itself makes is nothing."""
    return bool(report.shortest) and any(mutant.by in one for one in report.shortest.violations)


def table(mutants: Sequence[Mutant], jobs: int) -> int:
    """Print the table; returns 1 when a mutant lives that should not, or one is found that was said to live."""
    wrong = 0
    print("| mutant | found in | after states | by |\n|---|---|---|---|")
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for mutant, report in zip(mutants, pool.imap(_by_number, range(len(mutants))), strict=True):
            found = is_found(mutant, report)
            why = _why(mutant, report) if found else f"survives: {mutant.survives}"
            print(f"| {mutant.name} | {mutant.workload.__name__} | {report.states} | {why} |")
            if found == bool(mutant.survives) or (report.failures and not found):
                wrong += 1
                print(f"{mutant.name} is not found by {mutant.by!r}: {report}", file=sys.stderr)
    print(f"{len(mutants)} mutants, {wrong} not as they should be", file=sys.stderr)
    return 1 if wrong else 0


def _why(mutant: Mutant, report: Report) -> str:
    """The line of what is wrong that tells of this mutant."""
    assert report.shortest
    lines = [line.strip() for one in report.shortest.violations for line in one.splitlines() if mutant.by in line]
    return lines[0][:90]


def _by_number(number: int) -> Report:
    from tests.crash.mutants import MUTANTS

    return prove(MUTANTS[number])
