"""A summary that a person asks to have rebuilt."""

from __future__ import annotations

import pytest

from recalld.supervisor.storage.errors import BadRequest, NewerFormat
from tests.world import message


@pytest.fixture
def filled(world):
    world.write([message("一", "2026-01-20T09:00", "备份脚本改到凌晨四点")])
    world.settle()
    return world


def test_submit_again_reads_all_files_and_keeps_the_old_summary_meanwhile(filled):
    before = filled.summary("2026-01-20")
    filled.model.requests.clear()
    filled.model.script = lambda _task, _blocks: "## 备份\n\n备份脚本改到凌晨四点，另写一遍。"
    assert filled.redo("2026-01-20") == "day-2026-01-20"
    assert filled.summary("2026-01-20") == before
    filled.settle()
    assert "另写一遍" in filled.summary("2026-01-20")
    assert [(task.redo, task.previous) for task, _ in filled.model.requests] == [(True, "")]


def test_submit_again_makes_one_summary_when_called_twice(filled):
    filled.model.requests.clear()
    for _ in range(2):
        filled.redo("2026-01-20")
    filled.settle()
    assert len(filled.model.requests) == 1


def test_submit_again_refuses_an_invalid_period_and_one_without_files(filled):
    with pytest.raises(BadRequest, match="昨天"):
        filled.redo("昨天")
    with pytest.raises(BadRequest, match="memory has no dated file of 2025-06, so there is nothing"):
        filled.redo("2025-06")


def test_submit_again_queues_nothing_when_the_journal_format_is_newer(filled):
    filled.paths.seen.write_text('{"recalld": 2}\n')
    with pytest.raises(NewerFormat):
        filled.redo("2026-01-20")
    assert not filled.ws.task_queue.active_groups()
