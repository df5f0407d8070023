"""A summary that a person asks to have rebuilt."""

from __future__ import annotations

import pytest

from recalld.supervisor.storage.errors import BadRequest
from tests.world import message


@pytest.fixture
def filled(world):
    world.write([message("一", "2026-01-20T09:00", "备份脚本改到凌晨四点")])
    world.settle()
    return world


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
