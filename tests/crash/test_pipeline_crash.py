"""The pipeline under the adversary: a share of `python -m tests.crash`, and proof that it finds what it should."""

from __future__ import annotations

import pytest

from tests.crash.explorer import Explorer
from tests.crash.mutants import MUTANTS, Mutant
from tests.crash.workloads import WORKLOADS, Workload

#: States judged with a crash inside the recovery too; the command goes further.
SHARE = 150


@pytest.mark.parametrize("kind", WORKLOADS)
def test_killed_anywhere_and_again_while_recovering_nothing_is_lost_doubled_or_left_over(kind: type[Workload]) -> None:
    workload = kind()
    start = workload.start()
    explorer = Explorer(workload.recover, workload.judge, workload.glance)
    report = explorer.explore(workload.work, start, kind.__name__)
    explorer.depth, explorer.points, explorer.most = 1, 2, SHARE
    report.join(explorer.explore(workload.work, start))
    assert not report.failures, str(report)
    assert report.states >= 20


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_pipeline_with_one_step_wrong_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = mutant.workload()
    start = workload.start()
    for owner, name, other in mutant.changes:
        monkeypatch.setattr(owner, name, other)
    explorer = Explorer(workload.recover, workload.judge, workload.glance, stop=True)
    report = explorer.explore(workload.work, start, mutant.name)
    assert report.failures, f"{report} does not show it"
