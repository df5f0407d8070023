"""What memory and history may take of a context (003, 上下文注入预算)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.context.history_window import Budgets, share
from supervisor.text.token_count import estimate


@pytest.mark.parametrize(
    ("context", "fixed", "memory", "history"),
    [
        (32_768, 500, 2048, 4096),
        (8192, 0, 2048, 4096),  # a quarter is 2048; the rest is just enough
        (8192, 3, 2047, 4094),
        (4096, estimate("你是一个谨慎的助手。" * 20), 957, 1914),
        (512, 300, 28, 56),
        (512, 384, 0, 0),
        (512, 5000, 0, 0),
        (0, 5000, 2048, 4096),
    ],
)
def test_a_quarter_is_the_answers_and_the_rest_goes_one_to_two(context, fixed, memory, history):
    assert share(context, fixed, Budgets()) == Budgets(memory, history)


@given(st.integers(1, 200_000), st.integers(0, 200_000), st.integers(0, 9000), st.integers(0, 9000))
def test_no_share_passes_its_limit_and_all_of_it_stays_in_the_context(context, fixed, memory, history):
    got = share(context, fixed, Budgets(memory, history))
    assert 0 <= got.memory <= memory
    assert 0 <= got.history <= history
    assert got.memory + got.history == 0 or got.memory + got.history + fixed <= context - context / 4


@given(st.integers(1, 100_000), st.integers(0, 10_000), st.integers(0, 500))
def test_a_longer_question_never_leaves_more(context, fixed, more):
    less, much = share(context, fixed + more, Budgets()), share(context, fixed, Budgets())
    assert less.memory <= much.memory
    assert less.history <= much.history
