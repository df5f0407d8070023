"""No failure in recall costs a turn: it ends in its time with what there is, or with nothing, and an event tells of it."""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import time
from datetime import timedelta

import pytest

from supervisor.events import EVENTS
from supervisor.index.engine import Engine
from supervisor.index.literal import look_up
from supervisor.protocol.clock import Deadline, within
from supervisor.protocol.disk import RealDisk
from tests.world import WITHOUT_MODEL, FaultyDisk, message, talk

#: What a turn may take on a machine that does ten other things. The deadline itself is held exactly, below, by a cranked clock.
GENEROUS_S = 8.0
SAID = [
    message("1", "2026-01-30T09:00", "我对花生过敏，点外卖要备注。"),
    message("2", "2026-01-30T09:01", "记住了，花生过敏。", "assistant"),
    message("3", "2026-01-29T10:00", "猫的疫苗九月十二号打，证书在 kx7-cert-demo.pem 里。"),
]
PEANUT = "花生"


@pytest.fixture
def filled(world):
    world.reopen(WITHOUT_MODEL)
    world.write(SAID)
    world.settle()
    world.refresh()
    world.events.all.clear()
    return world


def index_of(world):
    return world.root / ".recalld/index"


def asks(world, question=PEANUT, deadline=None):
    """Ask in time, and see that no event quotes what was asked or said."""
    began = time.monotonic()
    found = world.search(question, deadline=deadline)
    assert time.monotonic() - began < GENEROUS_S
    assert not any(word in str(world.events.all) for word in ("过敏", "疫苗", question))
    world.inject(question, found)
    return found


