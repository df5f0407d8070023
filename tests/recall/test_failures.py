"""No failure in recall costs a turn: it ends in its time with what there is, or with nothing, and an event tells of it."""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from supervisor.context.build import inject
from supervisor.events import EVENTS
from supervisor.index.engine import Engine
from supervisor.index.literal import look_up
from supervisor.protocol.clock import Deadline, within
from supervisor.protocol.disk import RealDisk
from supervisor.recall.search import recall, refresh
from tests.conftest import WITHOUT_MODEL, message, talk

if TYPE_CHECKING:
    from pathlib import Path

#: What a turn may take on a machine that does ten other things. The deadline itself is held exactly, below, by a cranked clock.
GENEROUS_S = 8.0
SAID = [
    message("1", "2026-01-30T09:00", "我对花生过敏，点外卖要备注。"),
    message("2", "2026-01-30T09:01", "记住了，花生过敏。", "assistant"),
    message("3", "2026-01-29T10:00", "猫的疫苗九月十二号打，证书在 kx7-cert-demo.pem 里。"),
]
PEANUT = "花生"


@pytest.fixture
def told(desk):
    desk.reopen(WITHOUT_MODEL)
    desk.write(SAID)
    desk.settle()
    refresh(desk.ws)
    desk.told.all.clear()
    return desk


def index_of(desk):
    return desk.root / ".recalld/index"


def asks(desk, question=PEANUT, deadline=None):
    """Ask in time, and see that no event quotes what was asked or said."""
    began = time.monotonic()
    found = recall(desk.ws, question, desk.clock(), deadline=deadline)
    assert time.monotonic() - began < GENEROUS_S
    assert not any(word in str(desk.told.all) for word in ("过敏", "疫苗", question))
    inject(desk.ws, question, desk.clock(), found)
    return found


