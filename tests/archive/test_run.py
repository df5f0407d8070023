"""The archive run: every due message is written, word for word, to the dated file of its day."""

from __future__ import annotations

import pytest

from recalld.supervisor.storage.control import UNLIMITED, Control
from recalld.supervisor.storage.files import Files
from tests.world import message, talk

# ── due ──────────────────────────────────────────────────────────────────────


def test_archive_reads_the_last_run_from_the_files_after_a_restart(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.round("all")
    world.add(*talk("2026-01-31T09:30", 2))
    world.reopen()
    world.intake()
    assert world.forward(hours=6, milliseconds=-1).why_due() is None
    assert world.forward(milliseconds=1).why_due() == "interval"


# ── a run ────────────────────────────────────────────────────────────────────


@pytest.mark.feature("003.9")
def test_archive_marks_messages_pending_before_it_creates_the_file(world, monkeypatch):
    raws = talk("2026-01-30T09:00", 2)
    world.write(raws)
    world.intake()
    seen = []
    create = Files.create

    def look(self: Files, path: object, data: bytes) -> None:
        seen.append(world.flags())
        create(self, path, data)  # type: ignore[arg-type]

    monkeypatch.setattr(Files, "create", look)
    world.archive()
    assert seen == [["pending", "pending"]]


def test_archive_keeps_a_file_that_a_person_created_under_its_name(world, monkeypatch):
    world.write([message("1", "2026-01-31T09:00", "重启 nginx")])
    world.intake()
    from recalld.supervisor.archive import run as module

    plan_days = module.plan_days

    def plan_and_lose(*args: object) -> object:
        plan = plan_days(*args)  # type: ignore[arg-type]
        for file in plan:
            path = world.paths.dated(file.name)
            if not path.exists():
                path.write_text("我的笔记")
        monkeypatch.setattr(module, "plan_days", plan_days)
        return plan

    monkeypatch.setattr(module, "plan_days", plan_and_lose)
    world.archive(everything=True)
    world.settle()
    assert (world.paths.memory / "2026-01-31-nginx.md").read_text() == "我的笔记"
    assert world.names() == ["2026-01-31-nginx-2.md"]
    assert world.flags() == [True]


def test_archive_stops_after_the_current_file_and_resumes_later(world):
    world.write([raw for day in range(20, 26) for raw in talk(f"2026-01-{day}T09:00", 2)])
    world.intake()
    world.control = Control(lambda: len(world.dated_files()) >= 2)
    world.archive()
    assert len(world.dated_files()) == 2
    assert world.events.of("archived") == [{"messages": 4, "files": 2}]
    world.control = UNLIMITED
    world.reopen()
    world.settle()
    assert len(world.archived()) == 12
    assert len(world.dated_files()) == 6


@pytest.mark.feature("003.5")
def test_archive_reports_an_overflow_once_and_runs_once(world):
    world.reopen(world.toml + "[history]\nhard_cap = 10\nsoft_cap = 8\n")
    world.write([message(f"m{n}", "2026-01-31T09:58", f"第 {n} 句", "assistant") for n in range(11)])
    assert world.round().archived == 11
    assert len(world.events.of("history_overflow")) == 1
    for _ in range(5):
        world.round()
    assert len(world.events.of("history_overflow")) == 1
    assert len(world.dated_files()) == 1
