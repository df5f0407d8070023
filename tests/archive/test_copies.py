"""Copies of our files, as synchronisers, systems, editors and people make them: never memory a second time, never touched."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.archive.copies import contents, copies, ids_in, may_be_copies
from tests.world import FaultyDisk, World, message, message_on, talk

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = "花生过敏"
DATED = "2026-01-29-nginx"
#: What a copy of X.md is called; those that recalld reads at all by their name.
SPELLINGS = (
    *("X (1).md", "X 2.md", "X(2).md", "X - Copy.md", "X - Copy (2).md", "X copy.md", "X copy 2.md", "Copy of X.md"),
    *("X - 副本.md", "X 副本.md", "X的副本.md", "副本 X.md", "X-DESKTOP-7K3.md", "X.orig.md", "X.bak.md", "X~HEAD.md"),
    *("X_BACKUP_123.md", "X_LOCAL_123.md", "X-2.md", "X (Kopie).md", "backup/X.md", "旧/X.md"),
)
#: What is never read, whatever is in it.
UNREAD = (
    *("X (conflicted copy 2026-01-30).md", "X.sync-conflict-20260130-101112-ABCDEF.md", "X (王的冲突副本).md"),
    *("~X.md~", ".X.md.swp", ".X.md", "X.md.bak", "X.md.orig"),
)


def remembered(world: World, day: str = "2026-01-29") -> str:
    """Archive two messages of that day about nginx and peanuts; returns the path of their dated file."""
    world.add(message_on(day, "nginx"), message(f"{day}-b", f"{day}T09:05", "我对花生过敏，点外卖要备注。", session="家"))
    world.round("all")
    (path,) = (path for path in world.dated_files() if day in path)
    return path


def copied(world: World, path: str, spelling: str) -> str:
    """Copy the file to this spelling of its name; returns the copy's path."""
    folder, _, name = path.rpartition("/")
    to = f"{folder}/{spelling.replace('X', name.removesuffix('.md'))}"
    world.put(to, world.read(path) or b"")
    return to


def found(world: World, question: str = QUESTION) -> list[str]:
    world.refresh()
    return [*dict.fromkeys(world.found_paths(question))]


def sources(world: World, label: str) -> list[str]:
    return [line.split(" · ")[0] for line in world.summary(label).splitlines() if line.startswith("- 20") and " · " in line]


# ── a dated file ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("spelling", [*SPELLINGS, *UNREAD])
def test_copy_is_neither_found_nor_summarised_nor_touched(world, spelling):
    path = remembered(world)
    copy = copied(world, path, spelling)
    data = world.read(copy)
    world.round()
    assert found(world) == [path]
    world.forward(days=10).settle()
    name = path.rpartition("/")[2]
    assert sources(world, "2026-01-29") == [f"- {name}"]
    assert [len(blocks) for _, blocks in world.model.requests] == [2]
    assert found(world)[1:] == [f"memory/originals/2026-01/{name}"]
    assert world.read(copy) == data
    assert world.fsck().is_sound


@pytest.mark.parametrize("spelling", [spelling for spelling in SPELLINGS if "/" not in spelling])
def test_copy_of_an_original_is_no_late_file(world, spelling):
    remembered(world, "2026-01-10")
    world.settle()
    (path,) = world.dated_files()
    copy = copied(world, path, spelling)
    world.put(f"memory/{copy.rpartition('/')[2]}", world.read(copy) or b"")
    before = world.tree()
    world.settle()
    world.reopen().settle()
    assert world.tree() == before
    assert len(world.model.requests) == 1
    assert path in found(world)
    assert len(found(world)) == 2  # the original and its summary


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_copy_is_searched_once_the_file_itself_is_gone(world, spelling):
    path = remembered(world)
    copy = copied(world, path, spelling)
    assert found(world) == [path]
    (world.root / path).unlink()
    world.round()
    assert {one.partition("#")[0] for one in found(world)} == {copy}
    copied(world, copy, path.rpartition("/")[2]) if "/" not in spelling else world.put(path, world.read(copy) or b"")
    assert found(world) == [path]


