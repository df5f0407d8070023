"""The index follows the files: new, changed, moved, deleted; rebuilt in one commit; shared by processes."""

from __future__ import annotations

import os
import re
import shutil
import threading
from pathlib import Path

import pytest

import recalld.supervisor.index.index
import recalld.supervisor.index.view
from recalld.supervisor.index.engine import Engine
from recalld.supervisor.index.manifest import Changes
from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.interfaces.tools.anthropic_memory import AnthropicMemory
from recalld.supervisor.storage.control import Control
from recalld.supervisor.storage.errors import BadFile
from tests.world import WITH_MODEL, WITHOUT_MODEL, FaultyDisk, message

ROOT = Path(__file__).parents[2]


@pytest.fixture
def filled(world):
    world.reopen(WITHOUT_MODEL)
    world.fill(
        [
            message("1", "2026-01-30T09:00", "我对花生过敏，点外卖要备注。"),
            message("2", "2026-01-29T10:00", "猫的疫苗九月十二号打。"),
        ]
    )
    return world


# ── one process ──────────────────────────────────────────────────────────────


def test_index_reads_and_commits_nothing_when_no_file_changed(filled):
    disk = FaultyDisk()
    filled.reopen(disk=disk)
    filled.refresh()
    disk.made.clear()
    commits = (filled.root / ".recalld/index/meta.json").stat()
    filled.refresh()
    assert disk.count("read") == 0
    assert (filled.root / ".recalld/index/meta.json").stat() == commits


@pytest.mark.feature("001.7")
def test_index_adds_a_saved_file_and_drops_a_deleted_one(filled):
    note = filled.note("2026-01-29-idea.md", "买一台电钢琴，预算六千。\n")
    filled.refresh()
    assert "电钢琴" in filled.found_texts("电钢琴多少钱")[0]
    note.unlink()
    filled.refresh()
    assert filled.found_texts("电钢琴多少钱") == []


def test_index_finds_a_cited_file_as_it_is_now_beside_many_changed_ones(filled):
    for n in range(60):
        filled.note(f"idea-{n:02}.md", f"第 {n} 个想法：电钢琴 zq{n}x\n")
    filled.refresh()
    for n in range(60):
        filled.note(f"idea-{n:02}.md", f"第 {n} 个想法：大提琴 zq{n}x\n")
    assert filled.found_texts("zq0x") == ["第 0 个想法：大提琴 zq0x"]


def test_index_rebuilds_and_reports_an_index_of_another_version(filled, monkeypatch):
    monkeypatch.setattr(recalld.supervisor.index.index, "VERSION", "other")
    filled.reopen()
    assert filled.found_paths("花生")  # from memory, meanwhile
    assert filled.refresh().rebuilt
    assert len(filled.events.of("index_damaged")) == 1
    assert filled.found_paths("花生")
    assert not filled.reopen().refresh().rebuilt


@pytest.mark.parametrize(
    ("often", "late", "question"),
    [
        ("例会", "例会改到每个星期四上午十点，在二楼的大会议室里开。", "例会是什么时候"),
        ("standup", "the standup has moved to Thursday at ten, in the large room on the second floor", "when is the standup"),
    ],
)
def test_index_finds_what_is_behind_many_originals_that_are_left_out(world, monkeypatch, often, late, question):
    monkeypatch.setattr(recalld.supervisor.index.view, "CANDIDATES", 3)
    world.reopen(f'{WITH_MODEL}[recall]\noriginals = "never"\n')
    world.model.script = lambda *_: "## 备份\n\n备份放在 /srv/backup。"
    world.write([message(f"m{n}", f"2026-01-10T{9 + n:02}:00", f"{often} {n}") for n in range(9)])
    world.settle()
    world.fill([message("late", "2026-01-29T09:00", late)])
    assert len([*world.paths.originals.rglob("*.md")]) == 1
    assert world.found_texts(question)[0] == late


def test_tag_of_a_file_that_moved_is_read_by_get_and_by_the_memory_tool(world):
    world.fill(
        [message("7", "2026-01-10T10:00", "猫的疫苗九月十二号打。"), message("8", "2026-01-10T10:01", "记下了。", "assistant")]
    )
    question = "猫的疫苗"
    found = world.search(question)
    (moved,) = (
        hit.unit for hit in found.hits if hit.unit.path.startswith("memory/originals/2026-01/") and hit.unit.role == "user"
    )
    tag = re.search(r"\[(memory/(2026-01-10-[^/]*\.md)#L\d+[^]]*)\]", world.inject(question, found).memory)
    assert tag
    assert tag[2] == moved.path.rpartition("/")[2]
    assert world.get(tag[1]).text.startswith("猫的疫苗九月十二号打。")
    viewed = AnthropicMemory(Memory(world.ws, clock=world.clock))({"command": "view", "path": f"/memories/{tag[2]}"})
    assert not viewed.is_error
    assert "猫的疫苗九月十二号打。" in viewed.text


# ── several ──────────────────────────────────────────────────────────────────


