"""`status`: its first lines, all is well, or what is wrong and the command that mends it; the state; and what the next run would do."""

import base64
import json
import os
from datetime import timedelta
from types import SimpleNamespace

import pytest

from recalld.supervisor.events import Events
from recalld.supervisor.protocol.config_keys import Log
from recalld.supervisor.storage.errors import BadConfig, BadFile, Busy
from recalld.supervisor.storage.texts import Text, render
from tests.world import World, at, message_on, talk, unreachable

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


def told(world: World) -> list[str]:
    """What is wrong, by `status`; it changes nothing."""
    before = world.tree(internal=True)
    sentences, is_well = world.verdict()
    assert world.tree(internal=True) == before
    return [] if is_well else sentences


def log(world: World) -> Events:
    """The event log of a supervisor."""
    return Events(world.paths.log, world.clock, Log())


@pytest.mark.parametrize("runs", ["none", "all"], ids=["unfiled", "filed"])
def test_fsck_names_pictures_that_are_gone_until_they_are_back(world, runs):
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    words = message_on("2026-01-31", text="It says attachments/00000000000000000000000000000000.png there.", id="w")
    parts = [{"type": "text", "text": "看这张照片"}, {"type": "image_url", "image_url": {"url": url}}]
    world.write([words, message_on("2026-01-31", content=parts, id="p") | {"text": None}])
    world.round(runs)
    assert told(world) == []
    (picture,) = (world.root / "attachments").iterdir()
    picture.unlink()
    (damage,) = world.fsck().damage
    assert damage.startswith(f"attachments/{picture.name} is gone, and ")
    world.repair()
    assert world.fsck().is_sound


@pytest.mark.parametrize(
    ("size_mib", "free_mib", "is_told", "is_well"),
    [
        (100_000, 300, False, True),
        (100_000, 200, True, True),
        (100_000, 10, True, False),
        (40, 12, False, True),
        (40, 3, True, True),
        (40, 1, True, False),
    ],
)
def test_verdict_names_a_disk_that_is_full_or_nearly_full(world, monkeypatch, size_mib, free_mib, is_told, is_well):
    size, free = (mib << 10 for mib in (size_mib, free_mib))
    monkeypatch.setattr(
        os, "statvfs", lambda _: SimpleNamespace(f_bavail=free, f_frsize=1024, f_blocks=size, f_files=0, f_flag=0)
    )
    sentences, found_well = world.verdict()
    sentence = f"the disk of {world.root} has only {free_mib} MiB free; make room, `df -h {world.root}` shows the disk."
    assert (sentence in sentences, found_well) == (is_told, is_well)


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


def test_verdict_names_in_chinese_what_was_refused(world):
    """The log keeps with the English what makes it Chinese again."""
    log(world).emit("config_refused", why=BadConfig("recall.max_hits", Text("it is not UTF-8")).sentence)
    log(world).report("rounds", [BadFile("inbox.json", Text("it is not UTF-8")), Busy("history.json", 2)])
    with world.files.lock(world.paths.supervisor_lock):
        said = [render(sentence, "zh") for sentence in world.verdict()[0]]
    assert "仍用之前的配置：recall.max_hits：它不是 UTF-8" in said[0]
    assert said[1].startswith("有一步没做成，recalld 会等待并重试：history.json 正被")
    assert "、inbox.json 读不了：它不是 UTF-8；" in said[1]


def test_verdict_names_what_lasts_by_the_log_of_a_running_supervisor(world):
    events = log(world)
    events.emit("degraded", why="an old one: x.")
    events.emit("started")
    events.emit("degraded", why="a: b; check it.; c: d; check it.")
    events.emit("index_stale", why="e: f; try again.")
    assert told(world) == [], "without a supervisor nobody knows whether it lasts"
    with world.files.lock(world.paths.supervisor_lock):
        assert told(world) == [
            "a step is refused; recalld waits and tries it again: a: b; check it.; c: d; check it.",
            "the index can't be updated; new memories are not found until it can: e: f; try again.",
        ]
        events.emit("recovered")
        events.emit("index_fresh")
        world.put("log.jsonl", (world.read("log.jsonl") or b"") + b'{"event": {}, "ts": 1}\n[]\n\xff\n{"ev')
        assert told(world) == []


def test_verdict_waits_a_day_for_a_message_that_says_an_old_time(world):
    world.add(*talk("2026-01-10T09:00", 2))
    os.utime(world.paths.history_lock, (world.clock().timestamp(),) * 2)
    assert told(world.forward(hours=23)) == [], "the workspace is new"
    assert ["wait to be written since 2026-01-31 10:00" in one for one in told(world.forward(hours=2))] == [True]
    world.round("all")
    world.add(*talk("2026-01-12T09:00", 2))
    assert told(world) == [], "all was filed a moment ago"


def test_verdict_names_why_no_model_is_asked_and_until_when(world):
    reason = "the server can't be reached: qwen-test at http://127.0.0.1:9"
    times = {"failedAt": "2026-01-31T01:59:00.000Z", "nextAt": "2026-01-31T02:09:00.000Z"}
    world.ws.task_queue.record("provider", {"attempts": 1, **times, "reason": reason, "server": world.ws.endpoint.server})
    assert told(world) == [f"no model writes summaries until 2026-01-31 10:09: {reason}; `recalld model test` asks it now."]
    assert told(world.forward(minutes=10)) == []


def test_verdict_tells_that_the_long_term_file_is_none(world):
    (world.root / "memory.md").mkdir()
    (sentence,) = told(world)
    assert "memory.md" in sentence
    assert "it is a link, a folder or another thing that is not a regular file" in sentence


# ── the state, and the plan ──────────────────────────────────────────────────────


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
    world.write(b"[")
    assert {world.status()["unwritten"], *world.status()["history"].values()} == {None}, (
        "a file that can't be read has no count"
    )


def test_plan_lists_the_month_instead_of_its_days_on_the_first(world):
    world.write([*talk("2025-12-10T09:00", 2), *talk("2025-12-20T09:00", 2)])
    calls = {one["group"]: one["calls"] for one in world.plan()["summaries"]}
    assert calls == {"day-2025-12-20": 1, "day-2025-12-10": 1}, "also of days that the run itself files first"
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
