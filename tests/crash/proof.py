"""The proof that the explorer finds faults: each mutant explored in its workload until it is found, and the table of it."""

from __future__ import annotations

import multiprocessing
import sys
from typing import TYPE_CHECKING

from tests.crash.explorer import Explorer, Report

if TYPE_CHECKING:
    from collections.abc import Sequence

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
            explorer.depth, explorer.points = 1, 4
            report.join(explorer.explore(workload.work, start))
    finally:
        for owner, name, original in before:
            setattr(owner, name, original)
    return report


def table(mutants: Sequence[Mutant], jobs: int) -> int:
    """Print the table; returns 1 when a mutant lives that should not, or one is found that was said to live."""
    wrong = 0
    print("| mutant | found in | after states | by |\n|---|---|---|---|")
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for n, (name, workload, report, survives) in enumerate(pool.imap(_by_number, range(len(mutants)))):
            assert name == mutants[n].name
            why = report.shortest.violations[0].strip().splitlines()[-1][:90] if report.shortest else f"survives: {survives}"
            print(f"| {name} | {workload} | {report.states} | {why} |")
            wrong += bool(report.failures) == bool(survives)
    print(f"{len(mutants)} mutants, {wrong} not as they should be", file=sys.stderr)
    return 1 if wrong else 0


def _by_number(number: int) -> tuple[str, str, Report, str]:
    from tests.crash.mutants import MUTANTS

    mutant = MUTANTS[number]
    return mutant.name, mutant.workload.__name__, prove(mutant), mutant.survives
