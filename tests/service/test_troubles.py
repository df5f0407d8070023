"""The first lines of `status`: all is well, or what is wrong and the command that mends it."""

from __future__ import annotations

import sys

from supervisor.events import EventLog
from supervisor.protocol.config_keys import Log
from supervisor.service.troubles import verdict
from tests.world import World, message_on, talk, unreachable


def told(world: World) -> list[str]:
    """What is wrong, by `status`; it changes nothing."""
    before = world.tree(internal=True)
    sentences, is_well = verdict(world.ws, world.clock())
    assert world.tree(internal=True) == before
    return [] if is_well else sentences


def log(world: World) -> EventLog:
    """The event log of a supervisor."""
    return EventLog(world.paths.log, world.clock, Log())


def test_verdict_of_a_sound_workspace_says_whether_a_supervisor_runs(world):
    assert verdict(world.ws, world.clock()) == (["all is well; no supervisor runs, `recalld run` starts one."], True)
    with world.files.lock(world.paths.supervisor_lock):
        assert verdict(world.ws, world.clock()) == (["all is well; the supervisor runs."], True)


def test_verdict_names_a_damaged_history_and_what_restores_it(world):
    world.write(talk("2026-01-31T09:58", 2))
    world.round()
    world.write(b"[")
    (sentence,) = told(world)
    assert sentence.startswith("history.json can't be read: ")
    assert sentence.endswith("; `recalld restore` puts it together again.")
    world.restore()
    assert told(world) == []


def test_verdict_names_messages_that_wait_a_day_without_a_supervisor(world):
    world.write(talk("2026-01-31T09:58", 2))
    world.round("none")
    assert told(world) == []
    world.forward(days=1)
    assert told(world) == [
        "messages wait to be written since 2026-01-31 09:58, and no supervisor runs; start one with `recalld run`."
    ]
    with world.files.lock(world.paths.supervisor_lock):
        assert told(world) == []


def test_verdict_names_the_last_summary_that_keeps_failing_in_words(world):
    world.model.script = unreachable
    world.write([*talk("2026-01-10T09:00", 2), *talk("2026-01-11T09:00", 2)])
    world.settle()
    assert told(world) == []
    for hours in (1, 1, 3, 7):
        world.forward(hours=hours)
        world.settle()
    why = "the server did not take the messages"
    mends = "`recalld summary redo 2026-01-11` tries once more."
    assert told(world) == [f"the summary of 2026-01-11 fails again and again: {why}; {mends}"]


def test_verdict_names_what_lasts_by_the_log_of_a_running_supervisor(world):
    events = log(world)
    events.emit("degraded", why="an old one: x.")
    events.emit("started")
    events.emit("degraded", why="a: b; check it.; c: d; check it.")
    events.emit("index_stale", why="e: f; try again.")
    assert told(world) == [], "without a supervisor nobody knows whether it lasts"
    with world.files.lock(world.paths.supervisor_lock):
        assert told(world) == [
            "a: b; check it.",
            "c: d; check it.",
            "new memories are not found for now.",
            "e: f; try again.",
        ]
        events.emit("recovered")
        events.emit("index_fresh")
        world.put("log.jsonl", (world.read("log.jsonl") or b"") + b'{"event": {}, "ts": 1}\n[]\n\xff\n{"ev')
        assert told(world) == []


def test_verdict_names_why_no_model_is_asked_and_until_when(world):
    reason = "the server can't be reached: qwen-test at http://127.0.0.1:9"
    times = {"failedAt": "2026-01-31T01:59:00.000Z", "nextAt": "2026-01-31T02:09:00.000Z"}
    world.ws.task_queue.note_provider({"attempts": 1, **times, "reason": reason, "server": world.ws.endpoint.server})
    assert told(world) == [f"no model writes summaries until 2026-01-31 10:09: {reason}; `recalld model test` asks it now."]
    assert told(world.forward(minutes=10)) == []


def test_verdict_advises_rjieba_once_where_chinese_is_used_without_it(world, monkeypatch):
    def advice():
        sentences, is_well = verdict(world.ws, world.clock())
        assert is_well
        return sentences[1:]

    world.write(talk("2026-01-31T09:58", 4))
    assert advice() == []
    monkeypatch.setitem(sys.modules, "rjieba", None)
    assert advice() == ["Chinese is searched sooner with rjieba, which is not installed: `pip install rjieba`."]
    world.write([message_on("2026-01-31", text="The backup is on the NAS.")])
    assert advice() == []
