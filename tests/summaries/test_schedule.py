"""Which summaries are to be made now: days that are no longer recent, months that have closed, what a late file changed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.archive.coverage import MemoryFile, Standing, covered
from supervisor.protocol.clock import local_day
from supervisor.protocol.period import home
from supervisor.summaries.schedule import Maker, Work, groups, ripe
from tests.archive.states import file, standing

if TYPE_CHECKING:
    from supervisor.protocol.period import Period

JAN_31, FEB_1 = date(2026, 1, 31), date(2026, 2, 1)
NOV, DEC, JAN, RECENT = (file(f"{day}-nginx.md") for day in ("2025-11-20", "2025-12-20", "2026-01-10", "2026-01-27"))
LATE = file("2025-12-20-late.md")


def labels(work: list[Work]) -> list[str]:
    return [one.period.label for one in work]


def ripen(
    files: list[MemoryFile], summaries: dict[Period, Standing], today: date = JAN_31, *, extracting: bool = False
) -> list[Work]:
    return ripe(files, summaries, today, 5, Maker(is_model=not extracting, context_bytes=10**9))


# ── the seed ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("zone_name", ["Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"])
def test_on_31_january_december_is_summarised_by_day_and_on_1_february_by_month(zone_name):
    zone = ZoneInfo(zone_name)
    midnight = datetime(2026, 2, 1, tzinfo=zone).astimezone(UTC)
    files = [NOV, DEC, JAN, RECENT]
    assert labels(ripen(files, {}, local_day(midnight - timedelta(seconds=1), zone))) == ["2026-01-10", "2025-12-20", "2025-11"]
    assert labels(ripen(files, {}, local_day(midnight, zone))) == ["2026-01-10", "2025-12", "2025-11"]


def test_messages_archived_while_young_are_summarised_when_their_day_ripens():
    """A1: nothing ever summarised them."""
    assert labels(ripen([JAN], {}, date(2026, 1, 15))) == []
    assert labels(ripen([JAN], {}, date(2026, 1, 16))) == ["2026-01-10"]


def test_days_are_merged_into_their_month_when_it_closes():
    """A2: nobody made the month from its days."""
    other = file("2025-12-21-pnpm.md")
    days = {**standing("2025-12-20", [DEC]), **standing("2025-12-21", [other])}
    assert ripen([DEC, other], days, JAN_31) == []
    (work,) = ripen([DEC, other], days, FEB_1)
    assert work.period.label == "2025-12"
    assert set(work.sources) == {DEC.source, other.source}
    assert work.material == ("summary/2025-12-20.md", "summary/2025-12-21.md")


def test_a_month_of_which_some_days_have_no_summary_reads_their_files():
    """A2: a mixed month was undefined."""
    other = file("2025-12-21-pnpm.md")
    (work,) = ripen([DEC, other], standing("2025-12-20", [DEC]), FEB_1)
    assert work.material == ("summary/2025-12-20.md", other.name)


def test_the_newest_come_first():
    files = [file(f"2026-01-{day:02d}-nginx.md") for day in range(1, 20)] + [NOV, DEC]
    found = labels(ripen(files, {}))
    assert found == sorted(found, reverse=True)


# ── sources, exactly ─────────────────────────────────────────────────────────


def test_the_sources_are_all_files_of_the_group_with_their_digests():
    (work,) = ripen([DEC, LATE], {})
    assert work.sources == (LATE.source, DEC.source)
    assert [source.digest for source in work.sources] == [LATE.digest, DEC.digest]


def test_a_month_names_dated_files_and_never_its_days():
    """4H, 5: the month named the day, the day gained a file, and the file was hidden."""
    (work,) = ripen([DEC, LATE], standing("2025-12-20", [DEC]), FEB_1)
    assert set(work.sources) == {DEC.source, LATE.source}
    assert set(work.material) == {"summary/2025-12-20.md", LATE.name}


def test_a_person_s_note_named_like_a_dated_file_is_a_source_too():
    note = file("2025-12-20-想法.md", ours=False)
    (work,) = ripen([DEC, note], {})
    assert note.source in work.sources


# ── a late file ──────────────────────────────────────────────────────────────


def test_a_late_file_joins_its_day_through_the_text_that_stands():
    """A4, A5: a second batch of the day replaced the first."""
    (work,) = ripen([DEC, LATE], standing("2025-12-20", [DEC], text="## 部署\n超时改成 30 秒"))
    assert set(work.sources) == {DEC.source, LATE.source}
    assert work.material == (LATE.name,)
    assert work.previous == "## 部署\n超时改成 30 秒"
    assert work.previous_digest == "of-2025-12-20"


def test_a_late_file_joins_its_closed_month():
    summaries = {**standing("2025-12-20", [DEC]), **standing("2025-12", [DEC], text="## 十二月")}
    (work,) = ripen([DEC, LATE], summaries, FEB_1)
    assert (work.period.label, work.material, work.previous) == ("2025-12", (LATE.name,), "## 十二月")


def test_a_month_made_of_one_late_file_does_not_keep_its_days_from_being_merged():
    """A3."""
    summaries = {**standing("2025-12-20", [DEC]), **standing("2025-12", [LATE])}
    (work,) = ripen([DEC, LATE], summaries, FEB_1)
    assert set(work.sources) == {DEC.source, LATE.source}


def test_a_file_that_was_changed_is_read_anew_and_the_text_about_its_old_words_is_not_continued():
    """4H, 4."""
    (work,) = ripen([file(DEC.name, "changed"), LATE], standing("2025-12-20", [DEC]))
    assert work.previous == ""
    assert set(work.material) == {DEC.name, LATE.name}


# ── at rest ──────────────────────────────────────────────────────────────────


def test_what_is_named_is_at_rest():
    assert ripen([DEC], standing("2025-12-20", [DEC])) == []
    assert ripen([DEC], standing("2025-12", [DEC]), FEB_1) == []


def test_a_day_that_its_month_covers_is_not_made_anew():
    assert ripen([JAN], standing("2026-01", [JAN])) == []


def test_a_summary_that_a_person_deleted_is_made_anew_as_the_group_that_is_current():
    assert labels(ripen([DEC], {}, JAN_31)) == ["2025-12-20"]
    assert labels(ripen([DEC], standing("2025-12-20", [DEC]), FEB_1)) == ["2025-12"]


def test_a_file_that_a_person_deleted_is_not_asked_for():
    """4H, 9."""
    assert ripen([DEC], standing("2025-12-20", [DEC, LATE])) == []


def test_an_extract_is_made_anew_when_a_model_appears_and_is_no_material():
    """4H, 4: a model's summary that continued an extract named files that no model had read."""
    summaries = standing("2025-12-20", [DEC], extract=True, text="> 摘录")
    assert ripen([DEC], summaries, extracting=True) == []
    (work,) = ripen([DEC], summaries)
    assert (work.previous, work.material, work.previous_digest) == ("", (DEC.name,), "of-2025-12-20")


