"""The archived flag of each message, from the evidence of the files alone: every case of the protocol."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.archive.flags import Evidence, Failure, reconcile
from recalld.supervisor.protocol.message import Archived, Message, with_archived
from recalld.supervisor.storage.clock import to_wire
from tests.archive.states import HISTORIES, NOON, parsed_message

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


@pytest.mark.parametrize("flag", NOT_TRUE)
def test_reconcile_sets_false_for_an_unwritten_message(flag):
    assert settled(flag, NOTHING).archived is Archived.NO


@pytest.mark.parametrize("flag", NOT_TRUE)
def test_reconcile_sets_true_for_a_written_recent_message(flag):
    """After a crash between file and flag, the file decides."""
    assert settled(flag, evidence(YOUNG)).archived is Archived.YES


@pytest.mark.feature("003.11")
@pytest.mark.parametrize("flag", NOT_TRUE)
@pytest.mark.parametrize("name", [OLD, OLDER])
def test_reconcile_sets_true_for_an_old_message_covered_by_a_summary(flag, name):
    assert settled(flag, evidence(name, covered=frozenset({name}))).archived is Archived.YES


@pytest.mark.feature("003.6")
@pytest.mark.parametrize("flag", NOT_TRUE)
@pytest.mark.parametrize(("name", "group"), [(OLD, "day-2026-01-15"), (OLDER, "month-2025-11")])
def test_reconcile_sets_false_with_the_failure_of_the_group(flag, name, group):
    found = settled(flag, evidence(name, failures={group: FAILURE}))
    assert found.archived is Archived.NO
    assert (found.attempts, found.failed_at, found.next_at) == (3, FAILURE.failed_at, FAILURE.next_at)
    assert found.raw["archiveAttempts"] == 3
    assert found.raw["archiveNextAt"] == to_wire(FAILURE.next_at)


def test_reconcile_ignores_the_failure_of_another_group():
    found = settled("pending", evidence(OLD, failures={"month-2026-01": FAILURE, "day-2026-01-14": FAILURE}))
    assert "archiveAttempts" not in found.raw


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
