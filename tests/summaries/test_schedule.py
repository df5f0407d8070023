"""Which summaries are due: days that are no longer recent, months that have closed, what a late file changed; what failed waits."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.archive.coverage import MemoryFile, covered
from recalld.supervisor.protocol.paths import Period, summary_period
from recalld.supervisor.protocol.summary_file import Summary
from recalld.supervisor.storage.clock import local_day
from recalld.supervisor.summaries.schedule import (
    ProviderState,
    SummaryJob,
    SummaryWriter,
    after_call,
    calls_allowed,
    due_summaries,
    files_by_period,
    with_usage,
)
from tests.archive.states import NOON, file, standing

JAN_31, FEB_1 = date(2026, 1, 31), date(2026, 2, 1)
NOV, DEC, JAN, RECENT = (file(f"{day}-nginx.md") for day in ("2025-11-20", "2025-12-20", "2026-01-10", "2026-01-27"))


def labels(work: list[SummaryJob]) -> list[str]:
    return [one.period.label for one in work]


def ripen(
    files: list[MemoryFile], summaries: dict[Period, Summary], today: date = JAN_31, *, extracting: bool = False
) -> list[SummaryJob]:
    return due_summaries(files, summaries, today, 5, SummaryWriter(is_model=not extracting, context_bytes=10**9))


# ── the seed ─────────────────────────────────────────────────────────────────


@pytest.mark.feature("003.10")
@pytest.mark.parametrize("zone_name", ["Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"])
def test_due_summaries_switches_december_to_a_month_on_february_1(zone_name):
    zone = ZoneInfo(zone_name)
    midnight = datetime(2026, 2, 1, tzinfo=zone).astimezone(UTC)
    files = [NOV, DEC, JAN, RECENT]
    assert labels(ripen(files, {}, local_day(midnight - timedelta(seconds=1), zone))) == ["2026-01-10", "2025-12-20", "2025-11"]
    assert labels(ripen(files, {}, local_day(midnight, zone))) == ["2026-01-10", "2025-12", "2025-11"]


# ── at rest ──────────────────────────────────────────────────────────────────


def test_due_summaries_never_reads_a_month_from_a_day_extract():
    (work,) = ripen([DEC], standing("2025-12-20", [DEC], extract=True), FEB_1)
    assert work.material == (DEC.name,)


def test_after_call_counts_concurrent_faults_as_one():
    def failed(state: ProviderState, now: datetime, started: datetime) -> ProviderState:
        return after_call(state, started, now, "连不上", timedelta())

    state, later, second = failed(ProviderState(), NOON, NOON), NOON + timedelta(seconds=9), timedelta(seconds=1)
    assert failed(state, later, NOON - 30 * second) == state
    assert failed(state, NOON, NOON + second) == state
    assert failed(state, later, NOON + second).attempts == 2


@pytest.mark.parametrize(("spent", "under_way", "left"), [(0, 0, 3), (1, 1, 1), (3, 0, 0), (2, 2, 0)])
def test_calls_allowed_are_what_is_left_of_the_day(spent, under_way, left):
    assert calls_allowed(ProviderState(), NOON, spent, 3, under_way) == left


@pytest.mark.parametrize(("day", "tokens"), [("2026-01-31", 1_000), ("2026-01-30", 100)])
def test_with_usage_resets_the_tokens_on_a_new_day_and_sets_the_calls(day, tokens):
    before = with_usage(ProviderState(), {"promptTokens": 900}, day, 7)
    after = with_usage(before, {"promptTokens": 100}, "2026-01-31", 8)
    assert (after.day, after.calls, after.prompt_tokens) == ("2026-01-31", 8, tokens)


# ── always ───────────────────────────────────────────────────────────────────

FILES = st.lists(
    st.builds(
        lambda day, slug, digest: file(f"{day.isoformat()}-{slug}.md", digest),
        st.dates(date(2025, 11, 1), date(2026, 2, 10)),
        st.sampled_from(["nginx", "pnpm", "deploy"]),
        st.sampled_from("abc"),
    ),
    unique_by=lambda one: one.name,
    max_size=12,
)
TODAYS = st.dates(date(2026, 1, 20), date(2026, 3, 10))


@given(FILES, TODAYS)
def test_groups_puts_each_old_file_in_one_group_and_no_recent_one(files, today):
    grouped = files_by_period(files, today, 5)
    assert sorted(one.name for members in grouped.values() for one in members) == sorted(
        one.name for one in files if summary_period(one.day, today) is not None
    )
    assert all(period.holds(one.day) for period, members in grouped.items() for one in members)


@given(FILES, TODAYS, st.sets(st.sampled_from(["2025-12-20", "2025-12", "2026-01", "2025-11"])), st.booleans())
def test_due_summaries_is_empty_after_all_due_work_is_done(files, today, before, extracting):
    summaries: dict[Period, Summary] = {}
    for label in before:
        summaries |= standing(label, [one for one in files if one.name.startswith(label)][:1], extract=extracting)
    writer = SummaryWriter(is_model=not extracting, context_bytes=10**9)
    for work in due_summaries(files, summaries, today, 5, writer):
        (made,) = standing(work.period.label, (), text="## 新", extract=extracting).values()
        summaries[work.period] = replace(made, sources=work.sources)
    assert due_summaries(files, summaries, today, 5, writer) == []
    assert {one.name for one in files if summary_period(one.day, today)} <= covered(files, summaries)
