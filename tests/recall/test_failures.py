"""No failure in recall costs a turn: it returns by its deadline with what it has, or with nothing, and reports an event."""

import errno
import os
import random
import shutil
from itertools import count

import pytest

from recalld.supervisor.storage.clock import Deadline, within
from tests.world import WITHOUT_MODEL, FaultyDisk, message

#: What the event says of an error that no code expects.
UNEXPECTED = "unexpected error"
SAID = [
    message("1", "2026-01-30T09:00", "我对花生过敏，点外卖要备注。"),
    message("2", "2026-01-30T09:01", "记住了，花生过敏。", "assistant"),
    message("3", "2026-01-29T10:00", "猫的疫苗九月十二号打，证书在 kx7-cert-demo.pem 里。"),
]
PEANUT = "花生"
#: No time is left, by a clock that stands.
OVER = Deadline(1.0, lambda: 2.0)


@pytest.fixture
def filled(world):
    world.reopen(WITHOUT_MODEL)
    world.fill(SAID)
    world.events.all.clear()
    return world


def index_of(world):
    return world.root / ".recalld/index"


def asks(world, question=PEANUT, deadline=None):
    """Search and inject, in time by default, however busy the machine is; no event quotes what was asked or said."""
    found = world.search(question, deadline=deadline or within(60))
    assert not any(word in str(world.events.all) for word in ("过敏", "疫苗", question))
    world.inject(question, found)
    return found


@pytest.fixture
def disk(filled):
    """A disk on which nobody may read what has the name that `forbid` gives."""
    disk = FaultyDisk("stat", "stats", "names", "read", number=errno.EACCES)
    filled.reopen(disk=disk)
    return disk


def forbid(disk, name):
    """Let nobody read the file of this name, or look into the folder of this name."""
    disk.refuses = lambda call, path: name in ((path.parent.name,) if call == "stat" else (path.name, path.parent.name))


# ── the index ────────────────────────────────────────────────────────────────


@pytest.mark.feature("003.17")
def test_recall_answers_without_an_index_and_creates_none(filled):
    shutil.rmtree(index_of(filled))
    filled.reopen()
    found = asks(filled)
    assert (found.how, found.hits[0].unit.message) == ("bm25", "1")
    assert not index_of(filled).exists()


@pytest.mark.parametrize("end", ["fieldnorm", "fast", "idx", "pos", "term", "store"])
def test_index_detects_a_flipped_bit_before_the_engine_reads_it(filled, end):
    """In the store it has made the library ask for petabytes, which ends the process, of every command, each time."""
    (path,) = index_of(filled).glob(f"*.{end}")
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)
    filled.reopen()
    assert asks(filled).hits
    assert (bool(filled.ws.index.damage), len(filled.events.of("index_damaged"))) == (True, 1)  # so that it is built again
    assert filled.refresh().rebuilt
    assert asks(filled).hits


def test_index_inventory_does_not_consume_the_damage_report(filled):
    (index_of(filled) / "meta.json").write_bytes(b"{")
    filled.reopen()
    assert filled.ws.index.inventory().files == 0
    assert filled.ws.index.records() == {}
    assert filled.events.of("index_damaged") == []
    assert asks(filled).hits
    assert len(filled.events.of("index_damaged")) == 1


def test_recall_answers_and_refresh_repairs_any_damage_of_the_index(filled, capfd):
    kept = filled.root.parent / "kept"
    shutil.copytree(index_of(filled), kept)
    pick = random.Random(7)
    for _ in range(15):
        shutil.rmtree(index_of(filled))
        shutil.copytree(kept, index_of(filled))
        filled.reopen()
        filled.events.all.clear()
        if pick.random() < 0.5:
            asks(filled)
        path = pick.choice([path for path in sorted(index_of(filled).iterdir()) if not path.name.startswith(".")])
        data = bytearray(path.read_bytes())
        at = pick.randrange(len(data))
        flipped = data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :]
        how = pick.choice(["flip", "cut", "zero", "gone"])
        if how == "gone":
            path.unlink()
        else:
            path.write_bytes({"flip": flipped, "cut": data[:at], "zero": bytes(len(data))}[how])
        assert asks(filled).hits, (how, path.name)
        filled.refresh()
        assert asks(filled).hits, (how, path.name)
        assert UNEXPECTED not in str(filled.events.all)


def test_recall_answers_when_the_index_folder_is_unreadable(filled, disk):
    forbid(disk, "index")
    assert asks(filled).hits


# ── the files ────────────────────────────────────────────────────────────────


def test_refresh_skips_an_unreadable_file_and_reports_it_once(filled, disk):
    for name in ("secret.md", "plain.md"):
        filled.note(name, "买一台电钢琴。\n")
    forbid(disk, "secret.md")
    filled.refresh()
    filled.refresh()
    assert [hit.unit.path for hit in asks(filled, "电钢琴").hits] == ["memory/plain.md"]
    assert filled.events.of("file_unread") == [{"files": 1, "file": "memory/secret.md", "why": "PermissionError"}]
    disk.heal()
    filled.refresh()
    assert len(asks(filled, "电钢琴").hits) == 2


def test_recall_leaves_out_only_the_files_of_an_unreadable_folder(filled, disk):
    filled.note("trips/japan.md", "去京都看红叶。\n")
    filled.refresh()
    forbid(disk, "trips")
    assert asks(filled, "红叶").hits == ()
    filled.refresh()
    assert asks(filled).hits
    assert filled.events.of("file_unread")


