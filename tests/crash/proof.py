"""The proof that the explorer finds faults: each mutant explored in its workload until it is found, and the table of it."""

from __future__ import annotations

import multiprocessing
import sys

import pytest

from tests.crash.explorer import Explorer, Report
from tests.crash.mutants import MUTANTS, Mutant


def prove(mutant: Mutant) -> Report:
    """Explore the mutant up to its first failure; crashes inside recovery only where none was found without."""
    workload = mutant.workload()
    start = workload.start()
    with pytest.MonkeyPatch.context() as patch:
        for change in mutant.changes:
            patch.setattr(*change)
        explorer = Explorer(workload.recover, workload.judge, workload.glance, stop=True)
        report = explorer.explore(workload.work, start, mutant.name)
        if not report.failures:
            explorer.depth, explorer.points = 1, 16
            report.join(explorer.explore(workload.work, start))
    return report


def shown_by(mutant: Mutant, report: Report) -> str:
    """The line of what is wrong that tells of this mutant; "" where it is not found, or by an error that it makes itself."""
    violations = report.shortest.violations if report.shortest else ()
    return next((line.strip() for one in violations for line in one.splitlines() if mutant.by in line), "")


def table(jobs: int) -> int:
    """Print which mutant is found where, and after how many states; returns 1 when one is not."""
    wrong = 0
    print("| mutant | found in | after states | by |\n|---|---|---|---|")
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for mutant, report in zip(MUTANTS, pool.imap(_by_number, range(len(MUTANTS))), strict=True):
            line = shown_by(mutant, report)
            print(f"| {mutant.name} | {mutant.workload.__name__} | {report.states} | {line[:90]} |")
            if not line:
                wrong += 1
                print(f"{mutant.name} is not found by {mutant.by!r}: {report}", file=sys.stderr)
    print(f"{len(MUTANTS)} mutants, {wrong} not as they should be", file=sys.stderr)
    return 1 if wrong else 0


def _by_number(number: int) -> Report:
    return prove(MUTANTS[number])
