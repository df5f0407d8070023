"""The index follows the files: new, changed, moved, deleted; rebuilt in one commit; shared by processes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recalld.supervisor.index.index
import recalld.supervisor.index.overlay
from recalld.supervisor.index.commit import Changes
from recalld.supervisor.index.engine import Engine
from recalld.supervisor.index.view import View
from recalld.supervisor.query.parse import parse_query
from recalld.supervisor.storage.clock import within
from recalld.supervisor.storage.control import UNLIMITED, Control
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import BadFile
from tests.patience import PATIENCE_S
from tests.world import WITHOUT_MODEL, FaultyDisk, World, at, message, talk

ROOT = Path(__file__).parents[2]


@pytest.fixture
def filled(world):
    world.reopen(WITHOUT_MODEL)
    world.write(
        [
            message("1", "2026-01-30T09:00", "我对花生过敏，点外卖要备注。"),
            message("2", "2026-01-29T10:00", "猫的疫苗九月十二号打。"),
        ]
    )
    world.settle()
    world.refresh()
    return world


# ── one process ──────────────────────────────────────────────────────────────


def test_index_reads_every_file_at_first_and_none_afterwards(world):
    world.note("2026-01-28-idea.md", "买一台电钢琴。\n")
    world.put("memory.md", "2026-01-20|web-chat|喜欢喝普洱\n")
    assert world.refresh() == Changes(read=2, new=True)
    assert world.refresh() == Changes()
    assert world.reopen().refresh() == Changes()


def test_index_reads_and_commits_nothing_when_no_file_changed(filled):
    disk = FaultyDisk()
    filled.reopen(disk=disk)
    filled.refresh()
    disk.made.clear()
    commits = (filled.root / ".recalld/index/meta.json").stat()
    filled.refresh()
    assert disk.count("read") == 0
    assert (filled.root / ".recalld/index/meta.json").stat() == commits


def test_index_follows_new_changed_and_deleted_files(filled):
    path = filled.note("wishes.md", "- 买一台电钢琴\n")
    assert filled.refresh() == Changes(read=1)
    assert filled.found_paths("电钢琴") == ["memory/wishes.md"]
    path.write_text("- 买一盏台灯\n", encoding="utf-8")
    assert filled.refresh() == Changes(read=1)
    assert (filled.found_paths("电钢琴"), filled.found_paths("台灯")) == ([], ["memory/wishes.md"])
    path.unlink()
    assert filled.refresh() == Changes(gone=1)
    assert filled.found_paths("台灯") == []


def test_index_follows_a_file_that_is_saved_by_rename(filled):
    path = filled.note("wishes.md", "- 买一台电钢琴\n")
    filled.refresh()
    new = path.with_name(".wishes.md.swp")
    new.write_text("- 买一盏台灯\n", encoding="utf-8")
    new.replace(path)
    filled.refresh()
    assert filled.found_paths("台灯") == ["memory/wishes.md"]


def test_index_cites_a_moved_file_at_its_new_path(filled):
    path = filled.note("wishes.md", "- 买一台电钢琴\n")
    filled.refresh()
    (filled.root / "memory/old").mkdir()
    path.rename(filled.root / "memory/old/wishes.md")
    assert filled.refresh() == Changes(moved=1)
    assert filled.found_paths("电钢琴") == ["memory/old/wishes.md"]


def test_index_finds_a_file_moved_to_originals_before_the_next_update(filled):
    (path,) = (filled.root / "memory").glob("2026-01-30-*.md")
    target = filled.paths.original(path.name)
    target.parent.mkdir(parents=True)
    path.rename(target)
    assert filled.found_paths("花生") == [filled.paths.relative(target)]


def test_index_finds_both_of_two_identical_files(filled):
    first, second = (filled.note(name, "- 买一台电钢琴\n") for name in ("a.md", "b.md"))
    filled.refresh()
    assert sorted(filled.found_paths("电钢琴")) == ["memory/a.md", "memory/b.md"]
    first.unlink()
    filled.refresh()
    assert filled.found_paths("电钢琴") == ["memory/b.md"]
    second.unlink()
    filled.refresh()
    assert filled.found_paths("电钢琴") == []


def test_index_rebuilds_and_reports_an_index_of_another_version(filled, monkeypatch):
    monkeypatch.setattr(recalld.supervisor.index.index, "VERSION", "other")
    filled.reopen()
    assert filled.found_paths("花生")  # from memory, meanwhile
    assert filled.refresh().rebuilt
    assert len(filled.events.of("index_damaged")) == 1
    assert filled.found_paths("花生")
    assert not filled.reopen().refresh().rebuilt


def test_index_holds_the_same_passages_after_a_requested_rebuild(filled):
    filled.note("wishes.md", "- 买一台电钢琴\n")
    filled.refresh()
    before = filled.search("花生").hits
    filled.refresh(rebuild=True)
    assert filled.search("花生").hits == before
    assert filled.found_paths("电钢琴") == ["memory/wishes.md"]
    assert filled.events.of("index_damaged") == []


def test_index_reports_progress_only_for_a_long_update(filled):
    seen = []
    filled.control = Control(progress=lambda *step: seen.append(step))
    filled.note("wishes.md", "- 买一台电钢琴\n")
    filled.refresh()
    assert seen == []
    for n in range(60):
        filled.note(f"idea-{n}.md", f"第 {n} 个想法\n")
    filled.refresh()
    assert seen[0] == ("index", 0, 60)
    assert seen[-1] == ("index", 59, 60)


def test_index_keeps_the_last_commit_when_told_to_stop(filled):
    for n in range(60):
        filled.note(f"idea-{n}.md", f"第 {n} 个想法\n")
    asked = iter(range(100))
    filled.control = Control(lambda: next(asked) == 30)
    with pytest.raises(InterruptedError):
        filled.refresh()
    filled.control = UNLIMITED
    filled.reopen()
    assert filled.found_paths("花生")
    assert filled.refresh() == Changes(read=60)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6))
def test_index_equals_a_rebuilt_one_after_any_changes(tmp_path_factory, seed):
    pick = random.Random(seed)
    world = World(tmp_path_factory.mktemp("world"), at("2026-01-31T10:00"))
    (world.root / "memory").mkdir(exist_ok=True)
    words = ("花生", "电钢琴", "部署", "backup", "猫", "普洱", "nginx", "疫苗")
    names = ("2026-01-28-a.md", "2026-01-28-b.md", "note.md", "trips/japan.md", "2026-01-27.md")
    for _ in range(8):
        path = world.note(pick.choice(names), "x")
        match pick.randrange(5):
            case 0:
                path.unlink()
            case 1:
                path.replace(path.with_name(f"moved-{path.name}"))
            case _:
                path.write_text("".join(f"- {' '.join(pick.choices(words, k=3))}\n" for _ in range(3)), encoding="utf-8")
        match pick.randrange(4):
            case 0:
                world.reopen()
            case 1:
                world.ws.index.hold_changes()
            case 2:
                world.search("花生 部署")
        world.refresh()
    query = parse_query("花生 电钢琴 backup", date(2026, 1, 31))
    followed = {(hit.unit.path, hit.unit.start, hit.unit.text) for hit in world.ws.index.search(query, 100).hits}
    world.reopen().refresh(rebuild=True)
    assert {(hit.unit.path, hit.unit.start, hit.unit.text) for hit in world.ws.index.search(query, 100).hits} == followed


# ── several ──────────────────────────────────────────────────────────────────


def test_index_shows_a_commit_to_another_process_at_its_next_search(filled):
    other = filled.another()
    assert other.found_paths("花生")
    filled.note("wishes.md", "- 买一台电钢琴\n")
    filled.refresh()
    assert other.found_paths("电钢琴") == ["memory/wishes.md"]


def test_index_searches_changes_in_memory_while_another_holds_the_lock(filled):
    filled.note("wishes.md", "- 买一台电钢琴\n")
    commits = (filled.root / ".recalld/index/meta.json").read_bytes()
    with filled.files.lock(filled.root / ".recalld/index.lock"):
        assert filled.refresh().shared
        assert filled.found_paths("电钢琴") == ["memory/wishes.md"]
    assert (filled.root / ".recalld/index/meta.json").read_bytes() == commits
    filled.refresh()
    filled.reopen()
    assert filled.found_paths("电钢琴") == ["memory/wishes.md"]


def test_overlay_scores_passages_as_the_index_does(filled):
    filled.write([one for n in (25, 26, 27) for one in talk(f"2026-01-{n}T09:00", 12, timedelta(minutes=1))])
    filled.settle()
    filled.refresh(rebuild=True)
    indexed = filled.search("nginx 配置 备份").hits
    filled.reopen()
    (filled.root / ".recalld/index/meta.json").unlink()
    held = filled.search("nginx 配置 备份", (), within(60)).hits
    assert [(hit.unit.message, hit.score) for hit in held] == [(hit.unit.message, hit.score) for hit in indexed]


@pytest.mark.parametrize(
    "question", ["上周", "上周我做了什么", "last week", "这周我们聊了哪些事", "上个月", "这个月", "in January", "去年"]
)
def test_overlay_finds_the_same_as_the_index_for_days_alone(filled, question):
    days = ("2025-12-08", "2025-12-30", *(f"2026-01-{n}" for n in ("05", 19, 20, 21, 22, 23, 24, 25)))
    filled.write([one for day in days for one in talk(f"{day}T09:00", 3, timedelta(minutes=1))])
    filled.settle()
    filled.refresh(rebuild=True)
    indexed = filled.search(question).hits
    filled.reopen()
    (filled.root / ".recalld/index/meta.json").unlink()
    held = filled.search(question, (), within(60)).hits
    named = parse_query(question, filled.ws.today(filled.clock())).days
    assert {hit.unit.day for hit in indexed if hit.unit.day in named[0]}
    assert {(hit.unit.message, hit.score) for hit in held} == {(hit.unit.message, hit.score) for hit in indexed}


def test_index_answers_one_thread_while_another_rebuilds_it(filled):
    faults, ended = [], threading.Event()

    def search():
        while not ended.is_set():
            try:
                if not filled.found_paths("花生"):
                    faults.append("nothing found")
            except BaseException as error:
                faults.append(repr(error))

    readers = [threading.Thread(target=search) for _ in range(2)]
    for reader in readers:
        reader.start()
    for n in range(12):
        filled.note(f"idea-{n}.md", f"第 {n} 个想法：电钢琴\n")
        filled.refresh(rebuild=n % 4 == 0)
    ended.set()
    for reader in readers:
        reader.join()
    assert faults == []
    assert filled.events.of("recall_failed") == []


def test_index_ignores_a_first_index_that_is_still_being_built(filled):
    shutil.rmtree(filled.root / ".recalld/index")
    filled.reopen()
    other, found = filled.another(), []
    # its list is there, nothing is committed
    filled.control = Control(lambda: found.append(other.found_paths("花生")) or False)
    assert filled.refresh().new
    assert found
    assert all(found)
    assert other.found_paths("花生")
    assert other.ws.index.current_commit == filled.ws.index.commit_on_disk()
    assert filled.events.of("index_damaged") == other.events.of("index_damaged") == []


def test_index_reports_no_damage_after_a_killed_first_build(filled):
    shutil.rmtree(filled.root / ".recalld/index")
    (filled.root / ".recalld/index").mkdir(mode=0o700)
    Engine(str(filled.root / ".recalld/index"), new=True)
    filled.reopen()
    assert filled.found_paths("花生")
    assert filled.refresh().new
    assert filled.found_paths("花生")
    assert filled.events.of("index_damaged") == []


def test_index_sees_a_commit_made_while_another_is_opened(filled, monkeypatch):
    other = filled.another()

    class Slow(Engine):
        def note(self):
            monkeypatch.setattr(recalld.supervisor.index.index, "Engine", Engine)
            filled.note("wishes.md", "- 买一台电钢琴\n")
            filled.refresh()
            return super().note()

    monkeypatch.setattr(recalld.supervisor.index.index, "Engine", Slow)
    assert other.found_paths("花生")
    assert other.found_paths("电钢琴") == ["memory/wishes.md"]
    assert other.events.of("index_damaged") == []


def test_index_reports_no_damage_when_segments_are_merged_while_opening(filled, monkeypatch):
    other = filled.another()

    def gone(folder, *, new):
        monkeypatch.setattr(recalld.supervisor.index.index, "Engine", Engine)
        filled.refresh(rebuild=True)
        raise BadFile(folder, "ValueError in the index's library")

    monkeypatch.setattr(recalld.supervisor.index.index, "Engine", gone)
    assert other.ws.index.inventory().files == 2  # of what was made meanwhile, at the first look
    assert other.found_paths("花生")
    assert other.events.of("index_damaged") == []


def test_index_searches_one_snapshot_when_a_commit_comes_in_between(filled, monkeypatch):
    """Else the one would be searched in what memory holds, not all, and the other in a commit; and nothing would tell it."""
    shutil.rmtree(filled.root / ".recalld/index")
    other, left = filled.another(), []
    monkeypatch.setattr(recalld.supervisor.index.overlay, "_MOST", 0)  # more has changed than memory holds
    filled.reopen()

    def slow(view, *how):
        found = ranked(view, *how)
        if not left:
            left.append(other.ws.index.left)
            filled.refresh()
        return found

    ranked = View.ranked
    monkeypatch.setattr(View, "ranked", slow)
    other.search("花生")
    assert left[0]
    assert ["not all changed files" in event["why"] for event in other.events.of("recall_failed")] == [True]
    assert other.found_paths("花生")


def test_index_ignores_a_segment_that_is_still_being_written(filled):
    part = filled.root / ".recalld/index" / f"{'a' * 32}.store"
    part.write_bytes("写到一半".encode())
    filled.reopen()
    assert filled.found_paths("花生")
    with part.open("ab") as growing:
        growing.write("，还有一半".encode())
    assert filled.found_paths("花生")
    assert filled.events.of("index_damaged") == []


def test_index_keeps_a_new_commit_when_it_forgets_a_damaged_one(filled):
    other = filled.another()
    assert other.found_paths("花生")
    filled.note("wishes.md", "- 买一台电钢琴\n")
    filled.refresh(rebuild=True)
    commits = filled.ws.index.commit_on_disk()
    other.ws.index.discard_commit()
    assert filled.ws.index.commit_on_disk() == commits
    assert other.found_paths("电钢琴") == ["memory/wishes.md"]


@pytest.mark.feature("000.49")
def test_index_rebuilds_and_reports_when_its_commit_list_is_gone(filled):
    (filled.root / ".recalld/index/meta.json").unlink()
    filled.reopen()
    assert filled.refresh().rebuilt
    assert len(filled.events.of("index_damaged")) == 1
    assert filled.found_paths("花生")


def test_index_notices_that_its_own_commit_was_truncated(filled):
    assert filled.ws.index.current_commit  # it has made the commit itself, and never opened it
    cut_off(filled)
    assert filled.found_paths("花生")
    assert len(filled.events.of("index_damaged")) == 1


def test_index_ignores_deletes_that_are_still_being_written(filled):
    (part,) = (filled.root / ".recalld/index").glob("*.store")
    deletes = part.with_suffix(".999.del")
    deletes.write_bytes(b"1")
    filled.reopen()
    assert filled.found_paths("花生")
    deletes.write_bytes(b"12")
    assert filled.found_paths("花生")
    assert filled.events.of("index_damaged") == []


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


def test_index_reports_and_repairs_repeated_damage(filled):
    for times in (1, 2, 3):
        assert filled.found_paths("花生")
        cut_off(filled)
        assert filled.found_paths("花生")
        assert len(filled.events.of("index_damaged")) == 2 * times - 1
        assert filled.refresh().rebuilt
        assert filled.ws.index.current_commit == filled.ws.index.commit_on_disk()


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


@pytest.mark.parametrize("look", range(1, 4))
def test_search_keeps_a_new_line_when_an_older_scan_is_committed(filled, look):
    """The commit lands while the search looks at the list of files for the *look*th time."""
    filled.reopen(disk=Meeting(filled.root / ".recalld/index/meta.json", look))
    other, scanned = filled.another(), threading.Event()
    filled.note("idea.md", "买一台电钢琴\n")
    other.control = Control(lambda: scanned.set() or not filled.disk.met.wait(PATIENCE_S))
    writer = threading.Thread(target=other.refresh)
    writer.start()
    assert scanned.wait(PATIENCE_S)
    filled.put("memory.md", "2026-01-30|web|小屋的钥匙挂在 tango 后面\n")
    filled.disk.meet = writer.join
    for _ in range(2):
        assert [hit.unit.path for hit in filled.search("tango", deadline=within(60)).hits] == ["memory.md"]
    assert filled.disk.met.is_set()


class Meeting(RealDisk):
    """A disk where something happens before the stat of *path* is taken for the *count*th time from then on."""

    def __init__(self, path, count):
        self.path, self.count, self.met, self.meet = path, count, threading.Event(), None

    def stat(self, path):
        if self.meet and path == self.path:
            self.count -= 1
            if self.count == 0:
                self.met.set()
                self.meet()
        return super().stat(path)


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


@pytest.mark.proof
def test_index_keeps_the_old_commit_after_an_interrupt(filled):
    for n in range(4000):
        filled.note(f"ideas/idea-{n}.md", f"第 {n} 个想法：电钢琴，备份到 /srv/data/{n}。\n")
    before = (filled.root / ".recalld/index/meta.json").read_bytes()
    # it stops itself, as Control-C would, after the thousandth group
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from recalld.supervisor.storage.clock import utc_now\n"
        "from recalld.supervisor.storage.control import Control\n"
        "from recalld.supervisor.workspace import open_workspace\n"
        f"ws = open_workspace(Path({str(filled.root)!r}), {{}}, utc_now)\n"
        "kill = lambda what, done, of: os.kill(os.getpid(), signal.SIGINT) if done == 1000 else None\n"
        "ws.searcher.refresh(control=Control(progress=kill))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == -signal.SIGINT or b"KeyboardInterrupt" in done.stderr
    assert (filled.root / ".recalld/index/meta.json").read_bytes() == before
    assert filled.reopen().refresh(5.0) == Changes(read=4000)
    assert not filled.events.of("index_damaged")


@pytest.mark.proof
def test_search_command_answers_two_processes_at_once(filled):
    for n in range(200):
        filled.note(f"ideas/idea-{n}.md", f"第 {n} 个想法：电钢琴 zz{n:03d}a。\n")
    command = [sys.executable, "-P", "-m", "recalld", "-w", str(filled.root), "search", "zz007a", "--json"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "RECALLD_RECALL_TIMEOUT_MS": "60000", "LC_ALL": "en_US.UTF-8"}
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ) for _ in range(2)]
    answers = [one.communicate(timeout=PATIENCE_S) for one in both]
    assert all(one.returncode == 0 for one in both)
    assert all(b"idea-7.md" in out for out, _ in answers)
    # the one that finds the index being written holds the newest files alone, and says so
    assert {err for _, err in answers if not err.startswith(b"recalld: not all of memory could be searched: ")} <= {b""}


def test_manifest_record_tells_whether_a_file_has_changed(filled):
    (path,) = (filled.root / "memory").glob("2026-01-30-*.md")
    record = filled.ws.index.records()[filled.paths.relative(path)]
    stat = RealDisk().stat(path)
    assert record.is_as(stat)
    assert not record.is_as(stat._replace(mtime_ns=stat.mtime_ns + 1))
    assert replace(record, original=True).tier == "original"


def test_index_holds_the_beginning_of_a_message_of_megabytes_filed_or_not(world):
    world.reopen(WITHOUT_MODEL)
    world.write([message("1", "2026-01-30T09:00", "我对花生过敏。" + "啊" * 1_000_000)])
    found = [world.found_texts("花生过敏")]
    world.settle()
    world.refresh()
    found.append(world.found_texts("花生过敏"))
    assert [[len(text) for text in texts] for texts in found] == [[50_000], [50_000]]
    assert world.ws.index.inventory().size_bytes < 200_000
