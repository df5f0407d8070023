"""Which of the last messages are put before the assistant, and how much of each."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.supervisor.context.history_window import CUT, Window, WindowLimits, WindowMessage, window
from recalld.supervisor.text.token_count import MESSAGE_TOKENS, estimate_tokens
from tests.archive.states import NOON, parsed_message

if TYPE_CHECKING:
    from recalld.supervisor.protocol.message import Message

LIMITS = WindowLimits()


def talk(
    count: int, user: str = "第 {} 个问题：花生能吃吗？", assistant: str = "第 {} 个回答：不能，你过敏。"
) -> list[Message]:
    roles = ("user", "assistant")
    return [
        parsed_message(f"m{n}", (user, assistant)[n % 2].format(n), NOON + timedelta(minutes=n), role=roles[n % 2])
        for n in range(count)
    ]


def ids(found: Window) -> list[str]:
    return [said.id for said in found.messages]


@pytest.mark.feature("003.23")
def test_history_window_cuts_long_assistant_messages_but_not_the_users():
    found = window(talk(2, user="问" * 900, assistant="答" * 501), LIMITS)
    assert [(said.text, said.is_whole) for said in found.messages] == [("问" * 900, True), ("答" * 500 + CUT, False)]


def test_history_window_keeps_fewer_than_five_in_a_tiny_budget():
    found = window(talk(20, user="问" * 600, assistant="答" * 600), replace(LIMITS, tokens=70))
    assert ids(found) == ["m18", "m19"]
    assert window(talk(20), replace(LIMITS, tokens=0)) == Window()


def calls_of_window(count: int) -> int:
    """How many functions a block calls whose messages are far above its budget, and generators, by step."""
    said, calls = talk(count, user="a question " * 40, assistant="an answer " * 40), [0]
    before = sys.getprofile()
    sys.setprofile(lambda _frame, event, _arg: calls.__setitem__(0, calls[0] + (event == "call")))
    try:
        found = window(said, replace(LIMITS, most=count, tokens=1000, message_chars=100))
    finally:
        sys.setprofile(before)
    assert 10 < len(found.messages) < 30
    return calls[0]


def test_history_window_of_twice_the_messages_takes_twice_the_work():
    window(talk(2), LIMITS)
    assert calls_of_window(120) < 2.5 * calls_of_window(60)


@pytest.mark.feature("003.23")
@pytest.mark.parametrize("request_", ["Run the tests again please", "再跑一遍测试，谢谢"])
@pytest.mark.parametrize("has_ids", [True, False])
def test_history_window_keeps_a_request_that_is_said_again(request_, has_ids):
    said = []
    for n in range(5):
        at = NOON + timedelta(minutes=n)
        said.append(parsed_message(f"q{n}" if has_ids else "", request_, at))
        said.append(parsed_message(f"a{n}" if has_ids else "", f"{n} failed", at + timedelta(seconds=9), role="assistant"))
    found = [one.text for one in window(said, LIMITS).messages]
    assert found == [text for n in range(5) for text in (request_, f"{n} failed")]


MESSAGES = st.lists(
    st.builds(
        lambda identity, text, minute, role: parsed_message(
            identity, text, minute and NOON + timedelta(minutes=minute), role=role
        ),
        st.sampled_from(("", "a", "b", "c", "d", "e", "f", "g")),
        st.one_of(st.text(max_size=30), st.text("花生过敏 \n", max_size=900), st.sampled_from(("\ud800", "👨‍👩‍👧" * 90))),
        st.integers(0, 5),
        st.sampled_from(("user", "assistant", "tool")),
    ),
    max_size=24,
)
WINDOWS = st.builds(
    WindowLimits,
    tokens=st.integers(0, 1500),
    least=st.integers(0, 5),
    most=st.integers(5, 20),
    message_chars=st.integers(20, 500),
    cjk_weight=st.sampled_from((0.5, 1.0)),
)


def _tokens(said: WindowMessage, weight: float) -> int:
    line = estimate_tokens(f"{said.day_line}\n", weight) if said.day_line else 0
    return line + estimate_tokens(said.text, weight) + MESSAGE_TOKENS


@pytest.mark.feature("003.22")
@settings(max_examples=150, deadline=None)
@given(MESSAGES, WINDOWS)
def test_history_window_keeps_budget_order_and_minimum_for_any_input(messages, limits):
    found = window(messages, limits)
    assert sum(_tokens(said, limits.cjk_weight) for said in found.messages) == found.tokens <= limits.tokens
    assert len(found.messages) <= limits.most
    assert all(said.text.encode() for said in found.messages)
    talk = window(messages, replace(limits, tokens=10**6))
    assert ids(talk)[len(talk.messages) - len(found.messages) :] == ids(found)
    room = limits.least * (MESSAGE_TOKENS + 3 * (20 + len(CUT)))  # 20 characters of the dearest kind, and the mark
    if limits.tokens >= room:
        assert len(found.messages) >= min(limits.least, len(talk.messages))
