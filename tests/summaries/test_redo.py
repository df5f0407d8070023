"""A summary that a person asks to have made anew."""

from __future__ import annotations

import pytest

from supervisor.protocol.errors import BadRequest, NewerFormat, NotFound
from tests.world import message


@pytest.fixture
def filled(world):
    world.write([message("一", "2026-01-20T09:00", "备份脚本改到凌晨四点")])
    world.settle()
    return world


def test_a_summary_is_made_anew_from_everything_and_stands_until_then(filled):
    before = filled.summary("2026-01-20")
    filled.model.requests.clear()
    filled.model.script = lambda _task, _blocks: "## 备份\n\n备份脚本改到凌晨四点，另写一遍。"
    assert filled.redo("2026-01-20") == "day-2026-01-20"
    assert filled.summary("2026-01-20") == before
    filled.settle()
    assert "另写一遍" in filled.summary("2026-01-20")
    assert [(task.redo, task.previous) for task, _ in filled.model.requests] == [(True, "")]


def test_one_that_is_asked_for_twice_is_made_once(filled):
    filled.model.requests.clear()
    for _ in range(2):
        filled.redo("2026-01-20")
    filled.settle()
    assert len(filled.model.requests) == 1


def test_one_that_fails_leaves_what_stood(filled):
    before = filled.summary("2026-01-20")
    filled.model.script = lambda _task, _blocks: "抱歉，我无法回答这个问题。"
    filled.redo("2026-01-20")
    filled.settle()
    assert filled.summary("2026-01-20") == before


def test_what_is_no_period_and_what_has_no_files_is_refused(filled):
    with pytest.raises(BadRequest, match="昨天"):
        filled.redo("昨天")
    with pytest.raises(NotFound, match="2025-06"):
        filled.redo("2025-06")


def test_where_a_newer_recalld_works_no_task_is_queued(filled):
    filled.layout.seen.write_text('{"recalld": 2}\n')
    with pytest.raises(NewerFormat):
        filled.redo("2026-01-20")
    assert not filled.ws.spool.in_flight()
