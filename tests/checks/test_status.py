"""The state of the workspace, and what the next run would do."""

from __future__ import annotations

import json
from datetime import timedelta

from tests.world import World, at, talk, unreachable


def asked(world: World) -> tuple[dict[str, object], dict[str, object]]:
    before = world.tree(internal=True)
    found = world.status(), world.plan()
    assert world.tree(internal=True) == before, "it changes nothing"
    json.dumps(found)
    return found


def test_status_reports_the_oldest_unwritten_and_unsummarized(world):
    world.model.script = unreachable
    world.write([*talk("2026-01-10T09:00", 2), *talk("2026-01-30T09:00", 2)])
    world.settle()
    world.add(*talk("2026-01-31T09:58", 2))
    world.round()
    state, _ = asked(world)
    assert state["unwritten"] == 2
    assert state["oldestUnwritten"] == "2026-01-31T01:58:00.000Z"
    assert state["oldestUnsummarised"] == "2026-01-10"
    assert state["waitingForRetry"] == {
        "day-2026-01-10": {"attempts": 1, "nextAt": "2026-01-31T02:10:00.000Z", "reason": "input"}
    }
    assert state["lastRun"] == "2026-01-31T02:00:00.000Z"


def test_status_and_plan_count_what_is_in_the_drop_box_until_it_is_filed(world):
    world.drop("1.json", {"role": "user", "content": "我对花生过敏。", "createdAt": "2026-01-31T01:58:00.000Z"})
    state, plan = asked(world)
    assert (state["unwritten"], state["oldestUnwritten"], plan["unwritten"]) == (1, "2026-01-31T01:58:00.000Z", 1)
    world.intake()
    assert world.status()["unwritten"] == 1
    world.round("all")
    assert world.status()["unwritten"] == 0


def test_plan_lists_the_month_instead_of_its_days_on_the_first(world):
    world.write([*talk("2025-12-10T09:00", 2), *talk("2025-12-20T09:00", 2)])
    world.round("all")
    assert [one["group"] for one in world.plan()["summaries"]] == ["day-2025-12-20", "day-2025-12-10"]
    assert [one["group"] for one in world.forward(days=1).plan()["summaries"]] == ["month-2025-12"]


# ── the plan ─────────────────────────────────────────────────────────────────


def test_status_and_plan_name_the_time_of_the_next_run(world):
    def next_runs():
        return {found["nextRun"] for found in asked(world)}

    assert next_runs() == {None}
    world.add(*talk("2026-01-31T09:58", 2))
    world.round()
    assert next_runs() == {"2026-01-31T07:58:00.000Z"}
    world.clock.now = at("2026-01-31T15:57:59")
    assert world.plan()["due"] is None
    world.forward(seconds=1)
    assert (world.plan()["due"], next_runs()) == ("interval", {"2026-01-31T07:58:00.000Z"})
    world.round()
    assert next_runs() == {None}
    world.add(*talk("2026-01-31T15:58", 101, timedelta(seconds=1)))
    world.intake()
    assert (world.plan()["due"], next_runs()) == ("count", {"2026-01-31T07:58:00.000Z"})
