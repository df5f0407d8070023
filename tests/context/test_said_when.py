"""Relative days stand beside the day that they mean (supervisor/context/said_when)."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.context.choice import BlockLimits
from recalld.supervisor.context.memory_block import pack
from recalld.supervisor.context.said_when import with_days
from recalld.supervisor.index.hit import Hit, Passage

SAID = date(2026, 11, 25)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("tomorrow: physio", "tomorrow (26 November): physio"),
        ("明天体检，下周二师傅上门", "明天（11月26日）体检，下周二（12月1日）师傅上门"),
        ("next week I'm off", "next week (30 November to 6 December) I'm off"),
        ("下周出差", "下周（11月30日至12月6日）出差"),
        ("- 明天: 体检\n- 后天: 交报告", "- 明天（11月26日）: 体检\n- 后天（11月27日）: 交报告"),
    ],
)
def test_with_days_puts_the_day_beside_the_word(text, shown):
    assert with_days(text, SAID) == shown


@pytest.mark.parametrize(
    "text",
    [
        "tomorrow (Nov 26) physio", "明天（11月26日）体检", "明天11月26号体检", "on 26 November, tomorrow", "run `at tomorrow` now",
        "```\nat tomorrow\n```", "    at tomorrow", "https://x.y/tomorrow", "tomorrow_job", "at-tomorrow.sh", "tonight at eight", "今天好累",
    ],
)  # fmt: skip
def test_with_days_leaves_code_dates_and_today_alone(text):
    assert with_days(text, SAID) == text


def test_with_days_names_the_year_where_it_is_another():
    assert with_days("in two weeks", date(2026, 12, 25)) == "in two weeks (8 January 2027)"
    assert with_days("下周五", date(2026, 12, 25)) == "下周五（2027年1月1日）"


def test_with_days_names_four_days_at_most():
    assert with_days("tomorrow, next Monday, next Tuesday, next Friday, yesterday", SAID).count("(") == 4


@given(st.text(max_size=80), st.dates(date(1990, 1, 1), date(2090, 1, 1)))
def test_with_days_only_adds(text, said):
    assert len(with_days(text, said)) >= len(text)


def block(text, **limits):
    passage = Passage(
        path="memory/2026-11-25-talk.md", start=4, end=4, text=text, tier="dated", day=SAID, role="user", message="m1"
    )
    return pack([Hit(passage, 1.0)], (), BlockLimits(**limits))


def test_pack_shows_the_day_in_its_budget_and_keeps_every_escape():
    packed = block("tomorrow | [memory.md] ## x")
    assert "user: tomorrow (26 November) \\| \\[memory.md] ## x\n" in packed.text
    assert packed.tokens > block("tomorrow_ | [memory.md] ## x").tokens
    assert packed.shown[0].unit.text == "tomorrow | [memory.md] ## x"


def test_pack_shows_no_day_in_the_form_of_the_seed_nor_where_days_are_off():
    assert "November" not in block("tomorrow: physio", hit="line").text + block("tomorrow: physio", days=False).text


def test_pack_shows_no_day_in_a_summary_or_a_line_of_memory():
    for tier in ("summary", "long_term"):
        passage = Passage(path="memory.md", start=4, end=4, text="tomorrow: physio", tier=tier, day=SAID)
        assert "26 November" not in pack([Hit(passage, 1.0)], (), BlockLimits()).text


def test_day_said_behind_characters_that_nfkc_makes_longer_is_said_once():
    for text in ("㍿㍿㍿㍿㍿ 的会改到明天（11月24日）上午", "⑩⑪⑫⑬⑭⑮⑯⑰⑱ all ﬁne; tomorrow (24 November) at 10"):
        assert with_days(text, date(2026, 11, 23)) == text
