"""fsck accounts for every message; and what is said of files in another encoding, and what mends it."""

import json
import os

import pytest

from recalld.supervisor.checks.fsck import Ledger
from recalld.supervisor.checks.memory import dropped, encodings, history
from recalld.supervisor.storage.clock import to_wire
from tests.world import WITHOUT_MODEL, World, message, talk


def account(world: World) -> Ledger:
    before = world.tree(internal=True)
    found = world.fsck()
    assert world.tree(internal=True) == before, "it changes nothing"
    assert found.seen == found.in_files + found.in_history + found.in_journal + found.set_aside + found.removed + len(
        found.lost
    )
    return found


def test_fsck_counts_each_message_where_it_is_stored(world):
    world.write([*talk("2026-01-10T09:00", 3), *talk("2026-01-30T09:00", 2), "一句话", 7])
    world.settle()
    world.add(*talk("2026-01-31T09:55", 2))
    world.intake()
    found = account(world)
    assert (found.seen, found.in_files, found.in_history, found.set_aside) == (9, 5, 2, 2)
    assert (found.dated_files, found.summaries, found.covered_files) == (2, 1, 1)
    assert found.is_sound


def test_fsck_does_not_count_a_message_in_the_journal_as_lost(world):
    world.write(talk("2026-01-31T09:00", 2))
    world.intake()
    world.write([])
    assert (account(world).in_journal, account(world).is_sound) == (2, True)


def test_fsck_reports_an_archived_flag_without_a_file_as_damage(world):
    world.write([message("1", "2026-01-30T09:00", archived=True)])
    assert account(world).damage == ["message 1 is flagged true, but no dated file was ever made of it"]
    world.settle()
    assert account(world).is_sound


def test_fsck_names_a_dated_file_in_another_encoding(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    path = world.root / next(iter(world.dated_files()))
    path.write_bytes(path.read_text().encode("gbk"))
    (why,) = account(world).damage
    assert "it is GBK, not UTF-8" in why
    assert world.repair().set_aside == (path.name,)


def test_fsck_calls_lost_what_a_disk_has_spoiled_without_a_new_time(world):
    world.write(talk("2026-01-30T09:00", 2))
    world.settle()
    world.fill([])
    path = world.root / next(iter(world.dated_files()))
    stat = path.stat()
    path.write_bytes(bytes(stat.st_size))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    found = account(world)
    assert (len(found.damage), len(found.lost), found.removed) == (1, 2, 0)


# ── another encoding ─────────────────────────────────────────────────────────────

WORDS = "- 2026-01-31 我对花生过敏，备份在家里的柜子上。\n"


@pytest.mark.parametrize("name", ["history.json", "inbox.d/new/a b.json", "memory.md", "memory/旅 行.md"])
def test_file_in_another_encoding_is_said_to_be_in_that(world, name):
    message_in_gbk = json.dumps([message("1", "2026-01-30T09:00", "我对花生过敏，备份在家里的柜子上。")], ensure_ascii=False)
    world.put(name, (message_in_gbk if name.endswith(".json") else WORDS).encode("gbk"))
    look = world.look()
    [fault] = [one.why for check in (history, dropped, encodings) for one in check(look)]
    assert "not UTF-8 (`iconv -f GBK -t UTF-8` converts it)" in str(fault)


def test_encodings_reads_no_link_folder_or_pipe(world):
    world.put("outside.md", "Café".encode("latin-1"))
    (world.root / "memory").mkdir(exist_ok=True)
    (world.root / "memory/link.md").symlink_to(world.root / "outside.md")
    (world.root / "memory/folder.md").mkdir()
    os.mkfifo(world.root / "memory/pipe.md")
    assert [*encodings(world.look())] == []


@pytest.mark.parametrize("name", ["备忘.md", "b.txt", "n.jsonl"])
def test_dropped_names_a_file_of_the_drop_box_that_has_another_ending(world, name):
    world.put("inbox.d/new/a.json", "{")
    world.put(f"inbox.d/new/{name}", "买牛奶\n")
    path = world.paths.drop_box / name
    os.utime(path, (world.clock().timestamp(),) * 2)
    broken, named = "a.json (it is not JSON at line 1, column 2)", f"{name} (its name does not end in .json)"
    world.round()
    assert f"(1): {broken};" in world.verdict()[0][0], "a program may be about to name it"
    world.clock.forward(minutes=2)
    assert f"(2): {broken}, {named};" in world.verdict()[0][0], "the other is named as well"


# ── times that can't be read ────────────────────────────────────────────────────


def said(when: object, identity: str = "x1", text: str = "我对花生过敏。", **more: object) -> dict[str, object]:
    return {"id": identity, "role": "user", "text": text, "createdAt": when, **more}


@pytest.fixture
def filed(world: World) -> World:
    """Two messages with a time that may be two days, filed under the day they came."""
    world.reopen(WITHOUT_MODEL)
    world.write([*talk("2026-01-31T09:00", 2), said("11/10/2025"), said("12/10/2025", "x2", "我也对虾过敏。")])
    world.settle()
    return world


def test_session_has_a_message_once_at_the_time_that_a_person_put_right(filed):
    (name,) = filed.names()
    path = filed.ws.memory.path_of(name)
    text = path.read_text(encoding="utf-8")
    comment = next(line for line in text.splitlines() if '"11/10/2025"' in line)
    fields = json.loads(comment[comment.index("{") : comment.rindex("}") + 1])
    right = {
        **{key: value for key, value in fields.items() if key != "createdAtFound"},
        "createdAt": "2025-10-11T02:00:00.000Z",
    }
    path.write_text(
        text.replace(json.dumps(fields, ensure_ascii=False), json.dumps(right, ensure_ascii=False)), encoding="utf-8"
    )
    filed.refresh()
    talk = [block for block in filed.ws.session_talk.messages("", filed.clock()) if block.words == "我对花生过敏。"]
    assert [to_wire(block.created_at) for block in talk] == ["2025-10-11T02:00:00.000Z"]
