"""Intake: a new message gets an id, is recorded in the journal, and is reinserted if another program loses it."""

import errno
import json
import os

import pytest

from recalld.supervisor.archive.intake import contains_message
from recalld.supervisor.protocol.message import digest_of_text, fingerprint_of
from tests.world import FaultyDisk, message, without


def test_intake_knows_a_spelling_that_an_older_journal_has(world):
    """Before, a line named the fingerprint of the spelling alone."""
    raw = {"role": "user", "text": "我对花生过敏", "createdAt": "2026-01-31T09:00:00.123+08:00"}
    world.write([raw])
    world.settle()
    (kept,) = world.history()
    old = [kept["id"], digest_of_text(raw["text"]), fingerprint_of(raw["createdAt"], "user", raw["text"])]
    name = next(iter(world.dated_files()))
    lines = [{"recalld": 1}, {"written": [old], "file": name}, {"here": [kept["id"]]}]
    world.paths.seen.write_text("".join(json.dumps(line) + "\n" for line in lines))
    world.reopen()
    world.write([raw])
    world.settle()
    assert (world.history()[0]["id"], len(world.archived())) == (kept["id"], 1)


# ── lost and put back ────────────────────────────────────────────────────────


def test_intake_reinserts_messages_without_times_in_their_order(world):
    """Else what a program writes back, whose clock was set back meanwhile, is said again."""
    said = [{"role": "user", "text": text} for text in ("一", "二", "三", "四", "五")]
    world.write(said[:3])
    world.intake()
    world.clock.jump(days=-2)
    world.write(said[3:])
    world.intake()
    assert [raw["text"] for raw in world.history()] == [raw["text"] for raw in said]
    world.write(said)
    world.settle()
    assert world.archived_texts() == sorted(raw["text"] for raw in said)


# ── what cannot be understood ────────────────────────────────────────────────