class Cranked:
    """A monotonic clock that goes a step forward whenever it is looked at."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def forbid(disk, name):
    """Let nobody read the file of this name, or look into the folder of this name."""
    disk.refuses = lambda call, path: name in ((path.parent.name,) if call == "stat" else (path.name, path.parent.name))


# ── the index ────────────────────────────────────────────────────────────────


def test_an_index_that_is_deleted_while_it_is_searched_serves_the_turn_and_is_made_anew(filled):
    shutil.rmtree(index_of(filled))
    assert asks(filled).hits
    assert filled.refresh().rebuilt
    assert len(filled.events.of("index_damaged")) == 1
    assert asks(filled).hits
    assert (index_of(filled) / "meta.json").exists()


def test_an_index_that_somebody_deleted_while_nobody_had_it_open_is_made_and_told(filled):
    shutil.rmtree(index_of(filled))
    filled.reopen()
    filled.refresh()
    assert [event["files"] for event in filled.events.of("index_made")] == [filled.ws.index.file_count]
    assert filled.events.of("index_damaged") == []


def test_without_an_index_the_turn_is_served_from_memory(filled):
    shutil.rmtree(index_of(filled))
    filled.reopen()
    found = asks(filled)
    assert (found.how, next(hit.unit.message for hit in found.hits)) == ("bm25", "2")
    assert not index_of(filled).exists()


@pytest.mark.parametrize("harm", [b"", b"{", b"\x00" * 300, '{"segments": "花"}'.encode()])
def test_a_list_of_commits_that_is_rubbish_has_the_index_made_anew_and_the_turn_served_meanwhile(filled, harm):
    (index_of(filled) / "meta.json").write_bytes(harm)
    assert asks(filled).hits
    assert len(filled.events.of("index_damaged")) == 1
    filled.reopen()
    assert asks(filled).hits
    filled.refresh()
    assert asks(filled).hits


def test_a_part_of_the_index_that_is_cut_off_under_a_reader_does_not_end_the_process(filled):
    assert asks(filled).hits
    for path in index_of(filled).iterdir():
        if not path.name.startswith(".") and path.suffix != ".json":
            os.truncate(path, path.stat().st_size // 3)
    found = asks(filled)
    assert found.hits  # of what memory holds
    assert len(filled.events.of("index_damaged")) == 1
    filled.refresh()
    filled.reopen()
    assert asks(filled).hits


@pytest.mark.parametrize("end", ["fieldnorm", "fast", "idx", "pos", "term", "store"])
def test_one_bit_that_was_changed_in_the_index_is_noticed_before_the_library_trusts_it(filled, end):
    """In the store it has made the library ask for petabytes, which ends the process, of every command, each time."""
    (path,) = index_of(filled).glob(f"*.{end}")
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)
    filled.reopen()
    lost = []
    filled.ws.index_lost = lambda: lost.append("the index")
    assert asks(filled).hits
    assert (len(lost), len(filled.events.of("index_damaged"))) == (1, 1)  # so that who keeps it makes it anew
    assert filled.refresh().rebuilt
    assert asks(filled).hits


def test_who_only_asks_how_the_index_stands_keeps_its_damage_from_nobody(filled):
    (index_of(filled) / "meta.json").write_bytes(b"{")
    filled.reopen()
    assert filled.ws.index.inventory().files == 0
    assert filled.ws.index.records() == {}
    assert filled.events.of("index_damaged") == []
    assert asks(filled).hits
    assert len(filled.events.of("index_damaged")) == 1


def test_a_catalogue_of_rubbish_has_the_index_made_anew(filled):
    filled.ws.index._view = type(filled.ws.index._view)()
    Engine(str(index_of(filled)), new=False).write((), (), "目录".encode)
    filled.reopen()
    assert asks(filled).hits
    assert filled.refresh().rebuilt
    assert asks(filled).hits


def test_whatever_is_damaged_in_the_index_the_turn_finds_and_the_next_update_heals(filled, capfd):
    kept = filled.root.parent / "kept"
    shutil.copytree(index_of(filled), kept)
    pick = random.Random(7)
    for _ in range(25):
        shutil.rmtree(index_of(filled))
        shutil.copytree(kept, index_of(filled))
        filled.reopen()
        filled.events.all.clear()
        if pick.random() < 0.5:
            asks(filled)
        path = pick.choice([path for path in sorted(index_of(filled).iterdir()) if not path.name.startswith(".")])
        data = bytearray(path.read_bytes())
        at = pick.randrange(len(data))
        how = pick.choice(["flip", "cut", "zero", "gone"])
        if how == "gone":
            path.unlink()
        else:
            new = {"flip": data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :], "cut": data[:at], "zero": bytes(len(data))}[
                how
            ]
            path.write_bytes(new)
        assert asks(filled).hits, (how, path.name)
        filled.refresh()
        assert asks(filled).hits, (how, path.name)
        assert "nobody foresaw" not in str(filled.events.all)


def test_the_state_folder_that_can_not_be_looked_into_costs_no_turn(filled):
    disk = FaultyDisk("stat", "names", "read", number=errno.EACCES)
    filled.reopen(disk=disk)
    forbid(disk, "index")
    assert asks(filled).hits


# ── the files ────────────────────────────────────────────────────────────────


def test_a_file_that_may_not_be_read_costs_itself_alone_and_is_told_once(filled):
    disk = FaultyDisk("stat", "names", "read", number=errno.EACCES)
    filled.reopen(disk=disk)
    for name in ("secret.md", "plain.md"):
        (filled.root / "memory" / name).write_text("买一台电钢琴。\n", encoding="utf-8")
    forbid(disk, "secret.md")
    filled.refresh()
    filled.refresh()
    assert [hit.unit.path for hit in asks(filled, "电钢琴").hits] == ["memory/plain.md"]
    assert filled.events.of("file_unread") == [{"files": 1, "file": "memory/secret.md", "why": "PermissionError"}]
    disk.heal()
    filled.refresh()
    assert len(asks(filled, "电钢琴").hits) == 2


def test_a_folder_that_may_not_be_looked_into_costs_what_lies_there(filled):
    disk = FaultyDisk("stat", "names", "read", number=errno.EACCES)
    filled.reopen(disk=disk)
    (filled.root / "memory/trips").mkdir()
    filled.note("trips/japan.md", "去京都看红叶。\n")
    filled.refresh()
    assert asks(filled, "红叶").hits
    forbid(disk, "trips")
    assert asks(filled, "红叶").hits == ()
    filled.refresh()
    assert asks(filled).hits
    assert filled.events.of("file_unread")


def test_a_folder_that_is_gone_leaves_a_turn_without_memory(filled):
    shutil.rmtree(filled.root / "memory")
    assert asks(filled).hits == ()
    filled.refresh()
    assert asks(filled).hits == ()
    assert filled.ws.index.file_count == 0


def test_a_note_of_fifty_megabytes_is_left_out_and_told_and_costs_no_other_file(filled):
    with open(filled.root / "memory/heap.md", "wb") as file:
        file.truncate(50_000_000)
    filled.refresh()
    assert asks(filled).hits
    assert asks(filled, "kx7-cert").hits
    (event,) = filled.events.of("file_unread")
    assert event["file"] == "memory/heap.md"


def test_a_note_of_megabytes_is_found_but_not_read_through_in_a_turn(filled):
    text = "".join(f"- 第 {n} 行，讲的是 zzq{n:06d}。\n" for n in range(60_000))
    assert len(text.encode()) > 2_000_000
    filled.note("book.md", text)
    filled.note("small.md", "讲的是 zzq-unseen-part。\n")
    filled.refresh()
    assert next(hit.unit.start for hit in asks(filled, "zzq000777").hits) == 778
    assert [hit.unit.path for hit in asks(filled, "zzq-unse").hits] == ["memory/small.md"]


def test_a_file_that_somebody_is_writing_all_the_time_holds_nobody_up(filled):
    class Restless(RealDisk):
        """A disk on which one file is another at every look."""

        looks = 0

        def stat(self, path):
            found = super().stat(path)
            if found and path.name == "log.md":
                self.looks += 1
                return found._replace(mtime_ns=self.looks)
            return found

    disk = Restless()
    filled.note("log.md", "一直在写。\n")
    filled.reopen(disk=disk)
    filled.refresh()
    assert asks(filled).hits
    assert filled.events.of("file_unread") == [{"files": 1, "file": "memory/log.md", "why": "Busy"}]


def test_a_cited_file_that_has_changed_is_cited_as_it_is_now(filled):
    (path,) = (filled.root / "memory").glob("2026-01-30-*.md")
    path.write_text(path.read_text(encoding="utf-8").replace("点外卖要备注", "只吃开心果"), encoding="utf-8")
    assert "只吃开心果" in str(asks(filled).hits)
    path.unlink()
    assert asks(filled).hits == ()


# ── time ─────────────────────────────────────────────────────────────────────


def many(world, count):
    for n in range(count):
        text = f"第 {n} 个想法：电钢琴，编号 qx{n:04d}-part。\n"
        path = world.root / f"memory/idea-{n:04d}.md"
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1_700_000_000 + n, 1_700_000_000 + n))


def test_with_five_hundred_changed_files_and_the_index_held_by_another_the_turn_has_the_newest(filled):
    many(filled, 500)
    with filled.files.lock(filled.root / ".recalld/index.lock"):
        assert filled.refresh().shared
        found = asks(filled, "电钢琴")
        assert found.hits[0].unit.path.startswith("memory/idea-04")
        assert asks(filled).hits  # what was committed is searched as well
        asks(filled, "电钢琴")
    (event,) = filled.events.of("recall_failed")
    assert "not all that has changed" in str(event["why"])
    filled.refresh()
    assert (filled.ws.index.left, filled.ws.index.file_count) == (0, 502)
    assert asks(filled, "qx0007-part").hits[0].unit.path == "memory/idea-0007.md"
    assert len(filled.reopen().ws.index.records()) == 502


def test_what_is_taken_into_memory_ends_at_the_deadline_and_goes_on_at_the_next(filled):
    many(filled, 40)
    clock = Cranked(1.0)
    filled.ws.index.freshen(Deadline(10.5, clock))  # looked at once before each file: ten times it is not over
    assert filled.ws.index.left == 30
    assert len(filled.ws.index._view.fresh.groups) == 10
    filled.ws.index.freshen(Deadline(clock.now + 10.5, clock))
    assert filled.ws.index.left == 20
    filled.ws.index.freshen()
    assert filled.ws.index.left == 0
    assert len(asks(filled, "电钢琴").hits) == 40


def test_the_literal_search_ends_at_the_deadline_with_the_newest_files(filled, monkeypatch):
    monkeypatch.setenv("PATH", "")  # no ripgrep
    many(filled, 3000)
    filled.refresh()
    records = filled.ws.index.records()

    def look(deadline, part):
        return look_up(filled.files, filled.layout, records, [part], 20, filled.ws.zone, deadline)

    assert [hit.unit.path for hit in look(Deadline(50.5, Cranked(1.0)), "qx2960")] == ["memory/idea-2960.md"]
    assert look(Deadline(20.5, Cranked(1.0)), "qx2960") == []
    assert len(look(within(60), "qx29")) == 20


def test_a_literal_search_that_is_cut_short_is_told(filled, monkeypatch):
    monkeypatch.setenv("PATH", "")
    many(filled, 200)
    filled.refresh()
    clock = Cranked(0.0)
    assert asks(filled, "x0007-pa", Deadline(1.0, clock)).how == "literal"
    assert filled.events.of("recall_failed") == []
    clock.now = 2.0
    found = asks(filled, "x0007-pa", Deadline(1.0, clock))
    assert (found.hits, found.how) == ((), "failed")
    assert "time was up" in str(filled.events.of("recall_failed"))


def test_with_no_time_at_all_the_committed_index_is_still_searched(filled):
    assert asks(filled, PEANUT, Deadline(0.0)).hits


def test_a_lasting_fault_is_told_once_and_again_only_after_it_was_over(filled):
    clock = Cranked(0.0)
    for now in (2.0, 3.0):
        clock.now = now
        asks(filled, "zzzz-nothing", Deadline(1.0, clock))
    assert len(filled.events.of("recall_failed")) == 1
    asks(filled)
    asks(filled, "zzzz-nothing", Deadline(1.0, clock))
    assert len(filled.events.of("recall_failed")) == 2


@pytest.mark.parametrize(
    "question", ["\ud800花生", "\x00", "花" * 20_000, "a" * 100_000, "(((", "-e --files /etc", "“”…", "\u202e生花"]
)
def test_odd_questions_end_in_a_turn(filled, question):
    filled.search(question)
    assert filled.events.of("recall_failed") == []


@pytest.mark.parametrize("fault", [RuntimeError("花生过敏"), OSError(errno.EIO, "花生"), KeyError("花生"), RecursionError()])
def test_a_bug_anywhere_in_the_search_ends_in_a_turn_without_memory_and_an_event_without_words(filled, fault):
    def fail(*_args, **_named):
        raise fault

    filled.ws.index.search = fail
    filled.ws.index.records = fail
    found = asks(filled, "kx7-cert-de")
    assert (found.hits, found.how) == ((), "failed")
    assert len(filled.events.of("recall_failed")) == 1


def test_the_events_of_failures_exist():
    assert {"recall_failed", "file_unread", "index_damaged", "backend_failed", "backend_back"} <= set(EVENTS)


def test_a_turn_without_an_index_over_many_days_finds_the_newest(filled):
    filled.write([one for n in range(1, 25) for one in talk(f"2026-01-{n:02d}T09:00", 30, timedelta(minutes=1))])
    filled.settle()
    shutil.rmtree(index_of(filled))
    filled.reopen()
    found = asks(filled, "nginx 的配置")
    assert found.hits
    assert found.hits[0].unit.day == max(hit.unit.day for hit in found.hits if hit.unit.day)


@pytest.mark.parametrize(
    "odd",
    ['"createdAt": "9999-12-31T23:59:59.000Z"', '"createdAt": "0001-01-01T00:00:00.000Z"', '"id": ' + "[" * 990 + "]" * 990],
)
def test_one_odd_block_does_not_make_all_of_memory_unfindable(world, odd):
    world.write(
        [message("a", "2026-01-30T09:00", "订单放在门口的柜子里。"), message("b", "2026-01-29T09:00", "我对花生过敏。")]
    )
    world.settle()
    path = next(path for path in world.layout.memory.glob("2026-01-29-*.md"))
    key = odd.partition(":")[0]
    path.write_text(re.sub(rf'{key}: "[^"]*"', odd, path.read_text()))
    for zone in ("Asia/Shanghai", "America/New_York"):
        world.reopen(world.toml.replace("Asia/Shanghai", zone))
        world.refresh()
        found = world.search("订单放在哪里？")
        assert any("柜子" in hit.unit.text for hit in found.hits), found
