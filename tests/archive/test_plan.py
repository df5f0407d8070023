"""When an archive run is due, what it takes, which dated file each message goes to, and its flag, by the files alone."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.archive.coverage import covered, covered_days, may_replace
from recalld.supervisor.archive.plan import Caps, Evidence, due, plan_days, reconcile, trim, without_open_questions
from recalld.supervisor.archive.slug import slugs_of
from recalld.supervisor.protocol.message import Archived, Failure, Key, Message, with_archived
from recalld.supervisor.protocol.paths import Period
from recalld.supervisor.storage.clock import local_day, to_wire
from tests.archive.states import HISTORIES, MOMENTS, NOON, file, ids, parsed_message, standing

HOUR, MINUTE, MS = timedelta(hours=1), timedelta(minutes=1), timedelta(milliseconds=1)
ZONES = ("Asia/Shanghai", "America/New_York", "Australia/Lord_Howe")


# ── due ──────────────────────────────────────────────────────────────────────


def why_due(*given: Any, **named: Any) -> str | None:
    """Why a run is due at the moment that is given third."""
    run = due(*given, 100, 6 * HOUR, **named)
    return run[1] if run and run[0] <= given[2] else None


@pytest.mark.feature("003.7")
@pytest.mark.parametrize(
    ("ages", "last_run", "now", "why"),
    [
        ([0] * 100, NOON, NOON, None),
        ([0] * 101, NOON, NOON, "count"),
        ([30 * HOUR], NOON, NOON + 6 * HOUR - MS, None),
        ([30 * HOUR], NOON, NOON + 6 * HOUR, "interval"),
        ([0, 6 * HOUR], None, NOON, "interval"),  # nothing was archived yet
        ([6 * HOUR - MS], None, NOON, None),
        ([0], NOON - 14 * HOUR, NOON + MINUTE, None),  # after a night: not six hours before its answer
        ([0], NOON - 14 * HOUR, NOON + 6 * HOUR, "interval"),
        ([6 * HOUR], NOON + 900 * HOUR, NOON, "interval"),  # what lies in the future does not count
        ([6 * HOUR, -HOUR], None, NOON, "interval"),
    ],
)
def test_due_is_above_100_or_six_hours_after_the_oldest_since_the_last_run(ages, last_run, now, why):
    assert why_due([parsed_message("m0", when=NOON - (age or timedelta())) for age in ages], last_run, now) == why


def test_due_returns_overflow_at_once():
    assert why_due([parsed_message("m0")], None, NOON, overflowing=True) == "overflow"
    again = due([parsed_message("m0")], NOON, NOON, 100, 6 * HOUR, overflowing=True)
    assert again == (NOON + 10 * MINUTE, "overflow")


# ── whole exchanges ──────────────────────────────────────────────────────────


@given(HISTORIES, MOMENTS)
def test_without_open_questions_keeps_order_and_old_questions(history, now):
    said = [one for one in history if isinstance(one, Message)]
    taken = without_open_questions(said, now, 10 * MINUTE)
    places = [next(n for n, one in enumerate(said) if one is chosen) for chosen in taken]
    assert places == sorted(places)
    for one in said:
        if not any(one is chosen for chosen in taken):
            assert one.role == "user"
            assert one.created_at is not None
            assert now - one.created_at < 10 * MINUTE


# ── days ─────────────────────────────────────────────────────────────────────


@pytest.mark.feature("003.8")
@given(HISTORIES, st.sampled_from(ZONES), st.sets(st.sampled_from(["m1", "m2", "m3"])))
def test_plan_days_assigns_each_message_once_to_its_local_day(history, zone_name, written):
    zone = ZoneInfo(zone_name)
    said = [one for one in history if isinstance(one, Message)]
    first: dict[Key, Message] = {}
    for one in said:
        first.setdefault(one.key, one)
    plan = plan_days(said, zone, {"2026-01-31-deploy-staging.md"}, written.__contains__, slugs_of)
    days = {block.key: file.day for file in plan for block in file.blocks}
    assert days == {key: local_day(one.created_at, zone) for key, one in first.items()}  # type: ignore[arg-type]
    assert sum(len(file.blocks) for file in plan) == len(first)
    assert len({file.name for file in plan}) == len(plan) == len({file.day for file in plan})
    assert all(file.name.startswith(file.day.isoformat()) for file in plan)
    assert [file.day for file in plan] == sorted(file.day for file in plan)
    assert "2026-01-31-deploy-staging.md" not in {file.name for file in plan}


# ── the flags, from the evidence of the files alone ──────────────────────────


TODAY = date(2026, 1, 31)
YOUNG, OLD, OLDER = "2026-01-30-nginx.md", "2026-01-15-nginx.md", "2025-11-03-nginx.md"
FAILURE = Failure(3, NOON, NOON + timedelta(hours=2), "timeout")
NOTHING = Evidence(file_of=lambda _key: None, present=frozenset(), covered=frozenset(), active_groups=(), failures={})
NOT_TRUE = (False, "pending")


def evidence(name: str | None, **more: object) -> Evidence:
    found = replace(NOTHING, file_of=lambda _key: name, present=frozenset({YOUNG, OLD, OLDER}))
    return replace(found, **more)


def settled(archived: object, found: Evidence, **more: object) -> Message:
    (entry,) = reconcile((parsed_message("m0", archived=archived, **more),), found, TODAY, 5)
    assert isinstance(entry, Message)
    return entry


@pytest.mark.feature("003.11")
@pytest.mark.parametrize("flag", NOT_TRUE)
@pytest.mark.parametrize(
    ("found", "archived"),
    [
        (NOTHING, Archived.NO),  # it is not written
        (evidence(YOUNG), Archived.YES),  # after a crash between file and flag, the file decides
        (evidence(OLD, covered=frozenset({OLD})), Archived.YES),
        (evidence(OLDER, covered=frozenset({OLDER})), Archived.YES),
    ],
)
def test_reconcile_sets_true_for_a_recent_message_and_a_covered_one(flag, found, archived):
    assert settled(flag, found).archived is archived


@pytest.mark.feature("003.6")
@pytest.mark.parametrize("flag", NOT_TRUE)
@pytest.mark.parametrize(("name", "group"), [(OLD, "day-2026-01-15"), (OLDER, "month-2025-11")])
def test_reconcile_sets_false_with_the_failure_of_the_group(flag, name, group):
    found = settled(flag, evidence(name, failures={group: FAILURE}))
    assert found.archived is Archived.NO
    assert (found.attempts, found.failed_at, found.next_at) == (3, FAILURE.failed_at, FAILURE.next_at)
    assert found.raw["archiveAttempts"] == 3
    assert found.raw["archiveNextAt"] == to_wire(FAILURE.next_at)


def test_reconcile_prefers_an_active_group_over_an_earlier_failure():
    found = settled(False, evidence(OLD, active_groups={"day-2026-01-15"}, failures={"day-2026-01-15": FAILURE}))
    assert found.archived is Archived.PENDING


NAMES = st.sampled_from([None, YOUNG, OLD, OLDER])
GROUPS = st.sets(st.sampled_from(["day-2026-01-15", "month-2025-11"]))


@pytest.mark.feature("003.4")
@given(HISTORIES, st.lists(NAMES, min_size=13, max_size=13), st.sets(NAMES), st.sets(NAMES), GROUPS, GROUPS)
def test_reconcile_is_idempotent_and_makes_only_legal_transitions(history, names, covered, present, flying, failing):
    found = Evidence(
        file_of=lambda key: names[int(key[0][1:])],
        present=frozenset(present - {None}),
        covered=frozenset(covered - {None}),
        active_groups=flying,
        failures=dict.fromkeys(failing, FAILURE),
    )
    once = reconcile(history, found, TODAY, 5)
    assert reconcile(once, found, TODAY, 5) == once
    for before, after in zip(history, once, strict=True):
        if isinstance(before, Message):
            assert isinstance(after, Message)
            assert (after.key, after.created_at) == (before.key, before.created_at)
            with_archived(before, after.archived)  # raises where the move is not legal
        else:
            assert after is before


# ── which messages leave history.json ───────────────────────────────────────────


def talk(count: int, archived: object = True, first: int = 0) -> list[Message]:
    return [parsed_message(f"m{n}", f"第 {n} 句", NOON + timedelta(minutes=n), archived) for n in range(first, first + count)]


def everything(_message: Message) -> bool:
    return True


@pytest.mark.feature("003.3")
def test_trim_removes_the_oldest_above_200_messages():
    assert trim(tuple(talk(200)), everything, Caps()) == tuple(talk(200))
    assert ids(trim(tuple(talk(201)), everything, Caps())) == ids(tuple(talk(200, first=1)))


@pytest.mark.feature("003.3")
@pytest.mark.parametrize("archived", [False, "pending"])
def test_trim_above_the_soft_limit_removes_only_archived_messages(archived):
    history = (*talk(150, archived), *talk(150, first=150))
    left = trim(history, everything, Caps())
    assert ids(left) == [*(f"m{n}" for n in range(150)), *(f"m{n}" for n in range(250, 300))]


@given(HISTORIES, st.sets(st.integers(0, 12)), st.integers(1, 6), st.integers(0, 6), st.integers(0, 5), st.integers(50, 3_000))
def test_trim_keeps_order_and_unwritten_messages_for_any_history(history, numbers, soft, more, newest, size):
    caps = Caps(soft, soft + more, size, newest)

    def written(one: Message) -> bool:
        return int(one.id[1:]) in numbers

    left = trim(history, written, caps)
    places = iter(enumerate(history))
    kept = {next(n for n, entry in places if entry is one) for one in left}  # order: each is found behind the one before
    messages = [n for n, entry in enumerate(history) if isinstance(entry, Message)]
    gone = set(range(len(history))) - kept
    assert gone <= set(messages)
    assert all(written(history[n]) for n in gone)  # type: ignore[arg-type]
    assert not gone & set(messages[max(0, len(messages) - newest) :])
    assert trim(left, written, caps) == left
    rest = [n for n in messages if n not in gone]
    might = [n for n in rest if written(history[n]) and n not in messages[max(0, len(messages) - newest) :]]  # type: ignore[arg-type]
    assert len(rest) <= caps.hard or not might
    assert len(rest) <= caps.soft or not [n for n in might if history[n].archived is Archived.YES]  # type: ignore[union-attr]


# ── what a summary covers: the files that it names, as they are now ──────────────

ONE, TWO = file("2025-12-03-nginx.md"), file("2025-12-04-pnpm.md")
DAY_3, MONTH = Period("2025-12-03"), Period("2025-12")


@pytest.mark.feature("003.16")
@pytest.mark.parametrize(
    ("of_memory", "named", "names"),
    [
        (ONE, [ONE], {ONE.name}),
        (ONE, [], set()),
        (file(ONE.name, "changed"), [ONE], set()),  # a late message under a reused name must still be summarized
        (file(ONE.name, original=True), [ONE], {ONE.name}),
        (file(ONE.name, original=True), [], set()),  # where it lies says nothing
    ],
)
def test_covered_has_a_file_that_a_summary_names_as_it_is_now(of_memory, named, names):
    assert covered([of_memory], standing("2025-12", named)) == names


@pytest.mark.feature("003.14")
@pytest.mark.parametrize(
    ("of_day", "of_month", "days"),
    [
        ({"files": [ONE]}, {}, {DAY_3}),
        ({"files": []}, {}, set()),  # a person wrote it
        ({"files": [ONE]}, {"extract": True}, set()),  # a model's day says more than an extract of the month
        ({"files": [ONE], "extract": True}, {"extract": True}, {DAY_3}),
    ],
)
def test_covered_days_includes_a_day_whose_files_are_all_in_the_month(of_day, of_month, days):
    summaries = {**standing("2025-12-03", **of_day), **standing("2025-12-04", [TWO]), **standing("2025-12", [ONE], **of_month)}
    assert covered_days([ONE, TWO], summaries) == days


# ── what may take the place of what stands ───────────────────────────────────

PRESENT = [ONE, TWO]
CHANGED, GONE = file(ONE.name, "changed"), file("2025-12-09-gone.md")


@pytest.mark.parametrize(
    ("files", "standing_files", "better", "may"),
    [
        ([], None, True, False),
        ([GONE], None, True, False),
        ([ONE], [ONE, TWO], False, False),  # the older text of a suspended worker
        ([ONE], [ONE, TWO], True, False),
        ([ONE], [ONE], False, False),
        ([ONE], [ONE], True, True),
        ([ONE, TWO], [ONE, GONE], False, True),  # else the month would be submitted again and again
    ],
)
def test_may_replace_takes_more_files_or_a_better_text_of_the_same(files, standing_files, better, may):
    stands = standing_files and standing("2025-12", standing_files)[MONTH]
    assert may_replace([one.source for one in files], stands, PRESENT, better=better) == may
