"""The shares of memory and history in a context."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.context.history_window import Budgets, share
from supervisor.text.token_count import estimate_tokens


@pytest.mark.parametrize(
    ("context", "fixed", "memory", "history"),
    [
        (32_768, 500, 2048, 4096),
        (8192, 0, 2048, 4096),  # a quarter is 2048; the rest is just enough
        (8192, 3, 2047, 4094),
        (4096, estimate_tokens("你是一个谨慎的助手。" * 20), 957, 1914),
        (512, 300, 28, 56),
        (512, 384, 0, 0),
        (512, 5000, 0, 0),
        (0, 5000, 2048, 4096),
    ],
)
def test_share_reserves_a_quarter_and_splits_the_rest_1_to_2(context, fixed, memory, history):
    assert share(context, fixed, Budgets()) == Budgets(memory, history)


@given(st.integers(1, 200_000), st.integers(0, 200_000), st.integers(0, 9000), st.integers(0, 9000))
def test_share_stays_within_its_limits_and_the_context(context, fixed, memory, history):
    got = share(context, fixed, Budgets(memory, history))
    assert 0 <= got.memory <= memory
    assert 0 <= got.history <= history
    assert got.memory + got.history == 0 or got.memory + got.history + fixed <= context - context / 4


@given(st.integers(1, 100_000), st.integers(0, 10_000), st.integers(0, 500))
def test_share_never_grows_with_a_longer_question(context, fixed, more):
    less, much = share(context, fixed + more, Budgets()), share(context, fixed, Budgets())
    assert less.memory <= much.memory
    assert less.history <= much.history
