"""Faults of the pipeline that a review found, each as a rule that now holds."""

from __future__ import annotations

import json

from tests.world import message


def test_fsck_reports_a_destroyed_original_and_its_summary_is_unchanged(world):
    world.write([message("1", "2026-01-10T09:00", "端口 8443"), message("2", "2026-01-10T09:01", "预算 5350 元")])
    world.settle()
    summary = (world.root / "memory/summary/2026-01-10.md").read_bytes()
    (file,) = (world.root / "memory/originals").rglob("*.md")
    for broken in (b"", b"\0" * 400, file.read_bytes()[:-3]):
        whole = file.read_bytes()
        file.write_bytes(broken)
        assert world.fsck().damage, broken[:20]
        if not broken.strip(b"\0"):
            world.settle()
            assert (world.root / "memory/summary/2026-01-10.md").read_bytes() == summary
        file.write_bytes(whole)
    assert world.fsck().is_sound


def test_fsck_counts_a_block_removed_by_a_person_as_no_damage(world):
    world.write([message("1", "2026-01-30T09:00", "一句要忘记的话"), message("2", "2026-01-30T09:01", "留下的话")])
    world.settle()
    (file,) = (world.root / "memory").glob("2026-01-30-*.md")
    head, _, second = file.read_text(encoding="utf-8").split("<!-- ")
    file.write_text(f"{head}<!-- {second}", encoding="utf-8")
    world.paths.history.write_text("[]", encoding="utf-8")
    ledger = world.fsck()
    assert (ledger.removed, ledger.removed_ids, ledger.is_sound) == (1, ["1"], True)


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
