"""When an archive run is due, what it takes, and which dated file each message goes to."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.archive.plan import due, plan_days, without_open_questions
from recalld.supervisor.protocol.message import Key, Message
from recalld.supervisor.storage.clock import local_day
from tests.archive.states import HISTORIES, MOMENTS, NOON, SHANGHAI, parsed_message

HOUR, MINUTE, MS = timedelta(hours=1), timedelta(minutes=1), timedelta(milliseconds=1)
ZONES = ("Asia/Shanghai", "America/New_York", "Australia/Lord_Howe")


def never(_identity: str) -> bool:
    return False


def messages(count: int, when: datetime = NOON) -> list[Message]:
    return [parsed_message(f"m{n}", f"第 {n} 句", when) for n in range(count)]


# ── due ──────────────────────────────────────────────────────────────────────


@pytest.mark.feature("003.7")
def test_due_returns_count_above_100_unwritten_messages():
    assert due(messages(100), NOON, NOON) is None
    assert due(messages(101), NOON, NOON) == "count"


@pytest.mark.feature("003.7")
def test_due_returns_interval_six_hours_after_the_last_run():
    old = messages(2, NOON - 30 * HOUR)
    assert due(old, NOON, NOON + 6 * HOUR - MS) is None
    assert due(old, NOON, NOON + 6 * HOUR) == "interval"


def test_due_counts_from_the_oldest_message_if_nothing_was_archived():
    """The rule also applies when nothing has been archived yet."""
    assert due([*messages(1), *messages(1, NOON - 6 * HOUR)], None, NOON) == "interval"
    assert due(messages(1, NOON - 6 * HOUR + MS), None, NOON) is None


def test_due_counts_from_the_first_message_after_a_long_pause():
    """After a night the first message must not be archived alone, six hours before its answer."""
    last_night = NOON - 14 * HOUR
    assert due(messages(1), last_night, NOON + MINUTE) is None
    assert due(messages(1), last_night, NOON + 6 * HOUR) == "interval"


def test_due_ignores_a_last_run_in_the_future():
    """With a `created` in the future the six hours would never be over."""
    assert due(messages(1, NOON - 6 * HOUR), NOON + 900 * HOUR, NOON) == "interval"


def test_due_ignores_a_message_in_the_future():
    assert due([*messages(1, NOON - 6 * HOUR), *messages(1, NOON + HOUR)], None, NOON) == "interval"


def test_due_returns_none_without_unwritten_messages():
    assert due([], NOON - 900 * HOUR, NOON) is None


def test_due_returns_overflow_at_once():
    assert due(messages(1), NOON, NOON, overflowing=True) == "overflow"


def test_due_uses_the_given_limit_and_interval():
    assert due(messages(3), NOON, NOON, limit=2) == "count"
    assert due(messages(1, NOON - HOUR), None, NOON, interval=HOUR) == "interval"


# ── whole exchanges ──────────────────────────────────────────────────────────


def exchange(*said: tuple[str, float], session: str | None = None) -> list[Message]:
    more = {"session": session} if session else {}
    return [
        parsed_message(f"{session}{n}", f"第 {n} 句", NOON - minutes * MINUTE, role=role, **more)
        for n, (role, minutes) in enumerate(said)
    ]


def test_without_open_questions_leaves_out_a_recent_question():
    said = exchange(("user", 30), ("assistant", 29), ("user", 9.99))
    assert without_open_questions(said, NOON) == tuple(said[:2])
    assert without_open_questions(said, NOON + timedelta(seconds=1)) == tuple(said)


def test_without_open_questions_keeps_an_answered_question():
    said = exchange(("user", 2), ("assistant", 1))
    assert without_open_questions(said, NOON) == tuple(said)


def test_without_open_questions_leaves_out_consecutive_questions():
    said = exchange(("user", 9), ("user", 8), ("user", 1))
    assert without_open_questions(said, NOON) == ()


def test_without_open_questions_ignores_an_answer_in_another_session():
    ours, theirs = exchange(("user", 3), session="家"), exchange(("user", 3), ("assistant", 1), session="群")
    assert without_open_questions([*ours, *theirs], NOON) == tuple(theirs)


def test_without_open_questions_ignores_an_answer_before_the_question():
    said = exchange(("assistant", 9), ("user", 1))
    assert without_open_questions(said, NOON) == tuple(said[:1])


@given(HISTORIES, MOMENTS)
def test_without_open_questions_keeps_order_and_old_questions(history, now):
    said = [one for one in history if isinstance(one, Message)]
    taken = without_open_questions(said, now)
    places = [next(n for n, one in enumerate(said) if one is chosen) for chosen in taken]
    assert places == sorted(places)
    for one in said:
        if not any(one is chosen for chosen in taken):
            assert one.role == "user"
            assert one.created_at is not None
            assert now - one.created_at < 10 * MINUTE


# ── days ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("zone_name", ZONES)
def test_plan_days_uses_the_local_day_around_midnight(zone_name):
    """00:30 in Shanghai is still yesterday in UTC."""
    zone = ZoneInfo(zone_name)
    midnight = datetime(2026, 2, 1, tzinfo=zone).astimezone(UTC)
    said = [parsed_message("夜", "跨年了", midnight - 30 * MINUTE), parsed_message("晨", "新年好", midnight + 30 * MINUTE)]
    assert [(f.day, [b.id for b in f.blocks]) for f in plan_days(said, zone, (), never)] == [
        (date(2026, 1, 31), ["夜"]),
        (date(2026, 2, 1), ["晨"]),
    ]


def test_plan_days_handles_a_calendar_day_that_was_skipped():
    """Samoa had no 30 December 2011; Lord Howe moves its clocks by half an hour."""
    apia = ZoneInfo("Pacific/Apia")
    said = [
        parsed_message("前", "昨天", datetime(2011, 12, 30, 9, tzinfo=UTC)),
        parsed_message("后", "今天", datetime(2011, 12, 30, 11, tzinfo=UTC)),
    ]
    assert [file.day for file in plan_days(said, apia, (), never)] == [date(2011, 12, 29), date(2011, 12, 31)]


def test_plan_days_makes_one_file_per_day_in_history_order():
    days = [NOON - timedelta(days=n) for n in (3, 0, 3, 1)]
    said = [parsed_message(f"m{n}", f"nginx 第 {n} 句", when) for n, when in enumerate(days)]
    plan = plan_days(said, SHANGHAI, (), never)
    assert [(file.name, [block.id for block in file.blocks]) for file in plan] == [
        ("2026-01-28-nginx.md", ["m0", "m2"]),
        ("2026-01-30-nginx.md", ["m3"]),
        ("2026-01-31-nginx.md", ["m1"]),
    ]


def test_plan_days_never_reuses_a_file_name():
    plan = plan_days([parsed_message("m0", "重启 nginx")], SHANGHAI, {"2026-01-31-nginx.md"}, never)
    assert [file.name for file in plan] == ["2026-01-31-nginx-2.md"]


def test_plan_days_names_a_day_without_telling_words_by_its_first_id():
    plan = plan_days([parsed_message("01JKXY2ZABCD", "好的，就这样。")], SHANGHAI, (), never)
    assert [file.name for file in plan] == ["2026-01-31-mem-01jkxy2z.md"]


def test_plan_days_merges_messages_with_equal_id_and_text():
    plan = plan_days([parsed_message("m0", "好的"), parsed_message("m0", "好的")], SHANGHAI, (), never)
    assert [block.id for block in plan[0].blocks] == ["m0"]


def test_plan_days_merges_equal_id_and_text_with_different_times():
    """The same id and text are the same message, whatever the time of the second says."""
    plan = plan_days(
        [parsed_message("m0", "好的", NOON - timedelta(days=1)), parsed_message("m0", "好的", NOON)], SHANGHAI, (), never
    )
    assert [[block.id for block in file.blocks] for file in plan] == [["m0"]]


def test_plan_days_keeps_equal_text_under_different_ids():
    """Two real messages 'ok' in the same second are two messages."""
    plan = plan_days([parsed_message("m0", "好的"), parsed_message("m1", "好的")], SHANGHAI, (), never)
    assert [block.id for block in plan[0].blocks] == ["m0", "m1"]


def test_plan_days_writes_other_text_under_a_written_id_as_a_revision():
    said = parsed_message("m0", "改到周五")
    plan = plan_days([said], SHANGHAI, (), lambda identity: identity == "m0")
    assert [block.id for block in plan[0].blocks] == [f"m0~{said.text_digest[:8]}"]
    assert plan[0].keys == {said.key}


def test_plan_days_keeps_two_texts_under_one_id():
    first, second = parsed_message("m0", "周四"), parsed_message("m0", "周五")
    plan = plan_days([first, second], SHANGHAI, (), never)
    assert plan[0].keys == {first.key, second.key}
    assert re.fullmatch(r"m0~[0-9a-f]{8}", plan[0].blocks[1].id)


@pytest.mark.feature("003.8")
@given(HISTORIES, st.sampled_from(ZONES), st.sets(st.sampled_from(["m1", "m2", "m3"])))
def test_plan_days_assigns_each_message_once_to_its_local_day(history, zone_name, written):
    zone = ZoneInfo(zone_name)
    said = [one for one in history if isinstance(one, Message)]
    first: dict[Key, Message] = {}
    for one in said:
        first.setdefault(one.key, one)
    plan = plan_days(said, zone, {"2026-01-31-deploy-staging.md"}, written.__contains__)
    days = {block.key: file.day for file in plan for block in file.blocks}
    assert days == {key: local_day(one.created_at, zone) for key, one in first.items()}  # type: ignore[arg-type]
    assert sum(len(file.blocks) for file in plan) == len(first)
    assert len({file.name for file in plan}) == len(plan) == len({file.day for file in plan})
    assert all(file.name.startswith(file.day.isoformat()) for file in plan)
    assert [file.day for file in plan] == sorted(file.day for file in plan)
    assert "2026-01-31-deploy-staging.md" not in {file.name for file in plan}
