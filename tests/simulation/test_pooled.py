"""A share of `python -m tests.simulation --pooled 10`."""

from __future__ import annotations

import pytest

from tests.simulation.pooled import live_together

pytestmark = pytest.mark.proof


def test_workspaces_lose_nothing_with_a_pool_that_forgets_at_every_call() -> None:
    outcome = live_together("1", count=3, days=10)
    assert outcome.messages > 30
    assert outcome.lives > 3
