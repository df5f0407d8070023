"""The first look: what has come gets a name, is remembered, and is found again if another program loses it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from supervisor.protocol.message import words_digest
from tests.world import World, message, talk, without

# ── names ────────────────────────────────────────────────────────────────────


def test_a_message_without_id_and_time_gets_both_once(world):
    world.write([{"role": "user", "text": "我对花生过敏"}])
    assert world.intake() == 1
    (first,) = world.history()
    assert (first["id"][:2], first["createdAt"], first["createdAtFound"]) == ("m-", "2026-01-31T02:00:00.000Z", None)
    world.clock.forward(hours=1)
    assert world.intake() == 0
    assert world.history() == [first]
    assert world.events.of("seen") == [{"messages": 1, "written_elsewhere": 0}]


@pytest.mark.parametrize("timed", [True, False])
def test_a_writer_that_strips_ids_at_every_turn_has_every_message_written_once(world, timed):
    """It holds its own list in memory, and trims it never; recalld trims."""
    world.reopen(world.toml + "[history]\nsoft_cap = 30\nhard_cap = 40\n")
    held: list[Any] = []
    for turn in range(40):
        now = world.clock.forward(hours=7)
        pair = [{"role": "user", "text": f"第 {turn} 个问题"}, {"role": "assistant", "text": "好的。"}]
        held += [{**raw, "createdAt": now.isoformat()} for raw in pair] if timed else pair
        world.write(held)
        world.round("all")
    questions = [text for text in world.archived_texts() if text.startswith("第")]
    assert sorted(questions) == sorted(f"第 {turn} 个问题" for turn in range(40))
    assert world.archived_texts().count("好的。") == 40


def test_a_writer_that_reads_back_what_recalld_left_adds_to_it(world):
    world.reopen(world.toml + "[history]\nsoft_cap = 30\nhard_cap = 40\n")
    for turn in range(40):
        world.clock.forward(hours=7)
        left = without(world.history(), "id", "createdAt", "createdAtFound", "archived")
        world.write([*left, {"role": "user", "text": "早"}, {"role": "assistant", "text": f"第 {turn} 天好。"}])
        world.round("all")
    assert world.archived_texts().count("早") == 40
    assert len(set(world.archived_texts())) == 41


def test_equal_ids_with_other_words_are_all_kept(world):
    world.write(
        [
            message("1", "2026-01-31T09:00", "周四"),
            message("1", "2026-01-31T09:01", "周五"),
            message("1", "2026-01-31T09:02", "周四"),
        ]
    )
    world.settle()
    assert world.archived() == [("1", "周四"), (f"1~{words_digest('周五')[:8]}", "周五")]
    assert world.flags() == [True, True, True]


def test_an_assistant_that_streams_is_written_once_as_it_ended(world):
    """4H, 14: a revision at each look."""
    question = message("q", "2026-01-31T09:59", "怎么备份？")
    for text in ("用", "用 rsync", "用 rsync，每天三点。"):
        world.write([question, message("a", "2026-01-31T10:00", text, "assistant")])
        world.round()
    world.settle()
    assert world.archived() == [("a", "用 rsync，每天三点。"), ("q", "怎么备份？")]


def test_words_that_change_after_they_were_written_are_a_revision_and_history_keeps_its_id(world):
    """H14."""
    world.write([message("1", "2026-01-31T09:00", "改到周四")])
    world.settle()
    world.write([{**world.history()[0], "text": "改到周五"}])
    world.settle()
    assert world.archived() == [("1", "改到周四"), (f"1~{words_digest('改到周五')[:8]}", "改到周五")]
    assert [raw["id"] for raw in world.history()] == ["1"]
    world.settle()
    assert len(world.archived()) == 2


def test_an_id_that_looks_like_a_revision_is_an_id_like_any_other(world):
    text = "我对花生过敏"
    world.write([message(f"1~{words_digest(text)[:8]}", "2026-01-31T09:00", text)])
    world.settle()
    world.clock.forward(hours=7)
    world.settle()
    assert len(world.archived()) == 1
    assert world.flags() == [True]


# ── lost and put back ────────────────────────────────────────────────────────


def test_unwritten_words_that_another_program_loses_are_put_back_once_in_their_place(world):
    """H27."""
    raws = talk("2026-01-31T09:00", 4)
    world.write(raws)
    world.intake()
    world.write([raws[0], raws[3]])
    world.intake()
    assert [raw["id"] for raw in world.history()] == [raw["id"] for raw in raws]
    assert world.events.of("put_back")[0]["messages"] == 2
    world.write([raws[0], raws[3]])
    world.intake()
    assert [raw["id"] for raw in world.history()] == [raws[0]["id"], raws[3]["id"]]
    assert len(world.events.of("put_back")) == 1


def test_words_of_one_moment_go_back_in_the_order_in_which_they_were_met(world):
    raws = [message(f"话-{n}", "2026-01-31T09:00", f"同一刻的第 {n} 句") for n in range(4)]
    world.write(raws)
    world.intake()
    world.write([raws[1], raws[3]])
    world.intake()
    assert [raw["id"] for raw in world.history()] == [raw["id"] for raw in raws]


def test_words_that_are_lost_again_are_archived_from_the_journal_s_copy(world):
    raws = talk("2026-01-31T09:00", 4)
    world.write(raws)
    world.intake()
    for _ in range(3):
        world.write(raws[:1])
        world.intake()
    assert len(world.unwritten()) == 4
    world.settle()
    assert sorted(world.archived_texts()) == sorted(raw["text"] for raw in raws)
    assert len(world.history()) == 1


def test_what_was_written_and_trimmed_by_another_program_is_not_put_back(world):
    """4H, 12: a loop with a program that has a cap of its own."""
    raws = talk("2026-01-31T09:00", 6)
    world.write(raws)
    world.settle()
    before = world.archived()
    world.write(world.history()[-2:])
    world.settle()
    assert len(world.history()) == 2
    assert world.events.of("put_back") == []
    assert world.archived() == before


def test_a_crash_between_the_journal_and_history_costs_no_words(world):
    raws = talk("2026-01-31T09:00", 2)
    world.write(raws)
    world.intake()
    world.write([])
    world.ws.seen.refresh()
    world.ws.seen.put_back(list(world.ws.seen.unwritten))  # and dead before it was done
    world.reopen()
    world.settle()
    assert sorted(world.archived_texts()) == sorted(raw["text"] for raw in raws)


# ── what cannot be understood ────────────────────────────────────────────────


def test_a_message_that_cannot_be_understood_stays_is_told_once_and_stops_nothing(world):
    """A34, I6."""
    odd: list[Any] = [None, 7, "一句话", [], {}, {"role": "user", "text": None}, {"id": [], "role": "user", "text": "好"}]
    raws = talk("2026-01-31T09:00", 2)
    world.write([*odd[:3], raws[0], *odd[3:], raws[1]])
    for _ in range(3):
        world.settle()
    assert [raw for raw in world.history() if raw in odd] == odd
    assert [raw["archived"] for raw in world.history() if isinstance(raw, dict) and "createdAt" in raw] == [True, True]
    assert len(world.events.of("message_odd")) == len(odd)
    copies = [path.read_text() for path in world.layout.quarantine.iterdir()]
    assert sorted(copies) == sorted(json.dumps(raw, ensure_ascii=False) for raw in odd)


# ── a workspace that another program kept ────────────────────────────────────


def adopted(world: World, note: str, text: str = "我对花生过敏") -> None:
    world.note("2026-01-30-allergy.md", note)
    world.write(
        [
            message("1", "2026-01-30T09:00", text, archived=True),
            message("2", "2026-01-30T09:01", "好的，记住了", "assistant", archived=True),
        ]
    )
    world.settle()


def test_a_true_message_that_stands_in_a_file_of_its_day_counts_as_written(world):
    adopted(world, "# 过敏\n\n- user: 我对花生过敏\n- assistant: 好的，记住了\n")
    assert world.archived() == []
    assert world.flags() == [True, True]
    assert world.events.of("seen") == [{"messages": 2, "written_elsewhere": 2}]


def test_a_true_message_that_stands_nowhere_is_written_once_and_stays_true(world):
    adopted(world, "# 过敏\n\n- user: 我对花生过敏\n")
    assert world.archived_texts() == ["好的，记住了"]
    assert world.flags() == [True, True]
    world.settle()
    assert world.archived_texts() == ["好的，记住了"]


def test_adoption_is_decided_once_whatever_happens_to_the_note(world):
    adopted(world, "- 我对花生过敏\n- 好的，记住了\n")
    (world.layout.memory / "2026-01-30-allergy.md").unlink()
    world.settle()
    assert world.archived() == []


def test_a_note_of_another_day_adopts_nothing(world):
    world.note("2026-01-29-allergy.md", "- 我对花生过敏\n")
    world.write([message("1", "2026-01-30T09:00", "我对花生过敏", archived=True)])
    world.settle()
    assert world.archived_texts() == ["我对花生过敏"]


def test_the_note_itself_is_never_written_or_moved(world):
    note = "# 过敏\n\n- user: 我对花生过敏\n"
    adopted(world, note)
    world.clock.forward(days=60)
    world.settle()
    assert (world.layout.memory / "2026-01-30-allergy.md").read_text() == note
    assert "2026-01-30-allergy.md" in world.summary("2026-01")


# ── the drop-box ─────────────────────────────────────────────────────────────


def test_a_message_in_the_drop_box_comes_into_history_and_its_file_goes(world):
    world.drop("手机.json", message("1", "2026-01-31T09:00"))
    world.round()
    assert ([raw["id"] for raw in world.history()], world.dropped()) == (["1"], [])


def test_an_array_comes_in_its_order_and_behind_what_is_there(world):
    world.write([message("0", "2026-01-31T08:00")])
    world.drop("a.json", talk("2026-01-31T09:00", 4))
    world.round()
    assert [raw["text"] for raw in world.history()][1:] == [raw["text"] for raw in talk("2026-01-31T09:00", 4)]


def test_a_file_without_ids_that_a_crash_brings_twice_is_taken_once(world):
    content = [{"role": "user", "text": "好的"}, {"role": "user", "text": "好的"}]
    world.drop("a.json", content)
    world.round()
    world.drop("a.json", content)
    world.reopen()
    world.round()
    assert (len(world.history()), world.dropped()) == (2, [])


def test_a_message_that_is_known_is_not_taken_again_though_it_has_left_history(world):
    world.drop("a.json", message("1", "2026-01-31T09:00"))
    world.settle()
    world.write([])
    world.drop("b.json", message("1", "2026-01-31T09:00"))
    world.settle()
    assert (world.history(), world.dropped(), len(world.archived())) == ([], [], 1)


def test_other_words_of_a_known_message_are_not_thrown_away(world):
    world.drop("a.json", message("1", "2026-01-31T09:00", "改到周四"))
    world.settle()
    world.drop("b.json", message("1", "2026-01-31T09:05", "改到周五"))
    world.settle()
    assert sorted(world.archived_texts()) == ["改到周五", "改到周四"]
    assert not list(world.layout.drop_box.iterdir())


@pytest.mark.parametrize(
    "data",
    [b"", b"[", b'"\xe5\xa5\xbd"', b"7", b'{"role": "user"}', b'[{"role": "user", "text": "x"}, 7]', b"\xff", b"[" * 100_000],
)
def test_a_damaged_file_in_the_drop_box_stays_is_told_once_and_stops_nothing(world, data):
    world.drop("坏.json", data)
    world.drop("z.json", message("1", "2026-01-31T09:00"))
    for _ in range(3):
        world.settle()
    assert ([raw["id"] for raw in world.history()], world.dropped()) == (["1"], ["坏.json"])
    (told,) = world.events.of("file_quarantined")
    assert told["file"] == "inbox.d/new/坏.json"
    assert [path.read_bytes() for path in world.layout.quarantine.iterdir()] == [data]


def test_what_is_no_plain_file_in_the_drop_box_stops_nothing(world):
    (world.layout.drop_box / "folder.json").mkdir()
    (world.layout.drop_box / "link.json").symlink_to(world.root / "别处.json")
    world.drop("z.json", message("1", "2026-01-31T09:00"))
    world.settle()
    assert world.flags() == [True]


def test_unfinished_and_foreign_files_are_left_alone(world):
    for name in (".x.json", "x.json.tmp", "x.json~", "x.txt"):
        world.drop(name, message("1", "2026-01-31T09:00"))
    world.round()
    assert (len(world.dropped()), world.history()) == (4, [])


def test_a_dropped_message_without_a_time_has_that_of_its_file(world):
    import os

    world.drop("a.json", {"role": "user", "text": "离线时写的"})
    os.utime(world.layout.drop_box / "a.json", (1_769_562_120, 1_769_562_120))
    world.round()
    assert world.history()[0]["createdAt"] == "2026-01-28T01:02:00.000Z"


def test_the_drop_box_waits_while_history_is_damaged(world):
    world.write(b"[")
    world.drop("a.json", message("1", "2026-01-31T09:00"))
    world.round()
    assert world.dropped() == ["a.json"]
    world.write([])
    world.round()
    assert [raw["id"] for raw in world.history()] == ["1"]


@pytest.mark.parametrize("spelled", [1769821200000, "2026-01-31 10:00"])
def test_a_time_that_a_program_spells_its_own_way_is_known_again_when_it_is_dropped(world, spelled):
    world.write([{"id": "a", "role": "user", "text": "部署放到周五。"}])
    world.round("all")
    (first,) = world.history()
    world.write([{**first, "createdAt": spelled, "text": "部署放到周四。"}])
    assert world.round("all").errors == {}
    world.write([{"id": "a", "role": "user", "text": "部署放到周四。"}])
    assert world.round("all").errors == {}
    assert (
        world.history()[0]["createdAt"] == "2026-01-31T01:00:00.000Z"
        if isinstance(spelled, int)
        else "2026-01-31T02:00:00.000Z"
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
def test_a_line_of_the_journal_with_values_of_other_kinds_stops_nothing(world, line):
    world.write([message("a", "2026-01-31T09:00", "我对花生过敏。")])
    world.round("none")
    world.layout.seen.write_bytes(world.layout.seen.read_bytes() + line + b"\n")
    world.add({"role": "user", "text": "没有名字。"}, {"id": "b", "role": "user", "text": "没有时间。"})
    world.reopen()
    assert world.round("all").errors == {}
    world.ws.seen.compact()
    world.fsck()
    assert sorted(world.archived_texts()) == ["我对花生过敏。", "没有名字。", "没有时间。"]


def test_of_messages_that_nobody_understands_ten_times_as_many_copies_are_kept_as_of_files(world):
    world.reopen(world.toml + "[care]\nquarantine_limit = 1\n")
    world.write([f"不懂的第 {n} 句" for n in range(12)])
    world.intake()
    assert len(list(world.layout.quarantine.iterdir())) == 10