def test_refresh_skips_a_file_that_changes_at_every_read(filled):
    def write_on(_call, path):
        if path.name == "log.md":
            path.write_text(f"{path.read_text()}还在写。\n")

    filled.note("log.md", "一直在写。\n")
    filled.reopen(disk=FaultyDisk("read", refuses=write_on))
    filled.refresh()
    assert asks(filled).hits
    assert filled.events.of("file_unread") == [{"files": 1, "file": "memory/log.md", "why": "Busy"}]


def test_refresh_skips_and_reports_a_note_of_fifty_megabytes(filled):
    with open(filled.root / "memory/heap.md", "wb") as file:
        file.truncate(50_000_000)
    filled.refresh()
    assert asks(filled).hits
    assert asks(filled, "kx7-cert").hits
    (event,) = filled.events.of("file_unread")
    assert event["file"] == "memory/heap.md"


# ── time ─────────────────────────────────────────────────────────────────────


def many(world, count):
    for n in range(count):
        path = world.note(f"idea-{n:04d}.md", f"第 {n} 个想法：电钢琴，编号 qx{n:04d}-part。\n")
        os.utime(path, (1_700_000_000 + n, 1_700_000_000 + n))


def test_recall_finds_the_newest_of_500_changes_while_the_index_is_locked(filled):
    many(filled, 500)
    with filled.files.lock(filled.root / ".recalld/index.lock"):
        assert filled.refresh().shared
        found = asks(filled, "电钢琴")
        assert found.hits[0].unit.path.startswith("memory/idea-04")
        assert asks(filled).hits  # what was committed is searched as well
        asks(filled, "电钢琴")
    assert "lacks" in str(found.unsearched)
    filled.refresh()
    assert (filled.ws.index.left, filled.ws.index.file_count) == (0, 502)
    assert asks(filled, "qx0007-part").hits[0].unit.path == "memory/idea-0007.md"
    assert len(filled.reopen().ws.index.records()) == 502


def test_overlay_stops_at_the_deadline_and_continues_at_the_next(filled):
    many(filled, 20)
    filled.ws.index.hold_changes(Deadline(9.5, count(1.0).__next__))  # looked at once before each file
    assert filled.ws.index.left == 11
    assert len(filled.ws.index._view.overlay.groups) == 9
    filled.ws.index.hold_changes(Deadline(9.5, count(1.0).__next__))
    assert filled.ws.index.left == 2
    filled.ws.index.hold_changes()
    assert filled.ws.index.left == 0
    assert len(asks(filled, "电钢琴").hits) == 20


def test_recall_reports_a_literal_search_that_ran_out_of_time(filled, monkeypatch):
    monkeypatch.setenv("PATH", "")
    many(filled, 200)
    filled.refresh()
    assert asks(filled, "x0007-pa", Deadline(1.0, lambda: 0.0)).how == "literal"
    assert filled.events.of("recall_failed") == []
    found = asks(filled, "x0007-pa", OVER)
    assert (found.hits, found.how) == ((), "failed")
    assert "time was up" in str(filled.events.of("recall_failed"))


def test_recall_searches_the_committed_index_without_any_time_left(filled):
    assert asks(filled, PEANUT, OVER).hits


def test_recall_reports_a_lasting_fault_once_until_it_is_over(filled):
    for _ in range(2):
        asks(filled, "zzzz-nothing", OVER)
    assert len(filled.events.of("recall_failed")) == 1
    asks(filled)
    asks(filled, "zzzz-nothing", OVER)
    assert len(filled.events.of("recall_failed")) == 2


# ── a link in place of the index ─────────────────────────────────────────────


@pytest.fixture(params=["elsewhere", "memory", "another index"])
def theirs(request, filled, tmp_path_factory):
    """Somebody's folder, to which `.recalld/index` is now a link; with what was in it."""
    folder = filled.paths.memory if request.param == "memory" else tmp_path_factory.mktemp("theirs")
    if request.param == "another index":
        shutil.copytree(index_of(filled), folder, dirs_exist_ok=True)
    for name in ("brief.txt", ".managed.json", "meta.json", "0" * 32 + ".idx"):
        (folder / name).write_text("某人的")
    shutil.rmtree(index_of(filled))
    index_of(filled).symlink_to(folder)
    return folder


def test_index_follows_no_link_and_search_goes_on_from_memory(filled, theirs):
    before = {path: path.read_bytes() for path in theirs.rglob("*") if path.is_file()}
    filled.reopen()
    filled.events.all.clear()
    updater = filled.index_updater()
    for _ in range(3):
        updater.step()
        assert {path: path.read_bytes() for path in theirs.rglob("*") if path.is_file()} == before
        assert filled.found_texts(PEANUT)
    (told,) = filled.events.of("index_stale")
    assert "it is a link or a file where recalld needs a folder of its own" in told["why"]
    for rebuild in (False, True):
        with pytest.raises(NotADirectoryError):
            filled.refresh(rebuild=rebuild)
    filled.ws.index.inventory()
    filled.ws.index.discard_commit(filled.ws.index.current_commit, "")
    assert {path: path.read_bytes() for path in theirs.rglob("*") if path.is_file()} == before
    index_of(filled).unlink()
    updater.step()
    assert filled.events.of("index_fresh")
    assert filled.found_texts(PEANUT)


def test_index_deletes_only_its_own_files(filled):
    for name in ("笔记.txt", "notes.idx", "0123.idx"):
        (index_of(filled) / name).write_text("某人的")
    (index_of(filled) / "meta.json").write_text("{")
    filled.reopen()
    filled.refresh()
    assert filled.found_texts(PEANUT)
    assert [(index_of(filled) / name).read_text() for name in ("笔记.txt", "notes.idx", "0123.idx")] == ["某人的"] * 3
