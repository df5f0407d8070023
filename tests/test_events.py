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


class Log:
    def __init__(self, root, toml: str = "") -> None:
        self.root, self.now = root, NOW
        self.events = EventLog(root / "log.jsonl", lambda: self.now, load(f"[log]\n{toml}".encode(), {}).log)

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in (self.root / "log.jsonl").read_bytes().splitlines()]

    def old(self) -> list[str]:
        return sorted(path.name for path in self.root.glob("log-*.gz"))


@pytest.fixture
def make(tmp_path):
    return lambda toml="": Log(tmp_path, toml)


def test_an_event_is_one_line_with_its_time_and_only_its_owner_may_read_it(make):
    log = make()
    log.events.emit("archived", messages=2, files=1)
    assert log.lines() == [{"ts": "2026-01-28T01:02:03.000Z", "event": "archived", "messages": 2, "files": 1}]
    assert os.stat(log.root / "log.jsonl").st_mode & 0o777 == 0o600


def test_an_event_that_nobody_has_listed_is_a_fault():
    with pytest.raises(ValueError, match="EVENTS"):
        EventLog(None, lambda: NOW, load(b"", {}).log).emit("发生了什么")


def test_what_lasts_is_told_when_it_begins_changes_and_is_over(make):
    log = make()
    for state in ("磁盘满", "磁盘满", "只读", "", ""):
        log.events.edge("degraded", state, over="recovered", why=state)
    assert [(line["event"], line.get("why")) for line in log.lines()] == [
        ("degraded", "磁盘满"),
        ("degraded", "只读"),
        ("recovered", None),
    ]


def test_each_thing_that_lasts_begins_and_ends_by_itself(make):
    log = make()
    for what, state in (("收件箱", "坏"), ("历史", "坏"), ("收件箱", "坏"), ("收件箱", ""), ("历史", "坏")):
        log.events.edge("degraded", state, over="recovered", what=what, why=f"{what}{state}")
    assert [line.get("why", line["event"]) for line in log.lines()] == ["收件箱坏", "历史坏", "recovered"]


@pytest.mark.parametrize("line", ["", "不是 JSON\n", "[1]\n", "[" * 9000 + "\n", '{"ts": "昨天"'])
def test_what_another_process_told_last_is_not_told_again_and_a_strange_line_hides_nothing(make, line):
    for _ in range(3):
        make().events.edge("supervisor_mute", True)
    assert len(make().lines()) == 1
    make().events.edge("degraded", "坏", over="recovered", why="坏")  # something else between them
    make().events.edge("supervisor_mute", True)
    assert len(make().lines()) == 2
    make().events.emit("started")
    make().events.edge("supervisor_mute", True)
    assert len(make().lines()) == 4
    make().events.emit("recovered")
    make().events.edge("degraded", "坏", over="recovered", why="坏")
    make().events.edge("degraded", "另", over="recovered", why="另")
    assert len(make().lines()) == 7
    (make().root / "log.jsonl").write_text(line, encoding="utf-8")
    make().events.edge("supervisor_mute", True)
    assert "supervisor_mute" in (make().root / "log.jsonl").read_text(encoding="utf-8")


def test_a_log_in_use_is_put_aside_after_a_day_and_its_lines_stay(make):
    log = make()
    for _ in range(49):
        log.events.emit("seen", messages=1)
        log.now += timedelta(hours=1)
    assert len(log.old()) == 2
    kept = [line for name in log.old() for line in gzip.decompress((log.root / name).read_bytes()).splitlines()]
    assert len(kept) + len(log.lines()) == 49


def test_a_log_that_is_full_is_put_aside_more_than_once_a_second(make):
    log = make('rotate_bytes = "1KB"')
    for n in range(60):
        log.events.emit("archived", messages=n, files=1)
    kept = [json.loads(line) for name in log.old() for line in gzip.decompress((log.root / name).read_bytes()).splitlines()]
    assert len(log.old()) > 1
    assert sorted(line["messages"] for line in kept + log.lines()) == list(range(60))


def test_a_clock_that_is_years_ahead_of_the_files_deletes_nothing_new(make):
    log = make()
    log.now = datetime(2030, 1, 1, tzinfo=UTC)
    for _ in range(5):
        log.events.emit("seen", messages=1)
    assert len(log.lines()) == 5
    assert log.old() == []


def test_what_is_older_than_it_is_kept_goes(make):
    log = make("keep_days = 30")
    for _ in range(40):
        log.events.emit("seen", messages=1)
        log.now += timedelta(days=1, seconds=1)
    assert 28 <= len(log.old()) <= 31


def test_an_event_is_a_line_of_its_own_behind_one_that_a_crash_cut_off(make):
    log = make()
    log.events.emit("seen", messages=1)
    path = log.root / "log.jsonl"
    path.write_bytes(path.read_bytes() + '{"ts":"2026-01-31T02:00:00.000Z","event":"备'.encode()[:-1])
    log.events.emit("seen", messages=2)
    lines = path.read_bytes().split(b"\n")
    assert [json.loads(line)["messages"] for line in (lines[0], lines[2])] == [1, 2]
    assert lines[3:] == [b""]


def test_a_disk_that_gets_full_in_the_middle_of_a_line_leaves_no_half_of_it(make, monkeypatch):
    log = make()
    log.events.emit("seen", messages=1)
    write, left = os.write, [20]

    def full(handle, data):
        if not left:
            raise OSError(errno.ENOSPC, "磁盘满了")
        return write(handle, data[: left.pop()])

    monkeypatch.setattr(os, "write", full)
    log.events.emit("degraded", why="磁盘满了")
    monkeypatch.undo()
    log.events.emit("seen", messages=2)
    assert [line["messages"] for line in log.lines()] == [1, 2]


def test_a_log_that_cannot_be_written_stops_nothing(make):
    log = make()
    (log.root / "log.jsonl").mkdir()
    log.events.emit("started")
