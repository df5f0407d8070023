"""A share of `python -m tests.machine`, and proof that it finds a product with one wrong step."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, run_state_machine_as_test

import recalld.supervisor.archive.intake
import recalld.supervisor.archive.journal
import recalld.supervisor.archive.memory_folder
import recalld.supervisor.index.chunking
import recalld.supervisor.storage.by_content
from tests.machine.machine import AnyOrder
from tests.machine.strangers import Strangers
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


def test_strangers_neither_take_a_picture_nor_learn_a_word() -> None:
    run_state_machine_as_test(Strangers, settings=settings(SHARE, max_examples=5))


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


STRANGERS_MUTANTS = {
    "takes whatever has the name for the picture": (
        *("LOST", recalld.supervisor.storage.by_content),
        *("has_content", lambda files, path, _: files.disk.stat(path) is not None),
    ),
    "takes each line for marked": ("TOLD", recalld.supervisor.index.chunking, "is_shared", lambda _: True),
}


@pytest.mark.parametrize("name", STRANGERS_MUTANTS)
def test_strangers_find_every_mutant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, *mutant = STRANGERS_MUTANTS[name]
    monkeypatch.setattr(*mutant)
    first = settings(SHARE, max_examples=100, phases=[Phase.generate], report_multiple_bugs=False)
    with pytest.raises(BaseException, match=wrong):
        run_state_machine_as_test(Strangers, settings=first)