def test_copy_in_which_a_person_wrote_is_no_copy(world):
    path = remembered(world)
    data = world.read(path) or b""
    for n, edited in enumerate(
        (
            data + "\n杏仁也过敏。\n".encode(),
            data.replace("花生".encode(), "花生和杏仁".encode()),
            data.replace(b"---\n\n<!--", "---\n\n我的话在前面。\n\n<!--".encode(), 1),
        )
    ):
        other = copied(world, path, f"X ({n}).md")
        world.put(other, edited)
        assert other in found(world, "花生过敏 杏仁 我的话"), n
        (world.root / other).unlink()


def test_copy_with_less_in_it_is_a_copy(world):
    path = remembered(world)
    other = copied(world, path, "X (1).md")
    head, _, second = (world.read(path) or b"").split(b"<!-- ")
    world.put(other, head + b"<!-- " + second)
    assert found(world) == [path]
    world.put(other, head)  # all messages deleted: an empty file is not a copy, and holds nothing
    assert found(world) == [path]
    assert world.ws.memory.copies() == {}


def test_copy_saved_by_an_editor_is_a_copy(world):
    path = remembered(world)
    data = world.read(path) or b""
    world.put(copied(world, path, "X (1).md"), b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    assert found(world) == [path]


def test_copy_is_not_the_file_that_the_journal_names(world):
    path = remembered(world)
    copy = copied(world, path, "2026-01-29-a.md")  # a name like ours, shorter and before it
    world.round()
    assert found(world) == [path]
    assert world.reopen().ws.memory.copies() == {copy: path}
    assert found(world) == [path]


def test_copy_is_not_the_file_that_a_summary_names(world):
    remembered(world, "2026-01-10")
    world.settle()
    (path,) = world.dated_files()
    copied(world, path, "2026-01-10-a.md")
    shutil.rmtree(world.root / ".recalld")
    world.reopen().settle()
    assert path in found(world)
    assert sources(world, "2026-01-10") == [f"- {path.rpartition('/')[2]}"]
    assert world.ws.journal.names == {path.rpartition("/")[2]}


def test_copy_is_told_once_and_again_by_fsck(world):
    path = remembered(world)
    copy = copied(world, path, "X (1).md")
    world.settle()
    world.settle()
    assert world.events.of("copy_found") == [{"files": 1, "file": copy}]
    copied(world, path, "X (2).md")
    world.settle()
    assert [one["files"] for one in world.events.of("copy_found")] == [1, 2]
    world.reopen().settle()
    assert len(world.events.of("copy_found")) == 2
    ledger = world.fsck()
    assert ledger.copies == [f"{one} is a copy of {path}" for one in sorted(world.ws.memory.copies())]
    assert ledger.is_sound


def test_copy_that_an_older_recalld_had_filed_hides_nothing(world):
    path = remembered(world)
    copy = copied(world, path, "X (1).md").rpartition("/")[2]
    world.ws.journal.record_written(copy, world.ws.memory.blocks(copy))
    world.reopen().settle()
    assert found(world) == [path]
    world.forward(days=10).settle()
    assert world.flags() == [True, True]
    assert world.fsck().is_sound
    assert (world.fsck().in_files, world.fsck().lost) == (2, [])


def test_note_with_the_same_words_is_no_copy(world):
    remembered(world)
    for name in ("2026-01-29-a.md", "2026-01-29-b.md", "想法.md"):
        world.note(name, "# 家\n\n我对花生过敏，点外卖要备注。\n")
    assert len(found(world)) == 4


def test_copies_cost_no_reading_once_they_are_known(world):
    for day in range(10, 30):
        copied(world, remembered(world, f"2026-01-{day}"), "X (1).md")
    world.settle()
    world.refresh()
    disk = FaultyDisk()
    world.reopen(disk=disk)
    world.ws.memory.dated()
    world.refresh()
    disk.made.clear()
    world.ws.memory.dated()
    world.refresh()
    assert disk.count("read", "2026-") == 0


# ── a summary ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("spelling", [*SPELLINGS, "../X.md"])
def test_copy_of_a_summary_is_neither_found_nor_summarised(world, spelling):
    remembered(world, "2026-01-10")
    world.settle()
    before = found(world)
    assert "memory/summary/2026-01-10.md" in before
    copied(world, "memory/summary/2026-01-10.md", spelling)
    tree = world.tree()
    world.settle()
    assert found(world) == before
    assert world.tree() == tree
    assert len(world.model.requests) == 1


def test_copy_of_a_summary_is_searched_once_the_summary_is_gone(world):
    remembered(world, "2026-01-10")
    world.settle()
    copy = copied(world, "memory/summary/2026-01-10.md", "X (1).md")
    (world.root / "memory/summary/2026-01-10.md").unlink()
    assert copy in found(world)


def test_copy_of_a_summary_before_its_edit_stays_searched(world):
    remembered(world, "2026-01-10")
    world.settle()
    copied(world, "memory/summary/2026-01-10.md", "X (1).md")
    summary = world.read("memory/summary/2026-01-10.md") or b""
    world.put("memory/summary/2026-01-10.md", summary.replace("花生".encode(), "杏仁".encode()))
    assert "memory/summary/2026-01-10 (1).md" in found(world)


# ── the rule ─────────────────────────────────────────────────────────────────


def test_copies_keep_one_of_each_and_the_fullest():
    files = {
        "memory/2026-01-29-a (1).md": "2026-01-29 T8 1 2",
        "memory/2026-01-29-a.md": "2026-01-29 T8 1 2",
        "memory/2026-01-29-b.md": "2026-01-29 T7 1",
        "memory/2026-01-29-c.md": "2026-01-29 T8 3",
        "memory/2026-01-30-d.md": "2026-01-30 T8 3",
        "memory/note.md": "",
        "memory/other.md": "",
    }
    kept = {"memory/2026-01-29-a (1).md": "memory/2026-01-29-a.md", "memory/2026-01-29-b.md": "memory/2026-01-29-a.md"}
    assert copies(files, set) == kept
    assert copies(files, lambda: {"2026-01-29-a (1).md"})["memory/2026-01-29-a.md"] == "memory/2026-01-29-a (1).md"


def test_copies_ask_for_the_names_only_where_files_are_equal():
    def never() -> set[str]:
        raise AssertionError("it reads the journal for nothing")

    files = {"a.md": "2026-01-29 T8 1", "b.md": "2026-01-29 T7 2", "c.md": "2026-01-29 T8 2 3"}
    assert copies(files, never) == {"b.md": "c.md"}


def test_copies_keep_what_was_made_first_of_files_that_overlap():
    """Messages 1 to 4 were written to two files; before these arrived, 1 to 3, or 2 to 4, or all, were written again."""
    first = {"memory/2026-01-29-a.md": "2026-01-29 T1 1 2", "memory/2026-01-29-b.md": "2026-01-29 T2 3 4"}
    for again in ("1 2 3", "2 3 4", "1 2 3 4", "2 3"):
        files = {**first, "memory/2026-01-29-c.md": f"2026-01-29 T3 {again}"}
        assert list(copies(files, lambda: {"2026-01-29-c.md"})) == ["memory/2026-01-29-c.md"]
    assert list(copies({**first, "memory/2026-01-29-c.md": "2026-01-29 T3 2 5"}, set)) == []


def test_contents_are_empty_for_what_is_not_all_ours(world, tmp_path: Path):
    world.write(talk("2026-01-29T09:00", 2))
    world.settle()
    (path,) = world.dated_files()
    data = world.read(path) or b""
    assert len(contents(data, tmp_path).split()) == 4
    for other in (b"", b"# x\n", data.partition(b"<!--")[0], data.replace(b'"createdAt"', b'"at"', 1), b"\xff" + data):
        assert contents(other, tmp_path) == ""


# ── which files are compared ─────────────────────────────────────────────────


def test_ids_are_the_same_however_json_escapes_them(world):
    path = remembered(world)
    data = world.read(path) or b""
    assert len(ids_in(data) or ()) == 2
    escaped = data.replace(b'"id": "2026', b'"id": "\\u0032026')
    assert escaped != data
    assert ids_in(escaped) == ids_in(data)
    assert ids_in(data.replace(b'{"id"', b'{"of": 1, "id"')) is None


def test_files_may_be_copies_where_they_share_an_id_of_their_period(world):
    ids = ids_in(world.read(remembered(world)) or b"")
    assert ids
    assert may_be_copies({"a": ("2026-01-29", ids), "b": ("2026-01-30", ids)}) == set()
    assert may_be_copies({"a": ("2026-01-29", ids), "b": ("2026-01-29", ids[1:]), "c": ("2026-01-29", ids[:0])}) == {"a", "b"}
    assert may_be_copies({"a": ("2026-01-29", None), "b": ("2026-01-30", ids)}) == {"a"}
