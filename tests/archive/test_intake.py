"""The first look: what has come gets a name, is remembered, and is found again if another program loses it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from supervisor.archive.intake import intake, unwritten
from supervisor.protocol.message import words_digest
from supervisor.service.fsck import fsck
from tests.conftest import Desk, message, talk


def meet(desk: Desk) -> int:
    return intake(desk.ws, desk.clock())


def without(raws: list[Any], *fields: str) -> list[Any]:
    return [{k: v for k, v in raw.items() if k not in fields} for raw in raws]


def texts(desk: Desk) -> list[str]:
    return [text for _, text in desk.filed()]


# ── names ────────────────────────────────────────────────────────────────────


def test_a_message_without_id_and_time_gets_both_once(desk):
    desk.write([{"role": "user", "text": "我对花生过敏"}])
    assert meet(desk) == 1
    (first,) = desk.history()
    assert (first["id"][:2], first["createdAt"], first["createdAtFound"]) == ("m-", "2026-01-31T02:00:00.000Z", None)
    desk.clock.forward(hours=1)
    assert meet(desk) == 0
    assert desk.history() == [first]
    assert desk.told.of("seen") == [{"messages": 1, "written_elsewhere": 0}]


@pytest.mark.parametrize("timed", [True, False])
def test_a_writer_that_strips_ids_at_every_turn_has_every_message_written_once(desk, timed):
    """It holds its own list in memory, and trims it never; recalld trims."""
    desk.reopen(desk.toml + "[history]\nsoft_cap = 30\nhard_cap = 40\n")
    held: list[Any] = []
    for turn in range(40):
        now = desk.clock.forward(hours=7)
        pair = [{"role": "user", "text": f"第 {turn} 个问题"}, {"role": "assistant", "text": "好的。"}]
        held += [{**raw, "createdAt": now.isoformat()} for raw in pair] if timed else pair
        desk.write(held)
        desk.round("all")
    questions = [text for text in texts(desk) if text.startswith("第")]
    assert sorted(questions) == sorted(f"第 {turn} 个问题" for turn in range(40))
    assert texts(desk).count("好的。") == 40


def test_a_writer_that_reads_back_what_recalld_left_adds_to_it(desk):
    desk.reopen(desk.toml + "[history]\nsoft_cap = 30\nhard_cap = 40\n")
    for turn in range(40):
        desk.clock.forward(hours=7)
        left = without(desk.history(), "id", "createdAt", "createdAtFound", "archived")
        desk.write([*left, {"role": "user", "text": "早"}, {"role": "assistant", "text": f"第 {turn} 天好。"}])
        desk.round("all")
    assert texts(desk).count("早") == 40
    assert len(set(texts(desk))) == 41


def test_equal_ids_with_other_words_are_all_kept(desk):
    desk.write(
        [
            message("1", "2026-01-31T09:00", "周四"),
            message("1", "2026-01-31T09:01", "周五"),
            message("1", "2026-01-31T09:02", "周四"),
        ]
    )
    desk.settle()
    assert desk.filed() == [("1", "周四"), (f"1~{words_digest('周五')[:8]}", "周五")]
    assert desk.flags() == [True, True, True]


def test_an_assistant_that_streams_is_written_once_as_it_ended(desk):
    """4H, 14: a revision at each look."""
    question = message("q", "2026-01-31T09:59", "怎么备份？")
    for text in ("用", "用 rsync", "用 rsync，每天三点。"):
        desk.write([question, message("a", "2026-01-31T10:00", text, "assistant")])
        desk.round()
    desk.settle()
    assert desk.filed() == [("a", "用 rsync，每天三点。"), ("q", "怎么备份？")]


def test_words_that_change_after_they_were_written_are_a_revision_and_history_keeps_its_id(desk):
    """H14."""
    desk.write([message("1", "2026-01-31T09:00", "改到周四")])
    desk.settle()
    desk.write([{**desk.history()[0], "text": "改到周五"}])
    desk.settle()
    assert desk.filed() == [("1", "改到周四"), (f"1~{words_digest('改到周五')[:8]}", "改到周五")]
    assert [raw["id"] for raw in desk.history()] == ["1"]
    desk.settle()
    assert len(desk.filed()) == 2


def test_an_id_that_looks_like_a_revision_is_an_id_like_any_other(desk):
    text = "我对花生过敏"
    desk.write([message(f"1~{words_digest(text)[:8]}", "2026-01-31T09:00", text)])
    desk.settle()
    desk.clock.forward(hours=7)
    desk.settle()
    assert len(desk.filed()) == 1
    assert desk.flags() == [True]


# ── lost and put back ────────────────────────────────────────────────────────


def test_unwritten_words_that_another_program_loses_are_put_back_once_in_their_place(desk):
    """H27."""
    raws = talk("2026-01-31T09:00", 4)
    desk.write(raws)
    meet(desk)
    desk.write([raws[0], raws[3]])
    meet(desk)
    assert [raw["id"] for raw in desk.history()] == [raw["id"] for raw in raws]
    assert desk.told.of("put_back")[0]["messages"] == 2
    desk.write([raws[0], raws[3]])
    meet(desk)
    assert [raw["id"] for raw in desk.history()] == [raws[0]["id"], raws[3]["id"]]
    assert len(desk.told.of("put_back")) == 1


def test_words_of_one_moment_go_back_in_the_order_in_which_they_were_met(desk):
    raws = [message(f"话-{n}", "2026-01-31T09:00", f"同一刻的第 {n} 句") for n in range(4)]
    desk.write(raws)
    meet(desk)
    desk.write([raws[1], raws[3]])
    meet(desk)
    assert [raw["id"] for raw in desk.history()] == [raw["id"] for raw in raws]


def test_words_that_are_lost_again_are_archived_from_the_journal_s_copy(desk):
    raws = talk("2026-01-31T09:00", 4)
    desk.write(raws)
    meet(desk)
    for _ in range(3):
        desk.write(raws[:1])
        meet(desk)
    assert len(unwritten(desk.ws, desk.ws.history.read())) == 4
    desk.settle()
    assert sorted(texts(desk)) == sorted(raw["text"] for raw in raws)
    assert len(desk.history()) == 1


def test_what_was_written_and_trimmed_by_another_program_is_not_put_back(desk):
    """4H, 12: a loop with a program that has a cap of its own."""
    raws = talk("2026-01-31T09:00", 6)
    desk.write(raws)
    desk.settle()
    before = desk.filed()
    desk.write(desk.history()[-2:])
    desk.settle()
    assert len(desk.history()) == 2
    assert desk.told.of("put_back") == []
    assert desk.filed() == before


def test_a_crash_between_the_journal_and_history_costs_no_words(desk):
    raws = talk("2026-01-31T09:00", 2)
    desk.write(raws)
    meet(desk)
    desk.write([])
    desk.ws.seen.refresh()
    desk.ws.seen.put_back(list(desk.ws.seen.unwritten))  # and dead before it was done
    desk.reopen()
    desk.settle()
    assert sorted(texts(desk)) == sorted(raw["text"] for raw in raws)


# ── what cannot be understood ────────────────────────────────────────────────


def test_a_message_that_cannot_be_understood_stays_is_told_once_and_stops_nothing(desk):
    """A34, I6."""
    odd: list[Any] = [None, 7, "一句话", [], {}, {"role": "user", "text": None}, {"id": [], "role": "user", "text": "好"}]
    raws = talk("2026-01-31T09:00", 2)
    desk.write([*odd[:3], raws[0], *odd[3:], raws[1]])
    for _ in range(3):
        desk.settle()
    assert [raw for raw in desk.history() if raw in odd] == odd
    assert [raw["archived"] for raw in desk.history() if isinstance(raw, dict) and "createdAt" in raw] == [True, True]
    assert len(desk.told.of("message_odd")) == len(odd)
    copies = [path.read_text() for path in desk.layout.quarantine.iterdir()]
    assert sorted(copies) == sorted(json.dumps(raw, ensure_ascii=False) for raw in odd)


# ── a workspace that another program kept ────────────────────────────────────


def adopted(desk: Desk, note: str, text: str = "我对花生过敏") -> None:
    (desk.layout.memory / "2026-01-30-allergy.md").write_text(note)
    desk.write(
        [
            message("1", "2026-01-30T09:00", text, archived=True),
            message("2", "2026-01-30T09:01", "好的，记住了", "assistant", archived=True),
        ]
    )
    desk.settle()


def test_a_true_message_that_stands_in_a_file_of_its_day_counts_as_written(desk):
    adopted(desk, "# 过敏\n\n- user: 我对花生过敏\n- assistant: 好的，记住了\n")
    assert desk.filed() == []
    assert desk.flags() == [True, True]
    assert desk.told.of("seen") == [{"messages": 2, "written_elsewhere": 2}]


def test_a_true_message_that_stands_nowhere_is_written_once_and_stays_true(desk):
    adopted(desk, "# 过敏\n\n- user: 我对花生过敏\n")
    assert texts(desk) == ["好的，记住了"]
    assert desk.flags() == [True, True]
    desk.settle()
    assert texts(desk) == ["好的，记住了"]


def test_adoption_is_decided_once_whatever_happens_to_the_note(desk):
    adopted(desk, "- 我对花生过敏\n- 好的，记住了\n")
    (desk.layout.memory / "2026-01-30-allergy.md").unlink()
    desk.settle()
    assert desk.filed() == []


def test_a_note_of_another_day_adopts_nothing(desk):
    (desk.layout.memory / "2026-01-29-allergy.md").write_text("- 我对花生过敏\n")
    desk.write([message("1", "2026-01-30T09:00", "我对花生过敏", archived=True)])
    desk.settle()
    assert texts(desk) == ["我对花生过敏"]


def test_the_note_itself_is_never_written_or_moved(desk):
    note = "# 过敏\n\n- user: 我对花生过敏\n"
    adopted(desk, note)
    desk.clock.forward(days=60)
    desk.settle()
    assert (desk.layout.memory / "2026-01-30-allergy.md").read_text() == note
    assert "2026-01-30-allergy.md" in desk.summary("2026-01")


# ── the drop-box ─────────────────────────────────────────────────────────────


def drop(desk: Desk, name: str, content: Any) -> None:
    data = content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode()
    (desk.layout.drop_box / name).write_bytes(data)


def left(desk: Desk) -> list[str]:
    return sorted(path.name for path in desk.layout.drop_box.iterdir())


def test_a_message_in_the_drop_box_comes_into_history_and_its_file_goes(desk):
    drop(desk, "手机.json", message("1", "2026-01-31T09:00"))
    desk.round()
    assert ([raw["id"] for raw in desk.history()], left(desk)) == (["1"], [])


def test_an_array_comes_in_its_order_and_behind_what_is_there(desk):
    desk.write([message("0", "2026-01-31T08:00")])
    drop(desk, "a.json", talk("2026-01-31T09:00", 4))
    desk.round()
    assert [raw["text"] for raw in desk.history()][1:] == [raw["text"] for raw in talk("2026-01-31T09:00", 4)]


def test_a_file_without_ids_that_a_crash_brings_twice_is_taken_once(desk):
    content = [{"role": "user", "text": "好的"}, {"role": "user", "text": "好的"}]
    drop(desk, "a.json", content)
    desk.round()
    drop(desk, "a.json", content)
    desk.reopen()
    desk.round()
    assert (len(desk.history()), left(desk)) == (2, [])


def test_a_message_that_is_known_is_not_taken_again_though_it_has_left_history(desk):
    drop(desk, "a.json", message("1", "2026-01-31T09:00"))
    desk.settle()
    desk.write([])
    drop(desk, "b.json", message("1", "2026-01-31T09:00"))
    desk.settle()
    assert (desk.history(), left(desk), len(desk.filed())) == ([], [], 1)


def test_other_words_of_a_known_message_are_not_thrown_away(desk):
    drop(desk, "a.json", message("1", "2026-01-31T09:00", "改到周四"))
    desk.settle()
    drop(desk, "b.json", message("1", "2026-01-31T09:05", "改到周五"))
    desk.settle()
    assert sorted(texts(desk)) == ["改到周五", "改到周四"]
    assert not list(desk.layout.drop_box.iterdir())


@pytest.mark.parametrize(
    "data",
    [b"", b"[", b'"\xe5\xa5\xbd"', b"7", b'{"role": "user"}', b'[{"role": "user", "text": "x"}, 7]', b"\xff", b"[" * 100_000],
)
def test_a_damaged_file_in_the_drop_box_stays_is_told_once_and_stops_nothing(desk, data):
    drop(desk, "坏.json", data)
    drop(desk, "z.json", message("1", "2026-01-31T09:00"))
    for _ in range(3):
        desk.settle()
    assert ([raw["id"] for raw in desk.history()], left(desk)) == (["1"], ["坏.json"])
    (told,) = desk.told.of("file_quarantined")
    assert told["file"] == "inbox.d/new/坏.json"
    assert [path.read_bytes() for path in desk.layout.quarantine.iterdir()] == [data]


def test_what_is_no_plain_file_in_the_drop_box_stops_nothing(desk):
    (desk.layout.drop_box / "folder.json").mkdir()
    (desk.layout.drop_box / "link.json").symlink_to(desk.root / "别处.json")
    drop(desk, "z.json", message("1", "2026-01-31T09:00"))
    desk.settle()
    assert desk.flags() == [True]


def test_unfinished_and_foreign_files_are_left_alone(desk):
    for name in (".x.json", "x.json.tmp", "x.json~", "x.txt"):
        drop(desk, name, message("1", "2026-01-31T09:00"))
    desk.round()
    assert (len(left(desk)), desk.history()) == (4, [])


def test_a_dropped_message_without_a_time_has_that_of_its_file(desk):
    import os

    drop(desk, "a.json", {"role": "user", "text": "离线时写的"})
    os.utime(desk.layout.drop_box / "a.json", (1_769_562_120, 1_769_562_120))
    desk.round()
    assert desk.history()[0]["createdAt"] == "2026-01-28T01:02:00.000Z"


def test_the_drop_box_waits_while_history_is_damaged(desk):
    desk.write(b"[")
    drop(desk, "a.json", message("1", "2026-01-31T09:00"))
    desk.round()
    assert left(desk) == ["a.json"]
    desk.write([])
    desk.round()
    assert [raw["id"] for raw in desk.history()] == ["1"]


@pytest.mark.parametrize("spelled", [1769821200000, "2026-01-31 10:00"])
def test_a_time_that_a_program_spells_its_own_way_is_known_again_when_it_is_dropped(desk, spelled):
    desk.write([{"id": "a", "role": "user", "text": "部署放到周五。"}])
    desk.round("all")
    (first,) = desk.history()
    desk.write([{**first, "createdAt": spelled, "text": "部署放到周四。"}])
    assert desk.round("all").errors == {}
    desk.write([{"id": "a", "role": "user", "text": "部署放到周四。"}])
    assert desk.round("all").errors == {}
    assert (
        desk.history()[0]["createdAt"] == "2026-01-31T01:00:00.000Z" if isinstance(spelled, int) else "2026-01-31T02:00:00.000Z"
    )


@pytest.mark.parametrize(
    "line",
    [
        b'{"times": [["a", 5]]}',
        b'{"times": [[1, "x"], ["a", "y"]]}',
        b'{"back": [["a", "b"], [1, 2]]}',
        b'{"written": [[1, 2], ["a", "b"]], "file": "2026-01-30-x.md"}',
        b'{"known": [[1], ["a", 5]]}',
        b'{"here": [1, null]}',
        b'{"left": [1]}',
        b'{"recalld": 1.5}',
        b'{"times": [["b", "9999-12-31T23:59:59Z"]]}',
    ],
)
def test_a_line_of_the_journal_with_values_of_other_kinds_stops_nothing(desk, line):
    desk.write([message("a", "2026-01-31T09:00", "我对花生过敏。")])
    desk.round("none")
    desk.layout.seen.write_bytes(desk.layout.seen.read_bytes() + line + b"\n")
    desk.say({"role": "user", "text": "没有名字。"}, {"id": "b", "role": "user", "text": "没有时间。"})
    desk.reopen()
    assert desk.round("all").errors == {}
    desk.ws.seen.compact()
    fsck(desk.ws)
    assert sorted(texts(desk)) == ["我对花生过敏。", "没有名字。", "没有时间。"]


def test_of_messages_that_nobody_understands_ten_times_as_many_copies_are_kept_as_of_files(desk):
    desk.reopen(desk.toml + "[care]\nquarantine_limit = 1\n")
    desk.write([f"不懂的第 {n} 句" for n in range(12)])
    meet(desk)
    assert len(list(desk.layout.quarantine.iterdir())) == 10
