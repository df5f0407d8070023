"""log.jsonl: an object a line, rotated by size and by day, told once while it lasts."""

from __future__ import annotations

import errno
import gzip
import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from supervisor.events import EventLog
from supervisor.protocol.config import load

NOW = datetime(2026, 1, 28, 1, 2, 3, tzinfo=UTC)


class Desk:
    def __init__(self, root, toml: str = "") -> None:
        self.root, self.now = root, NOW
        self.log = EventLog(root / "log.jsonl", lambda: self.now, load(f"[log]\n{toml}".encode(), {}).log)

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in (self.root / "log.jsonl").read_bytes().splitlines()]

    def old(self) -> list[str]:
        return sorted(path.name for path in self.root.glob("log-*.gz"))


@pytest.fixture
def make(tmp_path):
    return lambda toml="": Desk(tmp_path, toml)


def test_an_event_is_one_line_with_its_time_and_only_its_owner_may_read_it(make):
    desk = make()
    desk.log.emit("archived", messages=2, files=1)
    assert desk.lines() == [{"ts": "2026-01-28T01:02:03.000Z", "event": "archived", "messages": 2, "files": 1}]
    assert os.stat(desk.root / "log.jsonl").st_mode & 0o777 == 0o600


def test_an_event_that_nobody_has_listed_is_a_fault():
    with pytest.raises(ValueError, match="EVENTS"):
        EventLog(None, lambda: NOW, load(b"", {}).log).emit("发生了什么")


def test_what_lasts_is_told_when_it_begins_changes_and_is_over(make):
    desk = make()
    for state in ("磁盘满", "磁盘满", "只读", "", ""):
        desk.log.edge("degraded", state, over="recovered", why=state)
    assert [(line["event"], line.get("why")) for line in desk.lines()] == [
        ("degraded", "磁盘满"),
        ("degraded", "只读"),
        ("recovered", None),
    ]


def test_each_thing_that_lasts_begins_and_ends_by_itself(make):
    desk = make()
    for what, state in (("收件箱", "坏"), ("历史", "坏"), ("收件箱", "坏"), ("收件箱", ""), ("历史", "坏")):
        desk.log.edge("degraded", state, over="recovered", what=what, why=f"{what}{state}")
    assert [line.get("why", line["event"]) for line in desk.lines()] == ["收件箱坏", "历史坏", "recovered"]


@pytest.mark.parametrize("line", ["", "不是 JSON\n", "[1]\n", "[" * 9000 + "\n", '{"ts": "昨天"'])
def test_what_another_process_told_last_is_not_told_again_and_a_strange_line_hides_nothing(make, line):
    for _ in range(3):
        make().log.edge("supervisor_mute", True)
    assert len(make().lines()) == 1
    make().log.edge("degraded", "坏", over="recovered", why="坏")  # something else between them
    make().log.edge("supervisor_mute", True)
    assert len(make().lines()) == 2
    make().log.emit("started")
    make().log.edge("supervisor_mute", True)
    assert len(make().lines()) == 4
    make().log.emit("recovered")
    make().log.edge("degraded", "坏", over="recovered", why="坏")
    make().log.edge("degraded", "另", over="recovered", why="另")
    assert len(make().lines()) == 7
    (make().root / "log.jsonl").write_text(line, encoding="utf-8")
    make().log.edge("supervisor_mute", True)
    assert "supervisor_mute" in (make().root / "log.jsonl").read_text(encoding="utf-8")


def test_a_log_in_use_is_put_aside_after_a_day_and_its_lines_stay(make):
    desk = make()
    for _ in range(49):
        desk.log.emit("seen", messages=1)
        desk.now += timedelta(hours=1)
    assert len(desk.old()) == 2
    kept = [line for name in desk.old() for line in gzip.decompress((desk.root / name).read_bytes()).splitlines()]
    assert len(kept) + len(desk.lines()) == 49


def test_a_log_that_is_full_is_put_aside_more_than_once_a_second(make):
    desk = make('rotate_bytes = "1KB"')
    for n in range(60):
        desk.log.emit("archived", messages=n, files=1)
    kept = [json.loads(line) for name in desk.old() for line in gzip.decompress((desk.root / name).read_bytes()).splitlines()]
    assert len(desk.old()) > 1
    assert sorted(line["messages"] for line in kept + desk.lines()) == list(range(60))


def test_a_clock_that_is_years_ahead_of_the_files_deletes_nothing_new(make):
    desk = make()
    desk.now = datetime(2030, 1, 1, tzinfo=UTC)
    for _ in range(5):
        desk.log.emit("seen", messages=1)
    assert len(desk.lines()) == 5
    assert desk.old() == []


def test_what_is_older_than_it_is_kept_goes(make):
    desk = make("keep_days = 30")
    for _ in range(40):
        desk.log.emit("seen", messages=1)
        desk.now += timedelta(days=1, seconds=1)
    assert 28 <= len(desk.old()) <= 31


def test_an_event_is_a_line_of_its_own_behind_one_that_a_crash_cut_off(make):
    desk = make()
    desk.log.emit("seen", messages=1)
    path = desk.root / "log.jsonl"
    path.write_bytes(path.read_bytes() + '{"ts":"2026-01-31T02:00:00.000Z","event":"备'.encode()[:-1])
    desk.log.emit("seen", messages=2)
    lines = path.read_bytes().split(b"\n")
    assert [json.loads(line)["messages"] for line in (lines[0], lines[2])] == [1, 2]
    assert lines[3:] == [b""]


def test_a_disk_that_gets_full_in_the_middle_of_a_line_leaves_no_half_of_it(make, monkeypatch):
    desk = make()
    desk.log.emit("seen", messages=1)
    write, left = os.write, [20]

    def full(handle, data):
        if not left:
            raise OSError(errno.ENOSPC, "磁盘满了")
        return write(handle, data[: left.pop()])

    monkeypatch.setattr(os, "write", full)
    desk.log.emit("degraded", why="磁盘满了")
    monkeypatch.undo()
    desk.log.emit("seen", messages=2)
    assert [line["messages"] for line in desk.lines()] == [1, 2]


def test_a_log_that_cannot_be_written_stops_nothing(make):
    desk = make()
    (desk.root / "log.jsonl").mkdir()
    desk.log.emit("started")
