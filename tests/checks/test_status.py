"""The state of the workspace, and what the next run would do."""

from __future__ import annotations

import json
from datetime import timedelta

from tests.world import WITHOUT_MODEL, World, at, message, talk, unreachable


def asked(world: World) -> tuple[dict[str, object], dict[str, object]]:
    before = world.tree(internal=True)
    found = world.status(), world.plan()
    assert world.tree(internal=True) == before, "it changes nothing"
    json.dumps(found)
    return found


def test_status_and_plan_report_an_empty_workspace(world):
    state, ahead = asked(world)
    assert (state["unwritten"], state["oldestUnwritten"], state["oldestUnsummarised"], state["trouble"]) == (
        0,
        None,
        None,
        None,
    )
    assert (ahead["due"], ahead["dated"], ahead["summaries"]) == (None, [], [])
    assert state["supervisor"] == "not running"


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


def test_status_counts_flags_files_and_summaries(world):
    world.write([*talk("2026-01-10T09:00", 2), *talk("2025-11-10T09:00", 2), *talk("2026-01-30T09:00", 2), 7])
    world.settle()
    state, _ = asked(world)
    assert state["history"] == {"messages": 6, "false": 0, "pending": 0, "true": 6, "odd": 1}
    assert (state["datedFiles"], state["covered"], state["dailySummaries"], state["monthlySummaries"]) == (3, 2, 1, 1)


def test_status_counts_the_queue_by_folder(world):
    world.write([*talk("2026-01-10T09:00", 2), *talk("2026-01-11T09:00", 2), *talk("2026-01-12T09:00", 2)])
    world.round("all")
    world.ws.task_queue.claim()
    state, _ = asked(world)
    assert state["queue"] == {"queue": 2, "running": 1, "results": 0}


def test_status_reports_a_running_supervisor(world):
    with world.files.lock(world.paths.supervisor_lock):
        assert world.status()["supervisor"] == "running"


def test_status_reports_a_damaged_history_in_one_sentence(world):
    world.write(b"[")
    state = world.status()
    assert "history.json can't be read" in str(state["trouble"])


# ── the plan ─────────────────────────────────────────────────────────────────


def test_plan_names_the_files_that_the_run_then_creates(world):
    world.write([message("0", "2026-01-20T09:00", "重启 nginx")])
    world.settle()
    world.add(message("1", "2026-01-20T09:00", "又重启 nginx"), *talk("2026-01-30T09:00", 3), *talk("2026-01-29T09:00", 2))
    before = set(world.dated_files())
    ahead = world.plan(everything=True)
    world.round("all")
    made = {path.rpartition("/")[2]: len(blocks) for path, blocks in world.dated_files().items() if path not in before}
    assert {one["file"]: one["messages"] for one in ahead["dated"]} == made
    assert len(made) == 3


def test_plan_foretells_the_summaries_that_the_run_submits(world):
    world.write([*talk("2026-01-10T09:00", 2), *talk("2026-01-12T09:00", 3), *talk("2026-01-31T03:00", 2)])
    ahead = world.plan(everything=True)
    world.round("all")
    assert {one["group"] for one in ahead["summaries"]} == set(world.ws.task_queue.active_groups())
    assert [one["messages"] for one in ahead["summaries"]] == [3, 2]


def test_plan_skips_a_file_name_that_was_used_before(world):
    world.write([message("0", "2026-01-20T09:00", "重启 nginx")])
    world.settle()
    (world.root / next(iter(world.dated_files()))).unlink()
    world.paths.seen.unlink()
    world.reopen()
    world.write([message("1", "2026-01-20T09:00", "又重启 nginx")])
    ahead = world.plan(everything=True)
    world.round("all")
    assert (
        [one["file"] for one in ahead["dated"]]
        == [path.rpartition("/")[2] for path in world.dated_files()]
        == ["2026-01-20-nginx-2.md"]
    )


def test_plan_reports_why_a_run_is_due_and_what_it_would_summarize(world):
    world.write([*talk("2026-01-10T09:00", 2), *talk("2026-01-31T03:00", 2)])
    world.round("none")
    assert world.plan()["due"] == "interval"
    world.round("all")
    _, ahead = asked(world)
    (one,) = ahead["summaries"]  # type: ignore[misc]
    assert (one["group"], one["files"], one["messages"], one["inFlight"], one["waitsUntil"]) == (
        "day-2026-01-10",
        1,
        2,
        True,
        None,
    )


def test_plan_reports_until_when_a_group_waits_for_its_retry(world):
    world.model.script = unreachable
    world.write(talk("2026-01-10T09:00", 2))
    world.settle()
    (one,) = world.plan()["summaries"]
    assert one["waitsUntil"] == "2026-01-31T02:10:00.000Z"
    (one,) = world.forward(minutes=10).plan()["summaries"]
    assert one["waitsUntil"] is None


def test_plan_lists_the_month_instead_of_its_days_on_the_first(world):
    world.write([*talk("2025-12-10T09:00", 2), *talk("2025-12-20T09:00", 2)])
    world.round("all")
    assert [one["group"] for one in world.plan()["summaries"]] == ["day-2025-12-20", "day-2025-12-10"]
    assert [one["group"] for one in world.forward(days=1).plan()["summaries"]] == ["month-2025-12"]


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


def test_plan_names_the_end_of_the_wait_where_open_questions_alone_are_due(world):
    world.reopen(f"{WITHOUT_MODEL}interval = '1m'\n")
    world.add(message("m1", "2026-01-31T09:50", "虾我能吃吗？"), message("m2", "2026-01-31T09:52", "那鱼呢？", session="群"))
    world.intake()
    world.clock.now = at("2026-01-31T09:55")
    assert world.why_due() == "interval"
    assert (world.archive(), world.plan()["due"], world.plan()["dated"]) == (0, None, [])
    assert {found["nextRun"] for found in asked(world)} == {"2026-01-31T02:00:00.000Z"}
    world.clock.now = at("2026-01-31T10:00")
    assert (world.plan()["due"], world.plan()["dated"][0]["messages"], world.archive()) == ("interval", 1, 1)