def test_an_extract_and_a_late_file_are_read_from_their_files():
    summaries = standing("2025-12-20", [DEC], extract=True)
    for extracting in (True, False):
        (work,) = ripen([DEC, LATE], summaries, extracting=extracting)
        assert (work.previous, set(work.material)) == ("", {DEC.name, LATE.name})


def test_a_month_is_not_read_from_the_extract_of_a_day():
    (work,) = ripen([DEC], standing("2025-12-20", [DEC], extract=True), FEB_1)
    assert work.material == (DEC.name,)


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
def test_every_old_file_belongs_to_one_group_and_no_recent_one_does(files, today):
    grouped = groups(files, today, 5)
    assert sorted(one.name for members in grouped.values() for one in members) == sorted(
        one.name for one in files if home(one.day, today) is not None
    )
    assert all(period.holds(one.day) for period, members in grouped.items() for one in members)


@given(FILES, TODAYS, st.sets(st.sampled_from(["2025-12-20", "2025-12", "2026-01", "2025-11"])), st.booleans())
def test_when_all_that_is_ripe_was_made_nothing_is_left_and_every_old_file_is_covered(files, today, before, extracting):
    summaries: dict[Period, Standing] = {}
    for label in before:
        summaries |= standing(label, [one for one in files if one.name.startswith(label)][:1], extract=extracting)
    maker = Maker(is_model=not extracting, context_bytes=10**9)
    for work in ripe(files, summaries, today, 5, maker):
        made = Standing(
            period=work.period, sources=frozenset(work.sources), text="## 新", extract=extracting, edited=False, digest="new"
        )
        summaries[work.period] = made
    assert ripe(files, summaries, today, 5, maker) == []
    assert {one.name for one in files if home(one.day, today)} <= covered(files, summaries)
