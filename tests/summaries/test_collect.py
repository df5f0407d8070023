"""Collecting results: judged, written beside the originals, and only then removed from the queue."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from recalld.supervisor.protocol.summary_file import Source
from recalld.supervisor.protocol.task import Result, Task, parse_task, render_result
from recalld.supervisor.storage.clock import to_wire
from tests.world import GOOD_SUMMARY, World, message_on, unreachable

WAITS = (10, 30, 120, 360, 720, 1440, 1440)  # minutes; then one try a day


def failing(world: World) -> None:
    world.model.script = unreachable
    world.write([message_on("2026-01-10")])
    world.settle()


def submitted(world: World) -> Task:
    """The task of a day with one message."""
    world.write([message_on("2026-01-10")])
    world.round("all")
    (path,) = world.ws.task_queue.queue.iterdir()
    return parse_task(path.read_bytes())


def deliver(world: World, result: Result) -> Path:
    path = world.ws.task_queue.results / f"{result.id}.json"
    path.write_bytes(render_result(result))
    return path


def done(task: Task, text: str) -> Result:
    return Result(
        id=task.id,
        status="done",
        text=text,
        provider="scribe",
        group=task.group,
        sources=task.sources,
        previous_digest=task.previous_digest,
        attempt=task.attempt,
    )


def test_collect_deletes_a_result_and_drops_it_when_it_reappears(world):
    submitted(world)
    world.work()
    (path,) = world.ws.task_queue.finished()
    data = path.read_bytes()
    world.round("all")
    assert not path.exists()
    before = world.tree()
    path.write_bytes(data)  # a crash before the deletion was durable
    world.settle()
    assert world.tree() == before
    assert world.events.of("dropped") == [{"group": "day-2026-01-10"}]


# ── success ──────────────────────────────────────────────────────────────────


# ── failure ──────────────────────────────────────────────────────────────────


@pytest.mark.feature("003.12")
def test_collect_backs_off_exactly_and_reports_the_fifth_failure_once(world):
    """10 min, 30 min, 2 h, 6 h, 12 h; archive_backlog; then one try a day."""
    failing(world)
    for attempts, minutes in enumerate(WAITS, 1):
        failure = world.ws.failures()["day-2026-01-10"]
        assert (failure.attempts, failure.failed_at) == (attempts, world.clock())
        assert failure.next_at - failure.failed_at == timedelta(minutes=minutes)
        asked = len(world.model.requests)
        world.clock.now = failure.next_at - timedelta(milliseconds=1)
        world.settle()
        assert len(world.model.requests) == asked
        world.clock.now = failure.next_at
        world.settle()
        assert len(world.model.requests) == asked + 1
    assert world.events.of("archive_backlog") == [{"group": "day-2026-01-10", "attempts": 5}]
    assert [told["attempts"] for told in world.events.of("summary_failed")] == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(("said", "failed"), [("早上好呀，今天也要加油。", ["day-2026-01-10"]), ("好的", [])])
def test_collect_takes_nothing_to_record_for_small_talk_alone(world, said, failed):
    world.model.script = lambda *_: "没有值得记录的信息"
    world.write([message_on("2026-01-10", text=said)])
    world.settle()
    assert [*world.ws.failures()] == failed
    assert "没有值得记录的信息" not in world.summary("2026-01-10")


@pytest.mark.feature("003.26")
def test_reclaim_counts_no_failure_for_an_interrupted_worker(world):
    """An interrupted restart must not count as a failure."""
    submitted(world)
    assert world.ws.task_queue.claim()
    for _ in range(5):
        world.reopen()
    assert world.ws.failures() == {}
    world.settle()
    assert world.summaries() == ["2026-01-10"]


# ── what may not stand ───────────────────────────────────────────────────────


def test_collect_discards_an_invalid_result_when_quarantine_is_full(world):
    task = submitted(world)
    for n in range(world.ws.config.care.quarantine_limit):
        world.ws.quarantine.keep("result", f"[第 {n} 个坏结果".encode())
    (world.ws.task_queue.results / f"{task.id}.json").write_text("[半个结果")
    world.settle()
    assert world.summaries() == ["2026-01-10"]
    assert [told["copy"] for told in world.events.of("file_quarantined")] == [False]


def test_submit_replaces_a_task_that_a_person_damaged(world):
    submitted(world)
    (path,) = world.ws.task_queue.queue.iterdir()
    path.write_text("{}")
    world.settle()
    assert world.summaries() == ["2026-01-10"]


# ── narrower, wider ──────────────────────────────────────────────────────────


def test_collect_rejects_sources_that_its_task_did_not_have(world):
    task = submitted(world)
    more = (*task.sources, Source("2026-01-10-secret.md", "0" * 16, 1))
    deliver(world, replace(done(task, GOOD_SUMMARY), sources=more))
    world.round("all")
    assert "secret" not in "".join(world.summary(label) for label in world.summaries())
    world.model.script = lambda _task, _blocks: GOOD_SUMMARY
    world.clock.forward(minutes=10)
    world.settle()
    assert world.flags() == [True]


def test_collect_counts_no_failure_when_a_person_deletes_material(world):
    world.write([message_on("2026-01-10"), message_on("2026-01-10", "pnpm")])
    world.round("all")
    world.add(message_on("2026-01-10", "docker"))
    world.round("all")
    gone = next(path for path in (world.root / "memory").glob("2026-01-10-*.md") if "nginx" in path.name)
    gone.unlink()
    world.settle()
    assert world.ws.failures() == {}
    assert "2026-01-10-docker" in world.summary("2026-01-10")


# ── a person's summaries ─────────────────────────────────────────────────────


def test_collect_does_not_overwrite_a_summary_that_is_saved_meanwhile(world, monkeypatch):
    submitted(world)
    world.work()
    store = type(world.ws.memory)
    read = store.read_summary
    path = world.root / "memory" / "summary" / "2026-01-10.md"
    saved: list[int] = []

    def read_then_save(self, period):  # type: ignore[no-untyped-def]
        found = read(self, period)
        if not saved:
            saved.append(path.write_text("我刚保存的"))
        return found

    monkeypatch.setattr(store, "read_summary", read_then_save)
    world.round("all")
    assert path.read_text() == "我刚保存的"
    world.settle()
    assert path.read_text().startswith("我刚保存的\n<!-- recalld:")


def two_tasks(world: World) -> list[Task]:
    world.write([message_on("2026-01-10"), message_on("2026-01-11", "docker")])
    world.round("all")
    return [parse_task(path.read_bytes()) for path in sorted(world.ws.task_queue.queue.iterdir())]


def test_collect_keeps_a_provider_pause_when_an_earlier_call_succeeds(world):
    first, second = two_tasks(world)
    world.clock.forward(minutes=1)
    world.clock.now += timedelta(microseconds=77)
    began = to_wire(world.clock() - timedelta(seconds=30))
    failed = replace(done(first, ""), status="failed", reason="provider", error="429", retry_after_s=36_000)
    deliver(world, failed)
    deliver(world, replace(done(second, GOOD_SUMMARY), started_at=began))
    world.round()
    assert world.standing() == ["2026-01-11"]
    assert world.provider_state().attempts == 1
    deliver(world, replace(done(second, GOOD_SUMMARY), started_at=""))
    world.round()
    assert world.provider_state().next_at is not None


@pytest.mark.parametrize("odd", [{"name": "\ud800"}, {"name": "../x.md"}, {"count": -1}, {"count": 10**10}, {"digest": "哼"}])
def test_collect_quarantines_a_result_with_invalid_sources(world, odd):
    task = submitted(world)
    data = json.loads(render_result(done(task, GOOD_SUMMARY)))
    data["sources"].append({"name": "2026-01-10-x.md", "digest": "0123456789abcdef", "count": 1, **odd})
    (world.ws.task_queue.results / f"{task.id}.json").write_text(json.dumps(data))
    world.settle()
    assert len(world.events.of("file_quarantined")) == 1
    assert world.summaries() == ["2026-01-10"]
