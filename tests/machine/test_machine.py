"""A share of `python -m tests.machine`, and proof that it finds a product with one wrong step."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, run_state_machine_as_test

import recalld.supervisor.archive.intake
import recalld.supervisor.archive.journal
import recalld.supervisor.archive.memory_folder
from tests.machine.machine import AnyOrder
from tests.simulation.programs import BySession, Synchroniser

pytestmark = pytest.mark.proof

SHARE = settings(
    max_examples=10,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.feature("003.33")
def test_pipeline_loses_nothing_and_settles_after_any_order_of_acts() -> None:
    run_state_machine_as_test(AnyOrder, settings=SHARE)


MUTANTS = {
    "forgets what is written": (recalld.supervisor.archive.journal.SeenJournal, "record_written", lambda *_: None),
    "puts nothing back": (recalld.supervisor.archive.intake, "_reinsert", lambda *_: None),
    "takes one id for one message": (recalld.supervisor.archive.intake, "continues", lambda *_: True),
    "takes copies for memory": (recalld.supervisor.archive.memory_folder, "copies", lambda *_: {}),
}


class BesidePrograms(AnyOrder):
    """The machine with a program that writes the history anew, and a synchroniser that leaves copies, in every run: they find most."""

    @initialize(seed=st.integers(0, 1_000))
    def begin(self, seed: int) -> None:  # type: ignore[override]
        super().begin(seed, (BySession, Synchroniser))


@pytest.mark.parametrize("name", MUTANTS)
def test_state_machine_finds_every_mutant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    first = settings(SHARE, max_examples=200, phases=[Phase.generate], report_multiple_bugs=False)
    with pytest.raises(BaseException, match=r"LOST|DOUBLE|bug|flag|settle|still there|no summary|not there"):
        run_state_machine_as_test(BesidePrograms, settings=first)
