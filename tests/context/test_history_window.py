"""Which of the last messages are put before the assistant, and how much of each."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

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
    return [said.id for said in found.said]


def test_history_window_keeps_the_newest_twenty_in_order():
    assert ids(window(talk(50), LIMITS)) == [f"m{n}" for n in range(30, 50)]


def test_history_window_begins_with_the_same_message_for_some_turns():
    whole = talk(200)
    begins = [ids(window(whole[max(0, n - 60) : n], LIMITS, max(0, n - 60)))[0] for n in range(50, 61)]
    assert begins == ["m30"] + ["m40"] * 10


@given(st.integers(0, 5), st.integers(5, 20), st.integers(0, 400))
def test_history_window_shows_at_least_half_of_the_most(least, most, before):
    shown = ids(window(talk(60), WindowLimits(least=least, most=most, tokens=10**6), before))
    assert shown == [f"m{n}" for n in range(60 - len(shown), 60)]
    assert max(least, most - most // 2 + 1) <= len(shown) <= most


def test_history_window_keeps_all_of_fewer_than_five_messages():
    assert ids(window(talk(3), LIMITS)) == ["m0", "m1", "m2"]
    assert window([], LIMITS) == Window()


@pytest.mark.feature("003.23")
def test_history_window_cuts_long_assistant_messages_but_not_the_users():
    found = window(talk(2, user="问" * 900, assistant="答" * 501), LIMITS)
    assert [(said.text, said.is_whole) for said in found.said] == [("问" * 900, True), ("答" * 500 + CUT, False)]


def test_history_window_keeps_500_characters_whole():
    assert window(talk(2, assistant="答" * 500), LIMITS).said[1].is_whole


def test_history_window_cuts_old_user_messages_before_dropping_any():
    found = window(talk(10, user="{:03}" + "问" * 897, assistant="{:03}" + "答" * 97), LIMITS)
    assert [said.is_whole for said in found.said if said.role == "user"] == [False, False, False, True, True]
    assert len(found.said) == 10


def test_history_window_drops_the_oldest_if_cut_messages_do_not_fit():
    found = window(talk(20, user="{:03}" + "问" * 597, assistant="{:03}" + "答" * 597), LIMITS)
    assert ids(found) == [f"m{n}" for n in range(12, 20)]
    assert all(len(said.text) == 500 + len(CUT) for said in found.said)


@pytest.mark.parametrize("tokens", [160, 300, 1000, 2000])
def test_history_window_keeps_five_by_cutting_the_assistant_shorter(tokens):
    found = window(talk(20, user="{:03}" + "问" * 597, assistant="{:03}" + "答" * 597), replace(LIMITS, tokens=tokens))
    assert ids(found) == [f"m{n}" for n in range(15, 20)]
    assert found.tokens <= tokens
    lengths = {said.role: len(said.text) for said in found.said}
    assert lengths["assistant"] < lengths["user"] or tokens == 160  # there both are at their least


def test_history_window_keeps_fewer_than_five_in_a_tiny_budget():
    found = window(talk(20, user="问" * 600, assistant="答" * 600), replace(LIMITS, tokens=70))
    assert ids(found) == ["m18", "m19"]
    assert window(talk(20), replace(LIMITS, tokens=0)) == Window()


def test_history_window_shows_a_repeated_message_once():
    first, again = parsed_message("m1", "花生过敏"), parsed_message("m1", "花生过敏，还有虾", NOON + timedelta(minutes=1))
    same = parsed_message("", "记住了", NOON + timedelta(minutes=2), role="assistant")
    found = window([first, again, same, same], LIMITS)
    assert [said.text for said in found.said] == ["花生过敏，还有虾", "记住了"]


def test_history_window_keeps_equal_text_at_different_times():
    found = window([parsed_message("m1", "好的"), parsed_message("m2", "好的", NOON + timedelta(seconds=1))], LIMITS)
    assert ids(found) == ["m1", "m2"]


@pytest.mark.feature("003.23")
@pytest.mark.parametrize("request_", ["Run the tests again please", "再跑一遍测试，谢谢"])
@pytest.mark.parametrize("has_ids", [True, False])
def test_history_window_keeps_a_request_that_is_said_again(request_, has_ids):
    said = []
    for n in range(5):
        at = NOON + timedelta(minutes=n)
        said.append(parsed_message(f"q{n}" if has_ids else "", request_, at))
        said.append(parsed_message(f"a{n}" if has_ids else "", f"{n} failed", at + timedelta(seconds=9), role="assistant"))
    found = [one.text for one in window(said, LIMITS).said]
    assert found == [text for n in range(5) for text in (request_, f"{n} failed")]


def test_history_window_keeps_an_answer_that_is_given_again():
    talk = [
        ("user", "Did it pass?"),
        ("assistant", "All 40 tests passed."),
        ("user", "And now?"),
        ("assistant", "All 40 tests passed."),
    ]
    said = [parsed_message(f"m{n}", text, NOON + timedelta(minutes=n), role=role) for n, (role, text) in enumerate(talk)]
    assert ids(window(said, LIMITS)) == ["m0", "m1", "m2", "m3"]


def test_history_window_shows_one_time_and_words_once_without_ids():
    said = [parsed_message("", "Run the tests again please", NOON), parsed_message("x1", "Run the tests again please", NOON)]
    assert ids(window(said, LIMITS)) == ["x1"]


def test_history_window_names_the_day_where_it_changes():
    evening, morning = NOON + timedelta(hours=3), NOON + timedelta(hours=21)
    said = [parsed_message("m0", "备份在 nas 上", evening), parsed_message("m1", "好的", evening, role="assistant")]
    said += [parsed_message("m2", "早", morning), parsed_message("m3", "还在 nas 上吗？", morning)]
    english, chinese = (window(said, replace(LIMITS, language=language)).said for language in ("en", "zh"))
    assert [one.day_line for one in english] == ["(Saturday, 31 January 2026)", "", "(Sunday, 1 February 2026)", ""]
    assert chinese[2].content == "（2026年2月1日星期日）\n早"


def test_history_window_names_days_in_the_zone_of_the_user():
    late = parsed_message("m0", "晚安", NOON.replace(hour=17))
    (said,) = window([late], replace(LIMITS, zone=ZoneInfo("Asia/Shanghai"))).said
    assert said.day_line == "(Sunday, 1 February 2026)"


def test_history_window_shows_a_message_before_it_names_its_day():
    tight = window(talk(20), replace(LIMITS, tokens=window(talk(20), LIMITS).tokens - 1))
    assert len(tight.said) == 20
    assert not tight.said[0].day_line


def test_history_window_ignores_tool_system_and_empty_messages():
    rest = [
        parsed_message("t", "结果", role="tool"),
        parsed_message("s", "提示", role="system"),
        parsed_message("e", " \n", NOON + timedelta(1)),
    ]
    assert ids(window([*talk(2), *rest], LIMITS)) == ["m0", "m1"]


@pytest.mark.parametrize("cluster", ["👨‍👩‍👧‍👦", "e\u0301", "🇨🇳"])
def test_history_window_never_cuts_inside_a_grapheme(cluster):
    (said,) = window([parsed_message("m", cluster * 400, role="assistant")], replace(LIMITS, message_chars=99)).said
    words = said.text.removesuffix(CUT)
    assert words == cluster * (len(words) // len(cluster))


def test_history_window_cuts_a_message_of_megabytes_to_500_characters():
    (said,) = window([parsed_message("m", "花" * 5_000_000)], LIMITS).said
    assert said.text == "花" * 500 + CUT


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
    assert sum(_tokens(said, limits.cjk_weight) for said in found.said) == found.tokens <= limits.tokens
    assert len(found.said) <= limits.most
    assert all(said.text.encode() for said in found.said)
    talk = window(messages, replace(limits, tokens=10**6))
    assert ids(talk)[len(talk.said) - len(found.said) :] == ids(found)
    room = limits.least * (MESSAGE_TOKENS + 3 * (20 + len(CUT)))  # 20 characters of the dearest kind, and the mark
    if limits.tokens >= room:
        assert len(found.said) >= min(limits.least, len(talk.said))
