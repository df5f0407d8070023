"""The bench of a running conversation counts what it says, and its short form keeps what the long one promises."""

from __future__ import annotations

import pytest

from bench.conversation import facts, run, sent_for


def test_bench_conversation_keeps_the_facts_and_the_window():
    done = run(30, 8192)

    assert done.most_sent <= 8192 * 0.8
    assert done.model.calls == len(done.asked_at) == 1
    assert all(one.value in sent_for(done.memory, one.asked) for one in facts())


@pytest.mark.parametrize(("context", "longer"), [(8192, 1), (4096, 4)], ids=["by messages", "by tokens"])
def test_bench_conversation_asks_a_model_that_fails_in_few_turns(context, longer):
    done = run(60, context, longer, keeps_facts=False)

    assert done.most_sent <= context * 0.8
    assert 1 < len(done.asked_at) <= 60 / 4