class Cranked:
    """A monotonic clock that goes a step forward whenever it is looked at."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class Refusing(RealDisk):
    """A disk that refuses to read some paths."""

    def __init__(self) -> None:
        self.refused: set[str] = set()

    def _refuse(self, path: Path) -> None:
        if any(part in self.refused for part in (path.name, path.parent.name)):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    def stat(self, path):
        if path.parent.name in self.refused:
            self._refuse(path)
        return super().stat(path)

    def names(self, folder):
        self._refuse(folder)
        return super().names(folder)

    def read(self, path, offset=0):
        self._refuse(path)
        return super().read(path, offset)


# ── the index ────────────────────────────────────────────────────────────────


def test_an_index_that_is_deleted_while_it_is_searched_serves_the_turn_and_is_made_anew(told):
    shutil.rmtree(index_of(told))
    assert asks(told).hits
    assert refresh(told.ws).rebuilt
    assert len(told.told.of("index_damaged")) == 1
    assert asks(told).hits
    assert (index_of(told) / "meta.json").exists()


def test_an_index_that_somebody_deleted_while_nobody_had_it_open_is_made_and_told(told):
    shutil.rmtree(index_of(told))
    told.reopen()
    refresh(told.ws)
    assert [event["files"] for event in told.told.of("index_made")] == [told.ws.index.file_count]
    assert told.told.of("index_damaged") == []


def test_without_an_index_the_turn_is_served_from_memory(told):
    shutil.rmtree(index_of(told))
    told.reopen()
    found = asks(told)
    assert (found.how, next(hit.unit.message for hit in found.hits)) == ("bm25", "2")
    assert not index_of(told).exists()


@pytest.mark.parametrize("harm", [b"", b"{", b"\x00" * 300, '{"segments": "花"}'.encode()])
def test_a_list_of_commits_that_is_rubbish_has_the_index_made_anew_and_the_turn_served_meanwhile(told, harm):
    (index_of(told) / "meta.json").write_bytes(harm)
    assert asks(told).hits
    assert len(told.told.of("index_damaged")) == 1
    told.reopen()
    assert asks(told).hits
    refresh(told.ws)
    assert asks(told).hits


def test_a_part_of_the_index_that_is_cut_off_under_a_reader_does_not_end_the_process(told):
    assert asks(told).hits
    for path in index_of(told).iterdir():
        if not path.name.startswith(".") and path.suffix != ".json":
            os.truncate(path, path.stat().st_size // 3)
    found = asks(told)
    assert found.hits  # of what memory holds
    assert len(told.told.of("index_damaged")) == 1
    refresh(told.ws)
    told.reopen()
    assert asks(told).hits


@pytest.mark.parametrize("end", ["fieldnorm", "fast", "idx", "pos", "term", "store"])
def test_one_bit_that_was_changed_in_the_index_is_noticed_before_the_library_trusts_it(told, end):
    """In the store it has made the library ask for petabytes, which ends the process, of every command, each time."""
    (path,) = index_of(told).glob(f"*.{end}")
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)
    told.reopen()
    lost = []
    told.ws.index_lost = lambda: lost.append("the index")
    assert asks(told).hits
    assert (len(lost), len(told.told.of("index_damaged"))) == (1, 1)  # so that who keeps it makes it anew
    assert refresh(told.ws).rebuilt
    assert asks(told).hits


def test_who_only_asks_how_the_index_stands_keeps_its_damage_from_nobody(told):
    (index_of(told) / "meta.json").write_bytes(b"{")
    told.reopen()
    assert told.ws.index.inventory().files == 0
    assert told.ws.index.records() == {}
    assert told.told.of("index_damaged") == []
    assert asks(told).hits
    assert len(told.told.of("index_damaged")) == 1


def test_a_catalogue_of_rubbish_has_the_index_made_anew(told):
    told.ws.index._view = type(told.ws.index._view)()
    Engine(str(index_of(told)), new=False).write((), (), "目录".encode)
    told.reopen()
    assert asks(told).hits
    assert refresh(told.ws).rebuilt
    assert asks(told).hits


def test_whatever_is_damaged_in_the_index_the_turn_finds_and_the_next_update_heals(told, capfd):
    kept = told.root.parent / "kept"
    shutil.copytree(index_of(told), kept)
    pick = random.Random(7)
    for _ in range(25):
        shutil.rmtree(index_of(told))
        shutil.copytree(kept, index_of(told))
        told.reopen()
        told.told.all.clear()
        if pick.random() < 0.5:
            asks(told)
        path = pick.choice([path for path in sorted(index_of(told).iterdir()) if not path.name.startswith(".")])
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
        assert asks(told).hits, (how, path.name)
        refresh(told.ws)
        assert asks(told).hits, (how, path.name)
        assert "nobody foresaw" not in str(told.told.all)


def test_the_state_folder_that_can_not_be_looked_into_costs_no_turn(told):
    disk = Refusing()
    told.reopen(disk=disk)
    disk.refused = {"index"}
    assert asks(told).hits


# ── the files ────────────────────────────────────────────────────────────────


def test_a_file_that_may_not_be_read_costs_itself_alone_and_is_told_once(told):
    disk = Refusing()
    told.reopen(disk=disk)
    for name in ("secret.md", "plain.md"):
        (told.root / "memory" / name).write_text("买一台电钢琴。\n", encoding="utf-8")
    disk.refused = {"secret.md"}
    refresh(told.ws)
    refresh(told.ws)
    assert [hit.unit.path for hit in asks(told, "电钢琴").hits] == ["memory/plain.md"]
    assert told.told.of("file_unread") == [{"files": 1, "file": "memory/secret.md", "why": "PermissionError"}]
    disk.refused = set()
    refresh(told.ws)
    assert len(asks(told, "电钢琴").hits) == 2


def test_a_folder_that_may_not_be_looked_into_costs_what_lies_there(told):
    disk = Refusing()
    told.reopen(disk=disk)
    (told.root / "memory/trips").mkdir()
    (told.root / "memory/trips/japan.md").write_text("去京都看红叶。\n", encoding="utf-8")
    refresh(told.ws)
    assert asks(told, "红叶").hits
    disk.refused = {"trips"}
    assert asks(told, "红叶").hits == ()
    refresh(told.ws)
    assert asks(told).hits
    assert told.told.of("file_unread")


def test_a_folder_that_is_gone_leaves_a_turn_without_memory(told):
    shutil.rmtree(told.root / "memory")
    assert asks(told).hits == ()
    refresh(told.ws)
    assert asks(told).hits == ()
    assert told.ws.index.file_count == 0


def test_a_note_of_fifty_megabytes_is_left_out_and_told_and_costs_no_other_file(told):
    with open(told.root / "memory/heap.md", "wb") as file:
        file.truncate(50_000_000)
    refresh(told.ws)
    assert asks(told).hits
    assert asks(told, "kx7-cert").hits
    (event,) = told.told.of("file_unread")
    assert event["file"] == "memory/heap.md"


def test_a_note_of_megabytes_is_found_but_not_read_through_in_a_turn(told):
    text = "".join(f"- 第 {n} 行，讲的是 zzq{n:06d}。\n" for n in range(60_000))
    assert len(text.encode()) > 2_000_000
    (told.root / "memory/book.md").write_text(text, encoding="utf-8")
    (told.root / "memory/small.md").write_text("讲的是 zzq-unseen-part。\n", encoding="utf-8")
    refresh(told.ws)
    assert next(hit.unit.start for hit in asks(told, "zzq000777").hits) == 778
    assert [hit.unit.path for hit in asks(told, "zzq-unse").hits] == ["memory/small.md"]


def test_a_file_that_somebody_is_writing_all_the_time_holds_nobody_up(told):
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
    (told.root / "memory/log.md").write_text("一直在写。\n", encoding="utf-8")
    told.reopen(disk=disk)
    refresh(told.ws)
    assert asks(told).hits
    assert told.told.of("file_unread") == [{"files": 1, "file": "memory/log.md", "why": "Busy"}]


def test_a_cited_file_that_has_changed_is_cited_as_it_is_now(told):
    (path,) = (told.root / "memory").glob("2026-01-30-*.md")
    path.write_text(path.read_text(encoding="utf-8").replace("点外卖要备注", "只吃开心果"), encoding="utf-8")
    assert "只吃开心果" in str(asks(told).hits)
    path.unlink()
    assert asks(told).hits == ()


# ── time ─────────────────────────────────────────────────────────────────────


def many(desk, count):
    for n in range(count):
        text = f"第 {n} 个想法：电钢琴，编号 qx{n:04d}-part。\n"
        path = desk.root / f"memory/idea-{n:04d}.md"
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1_700_000_000 + n, 1_700_000_000 + n))


def test_with_five_hundred_changed_files_and_the_index_held_by_another_the_turn_has_the_newest(told):
    many(told, 500)
    with told.files.lock(told.root / ".recalld/index.lock"):
        assert refresh(told.ws).shared
        found = asks(told, "电钢琴")
        assert found.hits[0].unit.path.startswith("memory/idea-04")
        assert asks(told).hits  # what was committed is searched as well
        asks(told, "电钢琴")
    (event,) = told.told.of("recall_failed")
    assert "not all that has changed" in str(event["why"])
    refresh(told.ws)
    assert (told.ws.index.left, told.ws.index.file_count) == (0, 502)
    assert asks(told, "qx0007-part").hits[0].unit.path == "memory/idea-0007.md"
    assert len(told.reopen().index.records()) == 502


def test_what_is_taken_into_memory_ends_at_the_deadline_and_goes_on_at_the_next(told):
    many(told, 40)
    clock = Cranked(1.0)
    told.ws.index.freshen(Deadline(10.5, clock))  # looked at once before each file: ten times it is not over
    assert told.ws.index.left == 30
    assert len(told.ws.index._view.fresh.groups) == 10
    told.ws.index.freshen(Deadline(clock.now + 10.5, clock))
    assert told.ws.index.left == 20
    told.ws.index.freshen()
    assert told.ws.index.left == 0
    assert len(asks(told, "电钢琴").hits) == 40


def test_the_literal_search_ends_at_the_deadline_with_the_newest_files(told, monkeypatch):
    monkeypatch.setenv("PATH", "")  # no ripgrep
    many(told, 3000)
    refresh(told.ws)
    records = told.ws.index.records()

    def look(deadline, part):
        return look_up(told.files, told.layout, records, [part], 20, told.ws.zone, deadline)

    assert [hit.unit.path for hit in look(Deadline(50.5, Cranked(1.0)), "qx2960")] == ["memory/idea-2960.md"]
    assert look(Deadline(20.5, Cranked(1.0)), "qx2960") == []
    assert len(look(within(60), "qx29")) == 20


def test_a_literal_search_that_is_cut_short_is_told(told, monkeypatch):
    monkeypatch.setenv("PATH", "")
    many(told, 200)
    refresh(told.ws)
    clock = Cranked(0.0)
    assert asks(told, "x0007-pa", Deadline(1.0, clock)).how == "literal"
    assert told.told.of("recall_failed") == []
    clock.now = 2.0
    found = asks(told, "x0007-pa", Deadline(1.0, clock))
    assert (found.hits, found.how) == ((), "failed")
    assert "time was up" in str(told.told.of("recall_failed"))


def test_with_no_time_at_all_the_committed_index_is_still_searched(told):
    assert asks(told, PEANUT, Deadline(0.0)).hits


def test_a_lasting_fault_is_told_once_and_again_only_after_it_was_over(told):
    clock = Cranked(0.0)
    for now in (2.0, 3.0):
        clock.now = now
        asks(told, "zzzz-nothing", Deadline(1.0, clock))
    assert len(told.told.of("recall_failed")) == 1
    asks(told)
    asks(told, "zzzz-nothing", Deadline(1.0, clock))
    assert len(told.told.of("recall_failed")) == 2


@pytest.mark.parametrize(
    "question", ["\ud800花生", "\x00", "花" * 20_000, "a" * 100_000, "(((", "-e --files /etc", "“”…", "\u202e生花"]
)
def test_odd_questions_end_in_a_turn(told, question):
    recall(told.ws, question, told.clock())
    assert told.told.of("recall_failed") == []


@pytest.mark.parametrize("fault", [RuntimeError("花生过敏"), OSError(errno.EIO, "花生"), KeyError("花生"), RecursionError()])
def test_a_bug_anywhere_in_the_search_ends_in_a_turn_without_memory_and_an_event_without_words(told, fault):
    def fail(*_args, **_named):
        raise fault

    told.ws.index.search = fail
    told.ws.index.records = fail
    found = asks(told, "kx7-cert-de")
    assert (found.hits, found.how) == ((), "failed")
    assert len(told.told.of("recall_failed")) == 1


def test_the_events_of_failures_exist():
    assert {"recall_failed", "file_unread", "index_damaged", "backend_failed", "backend_back"} <= set(EVENTS)


def test_a_turn_without_an_index_over_many_days_finds_the_newest(told):
    told.write([one for n in range(1, 25) for one in talk(f"2026-01-{n:02d}T09:00", 30, timedelta(minutes=1))])
    told.settle()
    shutil.rmtree(index_of(told))
    told.reopen()
    found = asks(told, "nginx 的配置")
    assert found.hits
    assert found.hits[0].unit.day == max(hit.unit.day for hit in found.hits if hit.unit.day)


@pytest.mark.parametrize(
    "odd",
    ['"createdAt": "9999-12-31T23:59:59.000Z"', '"createdAt": "0001-01-01T00:00:00.000Z"', '"id": ' + "[" * 990 + "]" * 990],
)
def test_one_odd_block_does_not_make_all_of_memory_unfindable(desk, odd):
    desk.write([message("a", "2026-01-30T09:00", "订单放在门口的柜子里。"), message("b", "2026-01-29T09:00", "我对花生过敏。")])
    desk.settle()
    path = next(path for path in desk.layout.memory.glob("2026-01-29-*.md"))
    key = odd.partition(":")[0]
    path.write_text(re.sub(rf'{key}: "[^"]*"', odd, path.read_text()))
    for zone in ("Asia/Shanghai", "America/New_York"):
        desk.reopen(desk.toml.replace("Asia/Shanghai", zone))
        refresh(desk.ws)
        found = recall(desk.ws, "订单放在哪里？", desk.clock())
        assert any("柜子" in hit.unit.text for hit in found.hits), found
