"""Which of the last messages are put before the assistant, and how much of each."""

import sys
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld.supervisor.context.history_window import (
    CUT,
    Budgets,
    Window,
    WindowLimits,
    WindowMessage,
    share,
    turn_messages,
    window,
)
from recalld.supervisor.protocol.message import Message
from recalld.supervisor.text.llm_input import MESSAGE_TOKENS, estimate_tokens
from tests.archive.states import NOON, parsed_message

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
)


def _tokens(said: WindowMessage) -> int:
    line = estimate_tokens(f"{said.day_line}\n") if said.day_line else 0
    return line + estimate_tokens(said.text) + MESSAGE_TOKENS


@pytest.mark.feature("003.22")
@settings(max_examples=150, deadline=None)
@given(MESSAGES, WINDOWS)
def test_history_window_keeps_budget_order_and_minimum_for_any_input(messages, limits):
    found = window(messages, limits)
    assert sum(_tokens(said) for said in found.messages) == found.tokens <= limits.tokens
    assert len(found.messages) <= limits.most
    assert all(said.text.encode() for said in found.messages)
    talk = window(messages, replace(limits, tokens=10**6))
    assert ids(talk)[len(talk.messages) - len(found.messages) :] == ids(found)
    room = limits.least * (MESSAGE_TOKENS + 3 * (20 + len(CUT)))  # 20 characters of the dearest kind, and the mark
    if limits.tokens >= room:
        assert len(found.messages) >= min(limits.least, len(talk.messages))


# ── the shares of memory and history ────────────────────────────────────────────


@pytest.mark.parametrize(
    ("window", "fixed", "memory", "history"),
    [
        (8192, 0, 2048, 4096),  # a quarter is 2048; the rest is just enough
        (8192, 3, 2047, 4094),
        (2048, 300, 512, 824),
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


# ── the messages of a turn ──────────────────────────────────────────────────────

MEMORY = "## Memory\n[memory/2026-01-28-allergy.md#L4] 我对花生过敏。\n"
NOW = datetime(2026, 1, 31, 10, 0, tzinfo=ZoneInfo("Asia/Shanghai"))
TALK = (WindowMessage("user", "早", "m1", day_line="（2026年1月31日星期六）"), WindowMessage("assistant", "早上好", "m2"))


def made(**given: Any) -> list[tuple[str, str]]:
    turn: dict[str, Any] = {"system": "你是小记。", "memory": MEMORY, "history": TALK, "question": "花生酱呢？", "now": NOW}
    return [(one["role"], one["content"]) for one in turn_messages(**(turn | given))]


SAID = st.lists(
    st.builds(WindowMessage, st.sampled_from(("user", "assistant")), st.sampled_from(("好", " ", "早\n")), st.just(""))
)
SYSTEM = "你是小记。\n "


@pytest.mark.parametrize("place", ["question", "system", "message"])
@given(said=SAID, system=st.sampled_from(("", SYSTEM)), memory=st.sampled_from(("", MEMORY)))
def test_messages_begin_with_the_only_system_message_and_alternate(place, said, system, memory):
    found = made(history=said, system=system, memory=memory, place=place)
    assert [role for role, _ in found[1:] if role == "system"] == []
    assert not system or found[0][1].startswith(system)
    roles = [role for role, _ in made(history=said, system=SYSTEM, memory=memory, place=place, alternate=True)[1:]]
    assert roles == [("user", "assistant")[n % 2] for n in range(len(roles))]
    assert roles[-1] == "user"
