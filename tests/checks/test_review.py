"""Faults of the pipeline that a review found, each as a rule that now holds."""

from __future__ import annotations

import json

from tests.world import message


def test_archive_skips_messages_another_program_filed_in_a_day_file(world):
    world.note("2026-01-28.md", "# 1月28日\n\n我对花生过敏\n\n- 09:02 user: 改到周五\n")
    world.write(
        [
            {**message("1", "2026-01-28T09:00", "我对花生过敏"), "archived": True},
            {**message("2", "2026-01-28T09:02", "改到周五"), "archived": True},
        ]
    )
    world.settle()
    assert world.archived() == []
    world.paths.history.write_text(json.dumps([]), encoding="utf-8")
    world.round()
    ledger = world.fsck()
    assert (ledger.in_files, ledger.removed, ledger.lost) == (2, 0, [])