@pytest.mark.parametrize(
    "raw",
    [
        {"id": None, "text": None, "content": "我对花生过敏", "createdAt": None, "archived": None, "chat": None},
        {"content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "我对花生过敏"}]}]},
        {"text": {"value": "我对花生过敏"}},
        {"content": None, "refusal": "我对花生过敏"},
        {
            "content": [{"type": "thinking", "thinking": "榛子呢"}, {"type": "text", "text": "我对花生过敏"}],
            "reasoning": "榛子呢",
        },
    ],
)
def test_intake_files_words_in_the_fields_of_other_programs(world, raw):
    """They are found; what a model only thought is kept beside them, and is not."""
    raw = {"role": "assistant", **raw}
    world.write([raw])
    world.settle()
    assert world.events.of("message_odd") == []
    (block,) = (block for blocks in world.dated_files().values() for block in blocks)
    filed = {"role": block.role, block.text_field: block.text, **block.fields}
    ours = {"createdAt", "createdAtFound", "id", "archived"}
    assert {k: v for k, v in filed.items() if k not in ours} == {k: v for k, v in raw.items() if k not in ours}
    assert world.found_texts("花生过敏") == ["我对花生过敏"]
    assert world.found_texts("榛子") == []
    world.write([raw])
    world.settle()
    assert len(world.archived()) == 1


# ── a workspace that another program kept ────────────────────────────────────


def test_intake_does_not_adopt_from_a_note_of_another_day(world):
    world.note("2026-01-29-allergy.md", "- 我对花生过敏\n")
    world.write([message("1", "2026-01-30T09:00", "我对花生过敏", archived=True)])
    world.settle()
    assert world.archived_texts() == ["我对花生过敏"]


def test_intake_leaves_an_adopted_note_unchanged_and_in_place(world):
    note = "# 过敏\n\n- user: 我对花生过敏。\n"
    world.note("2026-01-30-allergy.md", note)
    said = (
        message("1", "2026-01-30T09:00", archived=True),
        message("2", "2026-01-30T09:01", "好的，记住了", "assistant", archived=True),
    )
    world.write(said)
    world.settle()
    world.clock.forward(days=60)
    world.settle()
    assert (world.paths.memory / "2026-01-30-allergy.md").read_text() == note
    assert "2026-01-30-allergy.md" in world.summary("2026-01")


# ── the drop-box ─────────────────────────────────────────────────────────────


def test_drop_box_keeps_equal_words_of_two_files_of_one_name(world):
    for n in range(3):
        os.utime(world.drop("msg.json", {"role": "user", "text": "继续"}), (1_769_562_120 + n, 1_769_562_120 + n))
        world.round()
    assert [raw["text"] for raw in world.history()] == ["继续"] * 3


def test_drop_box_gives_a_stripped_message_its_id_back(world):
    """The journal could not be told, so the file stayed; meanwhile a program wrote the message back without its id."""
    disk = FaultyDisk("open_append", refuses=lambda _, path: path.name == "seen.jsonl")
    world.reopen(disk=disk)
    world.drop("手机.json", message("m1", "2026-01-31T09:00", "月饼订两盒。"))
    world.round()
    world.write(without(world.history(), "id", "archived"))
    world.reopen()
    world.round()
    assert (world.ids(), world.dropped()) == (["m1"], [])


def test_drop_box_takes_in_what_a_crash_left_claimed_in_order(world):
    for n in range(11):
        world.drop(f".taken-{99 - n}-1-{n:02}.json", message(str(n), "2026-01-31T09:00"))
    world.round()
    assert (world.ids(), world.dropped()) == ([str(n) for n in range(11)], [])


def test_drop_box_takes_in_once_what_it_cannot_claim(world):
    """The folder may be another user's, the name too long for a longer one: then the file stays, and that is told."""
    world.drop("a.json", message("1", "2026-01-31T09:00"))
    world.drop("b.json", {"role": "user", "text": "没有名字，也没有时间。"})
    disk = FaultyDisk("rename_new", number=errno.EACCES)
    disk.break_down()
    for _ in range(3):
        world.reopen(disk=disk)
        world.round()
    assert (len(world.history()), world.dropped()) == (2, ["a.json", "b.json"])
    assert "Permission denied" in str(world.events.of("degraded")[0]["why"])
    disk.heal()
    world.round()
    assert (len(world.history()), world.dropped()) == (2, [])


@pytest.mark.parametrize(
    "data",
    [b"", b"[", b'"\xe5\xa5\xbd"', b"7", b'{"role": "user"}', b'[{"role": "user", "text": "x"}, 7]', b"\xff", b"[" * 100_000],
)
def test_drop_box_keeps_a_damaged_file_and_reports_it_once(world, data):
    world.drop("坏.json", data)
    world.drop("z.json", message("1", "2026-01-31T09:00"))
    for _ in range(3):
        world.settle()
    assert ([raw["id"] for raw in world.history()], world.dropped()) == (["1"], ["坏.json"])
    (told,) = world.events.of("file_quarantined")
    assert told["file"] == "inbox.d/new/坏.json"
    assert [path.read_bytes() for path in world.paths.quarantine.iterdir()] == [data]


def test_drop_box_takes_finished_files_alone(world):
    (world.paths.drop_box / "folder.json").mkdir()
    (world.paths.drop_box / "link.json").symlink_to(world.root / "别处.json")
    for name in (".x.json", ".x\n.json", "x.json.tmp", "x.json~", "x.txt"):
        world.drop(name, message("2", "2026-01-31T09:01"))
    world.drop("z.json", message("1", "2026-01-31T09:00"))
    world.settle()
    assert (world.ids(), world.flags()) == (["1"], [True])


def test_drop_box_waits_while_history_is_damaged(world):
    world.write(b"[")
    world.drop("a.json", message("1", "2026-01-31T09:00"))
    world.round()
    assert world.dropped() == ["a.json"]
    world.write([])
    world.round()
    assert [raw["id"] for raw in world.history()] == ["1"]


@pytest.mark.parametrize("text", ["不懂的第 {} 句", "不懂"])
def test_intake_looks_at_quarantine_no_more_often_than_it_has_room(world, text):
    world.reopen(disk=FaultyDisk())
    world.write([text.format(n) for n in range(1_000)])
    world.intake()
    world.disk.made.clear()
    world.intake()
    assert world.disk.count("names") < 200


def test_quarantine_keeps_ten_times_as_many_invalid_entries_as_files(world):
    world.write([f"不懂的第 {n} 句" for n in range(120)])
    world.intake()
    assert len(list(world.paths.quarantine.iterdir())) == 100


WORDS = "我对花生过敏"


@pytest.mark.parametrize("text", ["", "我对花生过敏吗", "他说我对花生过敏", f"{WORDS}，还有芒果", "我对花生\n过敏"])
def test_contains_message_ignores_text_inside_other_text(text):
    assert not contains_message(WORDS, text)


@pytest.mark.parametrize("words", ["", "  \n"])
def test_contains_message_returns_false_for_an_empty_message(words):
    assert not contains_message(words, "什么都有\n\n")


# ── what another program filed ───────────────────────────────────────────────


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
