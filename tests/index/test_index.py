"""The index follows the files: new, changed, moved, deleted; rebuilt in one commit, or made in parts; shared by processes."""

import os
import random
import re
import shutil
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recalld.supervisor.index.index
import recalld.supervisor.index.view
import recalld.supervisor.recall.search
from recalld.supervisor.index.engine import Engine
from recalld.supervisor.index.manifest import Changes
from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.interfaces.tools.anthropic_memory import AnthropicMemory
from recalld.supervisor.storage.control import UNLIMITED, Control
from recalld.supervisor.storage.errors import BadFile
from tests.world import WITH_MODEL, WITHOUT_MODEL, FaultyDisk, World, at, message

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
    world.model.script = lambda *_: f"## {often}\n\n{often} 0、1、2、3、4。"
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
    filled.refresh()
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
    other.ws.index.discard_commit(other.ws.index.current_commit, "")
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


# ── in parts: each update goes on where time was up for the last one ─────────────

WORDS = ("花生", "电钢琴", "部署", "backup", "猫", "普洱", "nginx", "疫苗", "电钢", "钢琴")


@pytest.fixture
def noted(world):
    """A memory of six notes, one a day."""
    for n in range(1, 7):
        world.note(f"2026-01-0{n}.md", f"第 {n} 天：电钢琴 qx{n}。\n")
    return world


def part(world):
    """Update the index without any time: it makes the least that it ever does."""
    return world.ws.index.update(0.0, UNLIMITED, 0.0)


def whole(world):
    """Every passage of the index, with its place: not a search, of which the gate may say no."""
    view = world.ws.index._view
    found = view.engine.candidates(dict.fromkeys(WORDS, 1.0), {}, (), None, 500)
    passages = [view.passage_of(one) for one in found]
    return sorted((one.path, one.start, one.text) for one in passages)


def test_update_without_time_makes_the_newest_and_the_next_goes_on(noted):
    found = []
    for left in range(5, -1, -1):
        part(noted.reopen())
        assert noted.ws.index.left == left
        found.append(sorted(noted.found_paths("电钢琴")))
    assert found == [[f"memory/2026-01-0{day}.md" for day in range(first, 7)] for first in range(6, 0, -1)]
    assert part(noted) == Changes()


def test_search_says_how_far_the_index_is_and_reports_no_fault(noted):
    part(noted)
    found = noted.search("电钢琴")
    assert [hit.unit.path for hit in found.hits] == ["memory/2026-01-06.md"]
    assert "lacks 5 days and files so far" in str(found.unsearched)
    assert noted.events.of("recall_failed") == []
    noted.refresh()
    assert noted.search("电钢琴").unsearched == ""


def test_search_finds_as_written_what_the_index_lacks_yet(noted):
    noted.note("2026-01-01.md", "尤克里里借给了邻居。\n")
    part(noted)
    assert noted.ws.index.left > 3
    found = noted.search("尤克里里借给谁了？")
    assert ([hit.unit.path for hit in found.hits], found.how) == (["memory/2026-01-01.md"], "literal")


def test_refresh_whole_makes_every_part_until_told_to_stop(noted, monkeypatch):
    monkeypatch.setattr(recalld.supervisor.recall.search, "_PART_S", 0.0)
    asked = iter(range(100))
    noted.ws.searcher.refresh_whole(control=Control(lambda: next(asked) >= 3))
    assert 0 < noted.ws.index.left < 6
    noted.ws.searcher.refresh_whole()
    assert noted.ws.index.left == 0
    assert len(noted.found_paths("电钢琴")) == 6


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6))
def test_index_in_parts_equals_a_rebuilt_one_after_any_changes(tmp_path_factory, seed):
    pick = random.Random(seed)
    world = World(tmp_path_factory.mktemp("world"), at("2026-01-31T10:00"))
    names = ("2026-01-28-a.md", "2026-01-28-b.md", "note.md", "trips/japan.md", "2026-01-27.md", "memory.md")
    for _ in range(12):
        path = world.note(pick.choice(names), "x")
        match pick.randrange(5):
            case 0:
                path.unlink()
            case 1:
                path.replace(path.with_name(f"moved-{path.name}"))
            case _:
                lines = (f"- {' '.join(pick.choices(WORDS[:8], k=3))}\n" for _ in range(pick.randrange(1, 6)))
                path.write_text("\n".join(lines), encoding="utf-8")
        match pick.randrange(4):
            case 0:
                world.reopen()
            case 1:
                world.ws.index.hold_changes()
            case 2:
                world.search("花生 部署")
        part(world)
    for _ in range(100):
        part(world)
    assert world.ws.index.left == 0
    followed = whole(world)
    world.reopen().refresh(rebuild=True)
    assert whole(world) == followed
