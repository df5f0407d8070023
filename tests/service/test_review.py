"""What a reader with fresh eyes found in the pipeline, each as a sentence that now holds."""

from __future__ import annotations

import json

from supervisor.service.fsck import fsck
from tests.conftest import message


def test_a_file_that_is_being_written_in_place_is_not_damaged(desk):
    desk.write([message("1", "2026-01-30T09:00", "我对花生过敏")])
    desk.settle()
    whole = desk.layout.history.read_bytes()
    desk.layout.history.write_bytes(whole[:40])
    looks = []

    def writer_goes_on(_seconds: float) -> None:
        looks.append(_seconds)
        if len(looks) == 3:
            desk.layout.history.write_bytes(whole)

    desk.ws.files.pause = writer_goes_on
    assert not desk.round().errors
    assert not list(desk.layout.quarantine.glob("history*"))


def test_a_dated_file_that_was_destroyed_is_damage_and_its_summary_stays_as_it_is(desk):
    desk.write([message("1", "2026-01-10T09:00", "端口 8443"), message("2", "2026-01-10T09:01", "预算 5350 元")])
    desk.settle()
    summary = (desk.root / "memory/summary/2026-01-10.md").read_bytes()
    (file,) = (desk.root / "memory/originals").rglob("*.md")
    for broken in (b"", b"\0" * 400, file.read_bytes()[:-3]):
        whole = file.read_bytes()
        file.write_bytes(broken)
        assert fsck(desk.ws).damage, broken[:20]
        if not broken.strip(b"\0"):
            desk.settle()
            assert (desk.root / "memory/summary/2026-01-10.md").read_bytes() == summary
        file.write_bytes(whole)
    assert fsck(desk.ws).is_sound


def test_a_block_that_a_person_took_out_is_named_and_is_no_damage(desk):
    desk.write([message("1", "2026-01-30T09:00", "一句要忘记的话"), message("2", "2026-01-30T09:01", "留下的话")])
    desk.settle()
    (file,) = (desk.root / "memory").glob("2026-01-30-*.md")
    head, _, second = file.read_text(encoding="utf-8").split("<!-- ")
    file.write_text(f"{head}<!-- {second}", encoding="utf-8")
    desk.layout.history.write_text("[]", encoding="utf-8")
    ledger = fsck(desk.ws)
    assert (ledger.removed, ledger.removed_ids, ledger.is_sound) == (1, ["1"], True)


def test_words_that_another_program_filed_under_the_bare_day_are_not_written_again(desk):
    (desk.root / "memory/2026-01-28.md").write_text("# 1月28日\n\n我对花生过敏\n\n- 09:02 user: 改到周五\n", encoding="utf-8")
    desk.write(
        [
            {**message("1", "2026-01-28T09:00", "我对花生过敏"), "archived": True},
            {**message("2", "2026-01-28T09:02", "改到周五"), "archived": True},
        ]
    )
    desk.settle()
    assert desk.filed() == []
    desk.layout.history.write_text(json.dumps([]), encoding="utf-8")
    desk.round()
    ledger = fsck(desk.ws)
    assert (ledger.in_files, ledger.removed, ledger.lost) == (2, 0, [])


def test_a_round_does_no_further_step_once_it_was_told_to_stop(desk):
    desk.write([message("1", "2026-01-28T09:00", "我对花生过敏")])
    desk.ws.should_stop = lambda: True
    assert desk.round("all").did == 0
    desk.ws.should_stop = lambda: False
    desk.settle()
    assert len(desk.filed()) == 1
