"""A summary that a person asks to have made anew."""

from __future__ import annotations

import pytest

from supervisor.protocol.errors import BadRequest, NewerFormat, NotFound
from supervisor.summaries.submit import redo
from tests.conftest import message


@pytest.fixture
def told(desk):
    desk.write([message("一", "2026-01-20T09:00", "备份脚本改到凌晨四点")])
    desk.settle()
    return desk


def test_a_summary_is_made_anew_from_everything_and_stands_until_then(told):
    before = told.summary("2026-01-20")
    told.scribe.asked.clear()
    told.scribe.script = lambda _task, _blocks: "## 备份\n\n备份脚本改到凌晨四点，另写一遍。"
    assert redo(told.ws, "2026-01-20", told.clock()) == "day-2026-01-20"
    assert told.summary("2026-01-20") == before
    told.settle()
    assert "另写一遍" in told.summary("2026-01-20")
    assert [(task.redo, task.previous) for task, _ in told.scribe.asked] == [(True, "")]


def test_one_that_is_asked_for_twice_is_made_once(told):
    told.scribe.asked.clear()
    for _ in range(2):
        redo(told.ws, "2026-01-20", told.clock())
    told.settle()
    assert len(told.scribe.asked) == 1


def test_one_that_fails_leaves_what_stood(told):
    before = told.summary("2026-01-20")
    told.scribe.script = lambda _task, _blocks: "抱歉，我无法回答这个问题。"
    redo(told.ws, "2026-01-20", told.clock())
    told.settle()
    assert told.summary("2026-01-20") == before


def test_what_is_no_period_and_what_has_no_files_is_refused(told):
    with pytest.raises(BadRequest, match="昨天"):
        redo(told.ws, "昨天", told.clock())
    with pytest.raises(NotFound, match="2025-06"):
        redo(told.ws, "2025-06", told.clock())


def test_where_a_newer_recalld_works_no_task_is_queued(told):
    told.layout.seen.write_text('{"recalld": 2}\n')
    with pytest.raises(NewerFormat):
        redo(told.ws, "2026-01-20", told.clock())
    assert not told.ws.spool.in_flight()