def test_index_reports_no_damage_after_a_killed_first_build(filled):
    shutil.rmtree(filled.root / ".recalld/index")
    (filled.root / ".recalld/index").mkdir(mode=0o700)
    Engine(filled.files.disk, filled.root / ".recalld/index", new=True)
    filled.reopen()
    assert filled.found_paths("花生")
    assert filled.refresh().new
    assert filled.found_paths("花生")
    assert filled.events.of("index_damaged") == []


def test_index_reports_no_damage_when_segments_are_merged_while_opening(filled, monkeypatch):
    other = filled.another()

    def gone(_disk, folder, *, new):
        monkeypatch.setattr(recalld.supervisor.index.index, "Engine", Engine)
        filled.refresh(rebuild=True)
        raise BadFile(folder, "ValueError in the index's library")

    monkeypatch.setattr(recalld.supervisor.index.index, "Engine", gone)
    assert other.ws.index.inventory().files == 2  # of what was made meanwhile, at the first look
    assert other.found_paths("花生")
    assert other.events.of("index_damaged") == []


def test_index_keeps_a_new_commit_when_it_forgets_a_damaged_one(filled):
    other = filled.another()
    assert other.found_paths("花生")
    filled.note("wishes.md", "- 买一台电钢琴\n")
    filled.refresh(rebuild=True)
    commits = filled.ws.index.commit_on_disk()
    other.ws.index.discard_commit()
    assert filled.ws.index.commit_on_disk() == commits
    assert other.found_paths("电钢琴") == ["memory/wishes.md"]


def cut_off(world):
    """Cut a part of the index off, as a fault of the disk does."""
    part = next(path for path in sorted((world.root / ".recalld/index").glob("*.store")))
    os.truncate(part, part.stat().st_size // 3)


def test_index_repairs_damage_found_while_another_held_the_lock(filled):
    keeper, other = filled, filled.another()
    assert other.found_paths("花生")
    cut_off(filled)
    with filled.files.lock(filled.root / ".recalld/index.lock"):
        assert other.found_paths("花生")
    assert keeper.refresh().rebuilt  # though it has that commit open, and no file of memory is another
    assert other.found_paths("花生")
    assert other.ws.index.current_commit == keeper.ws.index.commit_on_disk()


def test_index_makes_no_commit_on_a_damaged_one(filled):
    """Its list would be newer than the damage, which nobody would look for then."""
    filled.note("wishes.md", "- 买一台电钢琴\n")
    cut_off(filled)
    filled.refresh()
    assert len(filled.events.of("index_damaged")) == 1
    other = filled.another()
    assert other.found_paths("花生")
    assert other.found_paths("电钢琴") == ["memory/wishes.md"]
    assert other.events.of("index_damaged") == []


def test_index_reports_damage_that_happens_during_a_commit(filled):
    filled.note("wishes.md", "- 买一台电钢琴\n")
    (part,) = (filled.root / ".recalld/index").glob("*.store")
    looks = []
    filled.control = Control(lambda: bool(looks.append(part.exists() and part.write_bytes(part.read_bytes()))))
    filled.refresh()
    assert looks
    assert len(filled.events.of("index_damaged")) == 1
    other = filled.another()
    assert other.found_paths("花生")
    assert other.events.of("index_damaged") == []


def test_index_finds_every_committed_file_beside_two_writers(filled):
    shutil.rmtree(filled.root / ".recalld/index")
    written, faults, worlds = {1: 0, 2: 0}, [], []

    def another():
        world = filled.another()
        world.reopen(WITHOUT_MODEL)
        worlds.append(world)
        return world

    def write(who):
        world = another()
        for n in range(1, 16):
            world.note(f"idea-{who}-{n}.md", f"第 {n} 个想法：电钢琴 zq{who}x{n}\n")
            if not world.refresh(5.0, rebuild=n % 7 == 0).shared:
                written[who] = n

    def search():
        while any(writer.is_alive() for writer in writers):
            world = another()  # as a command does, and then as a service
            for who, n in [one for _ in range(4) for one in written.items() if one[1]]:
                if world.found_paths(f"zq{who}x{n}") != [f"memory/idea-{who}-{n}.md"]:
                    faults.append((who, n))

    writers = [threading.Thread(target=write, args=(who,)) for who in written]
    readers = [threading.Thread(target=search) for _ in range(2)]
    for one in (*writers, *readers):
        one.start()
    for one in (*writers, *readers):
        one.join()
    assert faults == []
    assert all(written.values())
    assert [
        world.events.of(event) for world in worlds for event in ("index_damaged", "recall_failed") if world.events.of(event)
    ] == []


def test_index_keeps_the_old_commit_after_an_interrupt(filled):
    for n in range(200):
        filled.note(f"ideas/idea-{n}.md", f"第 {n} 个想法：电钢琴，备份到 /srv/data/{n}。\n")
    before = (filled.root / ".recalld/index/meta.json").read_bytes()

    def interrupt(_what, done, _of):
        if done == 100:
            raise KeyboardInterrupt

    filled.control = Control(progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        filled.refresh()
    assert (filled.root / ".recalld/index/meta.json").read_bytes() == before
    assert filled.reopen().refresh(5.0) == Changes(read=200)
    assert not filled.events.of("index_damaged")
