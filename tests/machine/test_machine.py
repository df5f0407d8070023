"""A share of `python -m tests.machine`, and proof that a product with one step wrong is found."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import supervisor.archive
import supervisor.intake
from tests.machine.machine import AnyOrder

SHARE = settings(
    max_examples=20,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def test_anything_in_any_order_loses_nothing_and_comes_to_rest() -> None:
    run_state_machine_as_test(AnyOrder, settings=SHARE)


MUTANTS = {
    "writes what is written": (supervisor.archive, "unwritten", lambda ws, history: [one for one in history if one.id]),
    "puts nothing back": (supervisor.intake, "_put_back", lambda *_: None),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_product_with_one_step_wrong_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    first = settings(SHARE, max_examples=200, phases=[Phase.generate], report_multiple_bugs=False)
    with pytest.raises(BaseException, match=r"LOST|DOUBLE|bug|flag|settle|still there|no summary"):
        run_state_machine_as_test(AnyOrder, settings=first)
