"""When a round is due by time alone: what was due every thirty seconds is due in time, and nothing else is."""

from datetime import timedelta

import pytest

from recalld.supervisor.host.daemon import PAUSE
from recalld.supervisor.host.round import LONGEST, next_due, quiet_until
from recalld.supervisor.host.watcher import ChangeDetector
from recalld.supervisor.protocol.message import Failure
from tests.world import IN_SHANGHAI, at, message_on, talk


def rested(world, supervisor) -> None:
    """Let it work until there is nothing to do."""
    for _ in range(50):
        if not supervisor.poll():
            return
        supervisor.work()
    raise AssertionError("it never rests")


def test_due_is_when_the_oldest_message_has_waited_six_hours(world):
    world.write(talk("2026-01-31T09:58", 2))
    world.intake()
    first = world.ws.journal.unwritten
    oldest = min(one.created_at for one in first.values())
    assert next_due(world.ws, world.clock()) == oldest + timedelta(hours=6)


def test_due_is_midnight_where_nothing_waits(world):
    world.clock.advance(at("2026-01-31T23:10") - world.clock())
    assert next_due(world.ws, world.clock()) == at("2026-02-01T00:00")


def test_due_is_after_some_hours_where_nothing_is_known_of(world):
    assert next_due(world.ws, world.clock()) == world.clock() + LONGEST


def test_due_is_when_the_wait_after_a_failure_is_over(world):
    world.ws.prepare()
    now = world.clock()
    world.ws.task_queue.fail("day-2026-01-10", Failure(1, now, now + timedelta(minutes=10), "provider"))
    assert next_due(world.ws, now) == now + timedelta(minutes=10)


# ── the promises of the thirty seconds, with due times ───────────────────────


@pytest.mark.parametrize("hours", [30, -30])
def test_supervisor_notices_a_clock_that_was_set_without_a_change(world, hours):
    supervisor = world.supervisor()
    rested(world, supervisor)
    world.clock.jump(hours=hours)
    assert supervisor.poll()
    supervisor.work()
    assert len(world.events.of("clock_jump")) == 1


def test_look_at_memory_that_stood_still_delays_the_next_by_a_minute(world, monkeypatch):
    supervisor, looks = world.supervisor(), []

    def slow(_self) -> bool:
        looks.append(world.clock.monotonic())
        world.clock.forward(hours=8 if len(looks) == 1 else 0)
        return False

    monkeypatch.setattr(ChangeDetector, "tree_changed", slow)
    for _ in range(70):
        supervisor.poll()
        world.clock.forward(seconds=1)
    assert len(looks) > 1


@pytest.mark.parametrize(
    ("moved", "waits"),
    [
        (timedelta(seconds=40), False),
        (timedelta(hours=-1), False),  # somebody keeps local time in the machine's clock
        (timedelta(hours=1, seconds=1), True),
        (timedelta(days=3_650), True),
    ],
)
def test_supervisor_submits_nothing_for_a_while_after_the_clock_was_set(world, moved, waits):
    supervisor = world.supervisor()
    rested(world, supervisor)
    world.write([message_on("2026-01-10")])
    world.clock.jump(seconds=moved.total_seconds())
    rested(world, supervisor)
    assert world.ws.task_queue.queued_count() == int(not waits)
    world.forward(seconds=PAUSE.total_seconds())
    rested(world, supervisor)
    assert world.ws.task_queue.queued_count() == 1


# ── quiet hours ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("hours", "now", "end"),
    [
        ("22:00-07:00", "2026-01-31T21:59", None),
        ("22:00-07:00", "2026-01-31T22:00", "2026-02-01T07:00"),
        ("22:00-07:00", "2026-02-01T07:00", None),
        ("12:30-14:00", "2026-01-31T13:00", "2026-01-31T14:00"),
        ("12:30-12:30", "2026-01-31T12:30", None),
        ("", "2026-01-31T03:00", None),
    ],
)
def test_quiet_until_is_the_end_of_the_hours(world, hours, now, end):
    world.reopen(f'[archive]\n{IN_SHANGHAI}\n[care]\nquiet_hours = "{hours}"\n')
    assert quiet_until(world.ws, at(now)) == (end and at(end))
