"""What was said of a day is found by that day (supervisor/query/dates, index/documents)."""

from __future__ import annotations

import re

import pytest

from recalld.supervisor.interfaces.api import Memory
from tests.world import WITHOUT_MODEL, World, at, message

NOW = at("2026-11-25T12:00")
SAID = (
    ("2026-11-24T09:00", "tomorrow: physio at ten, bring the scan"), ("2026-11-18T09:00", "下周二师傅上门修暖气"),
    ("2026-11-19T09:10", "下周五要交季度报告"), ("2026-11-10T09:00", "the surveyor comes on 27 November"),
    ("2026-11-20T09:00", "I bought a coat and new shoes"), ("2026-11-23T20:00", "去爬了趟山，累坏了"),
    ("2026-11-21T20:00", "吉他老师换成小林了，每周六晚七点上课"), ("2026-11-21T20:05", "choir rehearsal is on Mondays from now on"),
    ("2026-11-22T20:05", "12月19号汇演，要备白色连裤袜"),
)  # fmt: skip


@pytest.fixture(params=["unfiled", "filed"])
def memory(tmp_path, request):
    world = World(tmp_path, NOW, f"{WITHOUT_MODEL}[recall]\ntimeout_ms = 60000\n")
    world.append(*(message(f"m{n}", moment, text, "user") for n, (moment, text) in enumerate(SAID)))
    if request.param == "filed":
        world.settle()
        world.refresh()
    return Memory(world.ws, clock=world.clock)


def found(memory, question):
    return {hit.unit.text for hit in memory.search(question) if hit.unit.message}


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("what's due today?", {SAID[0][1]}), ("今天要干什么", {SAID[0][1]}),
        ("anything on this week", {SAID[0][1], SAID[2][1], SAID[3][1]}), ("周五有什么安排", {SAID[2][1], SAID[3][1]}),
        ("明天有什么安排", set()), ("周六晚上有什么安排", {SAID[6][1]}), ("what's on next Monday?", {SAID[7][1]}),
        ("what do I have on Mondays?", {SAID[7][1]}), ("周末有什么安排？", {SAID[6][1]}), ("anything on this weekend?", {SAID[6][1]}),
        ("下个月有什么安排", {SAID[8][1]}), ("what's on in December?", {SAID[8][1]}), ("下周要干嘛", set()),
    ],
)  # fmt: skip
def test_search_finds_what_is_due_on_the_days_asked_for_and_nothing_else(memory, question, answers):
    assert found(memory, question) == answers


def test_inject_shows_what_is_due_as_it_was_said_and_todays_day(memory):
    block = memory.inject("what's due today?").memory
    assert "(Today is Wednesday, 25 November 2026; a dated line may no longer be true.)\n" in block
    assert re.search(r"\(Tuesday(, 24 November 2026)?\) user: tomorrow: physio at ten", block)


@pytest.mark.parametrize("count", [0, 450], ids=["idle", "busy"])
@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("what did the car cost on 9 April?", "the car came to 9,450 in the end", "parcel number {} is packed"),
        ("4月9号那天买车花了多少钱？", "最后买车花了9450", "第 {} 箱书打包好了"),
    ],
)
def test_a_day_that_is_named_hides_no_answer_however_much_was_said_on_it(tmp_path, question, answer, other, count):
    """The answer stands on the day itself where it is busy, on the day before where one line alone was said on it."""
    world = World(tmp_path, NOW, f"{WITHOUT_MODEL}[recall]\ntimeout_ms = 60000\n")
    world.append(*(message(f"b{n}", f"2026-04-09T{8 + n // 60:02}:{n % 60:02}", other.format(n), "user") for n in range(count)))
    world.append(message("answer", f"2026-04-0{9 if count else 8}T16:00", answer, "user"))
    world.append(message("idle", "2026-04-09T17:00", "ok, 晚安", "user"))
    world.settle()
    assert answer in Memory(world.ws, clock=world.clock).inject(question).memory
