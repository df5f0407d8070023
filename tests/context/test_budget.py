"""The shares of memory and history in a context."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.context.history_window import Budgets, share
from recalld.supervisor.text.token_count import estimate_tokens


@pytest.mark.parametrize(
    ("window", "fixed", "memory", "history"),
    [
        (32_768, 500, 2048, 4096),
        (8192, 0, 2048, 4096),  # a quarter is 2048; the rest is just enough
        (8192, 3, 2047, 4094),
        (4096, estimate_tokens("你是一个谨慎的助手。" * 20), 957, 1914),
        (2048, 300, 512, 824),
        (512, 384, 512, 320),
        (512, 5000, 512, 320),
        (0, 5000, 2048, 4096),
    ],
)
def test_share_reserves_a_quarter_and_splits_the_rest_1_to_2(window, fixed, memory, history):
    assert share(window, fixed, Budgets(), 5) == Budgets(memory, history)


@given(st.integers(0, 200_000), st.integers(0, 200_000), st.integers(0, 9000), st.integers(0, 9000), st.integers(0, 20))
def test_share_stays_between_its_least_and_its_limits(window, fixed, memory, history, least):
    got = share(window, fixed, Budgets(memory, history), least)
    assert min(memory, 512) <= got.memory <= memory
    assert min(history, 64 * least) <= got.history <= history
    if got.memory > 512 and got.history > 64 * least and window:
        assert got.memory + got.history + fixed <= window - window / 4
