"""log.jsonl: one object a line, rotated by size and by day, a lasting state reported once."""

import errno
import gzip
import json
import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from recalld.supervisor.events import Events, newest_events
from recalld.supervisor.protocol.config import load
from recalld.supervisor.storage.errors import NoPermission, StorageError
from recalld.supervisor.storage.texts import Text

NOW = datetime(2026, 1, 28, 1, 2, 3, tzinfo=UTC)


class Log:
    def __init__(self, root, toml: str = "") -> None:
        self.root, self.now = root, NOW
        self.events = Events(root / "log.jsonl", lambda: self.now, load(f"[log]\n{toml}".encode(), {}).log)

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in (self.root / "log.jsonl").read_bytes().splitlines()]

    def old(self) -> list[str]:
        return sorted(path.name for path in self.root.glob("log-*.gz"))

    def rotated(self) -> list[dict]:
        """The lines of the old logs."""
        packed = [(self.root / name).read_bytes() for name in self.old()]
        return [json.loads(line) for data in packed for line in gzip.decompress(data).splitlines()]

    def archive(self, *numbers: int) -> None:
        """Log that so many messages were archived, an event each."""
        for number in numbers:
            self.events.emit("archived", messages=number, files=1)

    def told(self) -> list[dict]:
        """What is told from now on, beside what is written."""
        found: list[dict] = []
        self.events = Events(self.root / "log.jsonl", lambda: self.now, load(b"", {}).log, found.append)
        return found


@pytest.fixture
def make(tmp_path):
    return lambda toml="": Log(tmp_path, toml)


@pytest.fixture
def small_logs(monkeypatch):
    monkeypatch.setattr("recalld.supervisor.protocol.config_keys.Log.rotate_bytes", 1_000)


def test_event_log_writes_one_timestamped_line_with_mode_0600(make):
    log = make()
    log.events.emit("archived", messages=2, files=1)
    assert log.lines() == [{"ts": "2026-01-28T01:02:03.000Z", "event": "archived", "messages": 2, "files": 1}]
    assert os.stat(log.root / "log.jsonl").st_mode & 0o777 == 0o600


def test_event_log_refuses_an_unlisted_event():
    with pytest.raises(ValueError, match="EVENTS"):
        Events(None, lambda: NOW, load(b"", {}).log).emit("发生了什么")


def test_transition_emits_start_change_and_end_once(make):
    log = make()
    for state in ("磁盘满", "磁盘满", "只读", "", ""):
        log.events.transition("degraded", state, cleared="recovered", why=state)
    told = [(line["event"], line.get("why")) for line in log.lines()]
    assert told == [("degraded", "磁盘满"), ("degraded", "只读"), ("recovered", None)]


def test_transition_tracks_each_subject_separately(make):
    log = make()
    for what, state in (("收件箱", "坏"), ("历史", "坏"), ("收件箱", "坏"), ("收件箱", ""), ("历史", "坏")):
        log.events.transition("degraded", state, cleared="recovered", what=what, why=f"{what}{state}")
    assert [line.get("why", line["event"]) for line in log.lines()] == ["收件箱坏", "历史坏", "recovered"]


def test_report_tells_a_full_disk_once_whichever_file_meets_it(make):
    log = make()
    met = (["历史.json"], ["历史.json", "日志"], ["日志"], [], ["日志"])
    for paths in met:
        log.events.report("rounds", [StorageError(path, "No space left on device") for path in paths])
    assert [line["event"] for line in log.lines()] == ["degraded", "recovered", "degraded"]


def test_report_tells_tasks_that_may_not_be_read_once_whichever_they_are(make):
    log = make()
    for day in ("2026-01-10", "2026-01-11", "2026-01-12"):
        log.events.report("rounds", [NoPermission(f"/记忆/worker/results/day-{day}.json", "Permission denied")])
    log.events.report("rounds", [])
    assert [line["event"] for line in log.lines()] == ["degraded", "recovered"]
    assert "day-2026-01-10.json" in log.lines()[0]["why"]


def test_report_tells_another_fault_while_the_disk_is_full(make):
    log = make()
    full, locked = StorageError("历史.json", "No space left on device"), NoPermission("日志", "Permission denied")
    for faults in ([full], [full, locked], [locked]):
        log.events.report("rounds", faults)
    assert [line["why"].count(";") for line in log.lines()] == [1, 2, 1]


def test_report_tells_faults_that_come_and_go_once_until_none_is_left(make):
    log = make()
    history, backup = (NoPermission(name, "Permission denied") for name in ("history.json", "history.json.bak"))
    for faults in 2 * ([history], [history, backup], [backup], [history]) + ([], [backup]):
        log.events.report("rounds", faults)
    assert [line["event"] for line in log.lines()] == ["degraded"] * 3 + ["recovered", "degraded"]


def test_transition_repeats_nothing_that_another_process_wrote_and_lasts(make):
    def tell(why: str) -> None:
        make().events.transition("index_stale", why, cleared="index_fresh", why=Text("{why}", why=why))

    for why in ("full", "full", "locked", "locked"):
        tell(why)
    make().events.emit("file_unread", files=1)  # something else
    tell("locked")
    assert [line.get("why") for line in make().lines()] == ["full", "locked", None]
    for ends in ("index_fresh", "started"):
        make().events.emit(ends)
        tell("locked")
        assert make().lines()[-1]["event"] == "index_stale"


@pytest.mark.feature("003.28")
def test_event_log_rotates_after_a_day_and_keeps_every_line(make):
    log = make()
    for _ in range(49):
        log.events.emit("seen", messages=1)
        log.now += timedelta(hours=1)
    assert len(log.old()) == 2
    assert len(log.rotated()) + len(log.lines()) == 49


@pytest.mark.usefixtures("small_logs")
def test_event_log_rotates_more_than_once_in_the_same_second(make):
    log = make()
    log.archive(*range(60))
    assert len(log.old()) > 1
    assert sorted(line["messages"] for line in log.rotated() + log.lines()) == list(range(60))


def test_event_log_rotates_nothing_when_the_clock_is_ahead_of_file_times(make):
    log = make()
    log.now = datetime(2030, 1, 1, tzinfo=UTC)
    for _ in range(5):
        log.events.emit("seen", messages=1)
    assert len(log.lines()) == 5
    assert log.old() == []


@pytest.mark.feature("003.28")
def test_event_log_deletes_files_older_than_keep_days(make):
    log = make("keep_days = 30")
    for _ in range(40):
        log.events.emit("seen", messages=1)
        log.now += timedelta(days=1, seconds=1)
    assert 28 <= len(log.old()) <= 31


def test_event_log_starts_a_new_line_after_a_truncated_one(make):
    log = make()
    log.events.emit("seen", messages=1)
    path = log.root / "log.jsonl"
    path.write_bytes(path.read_bytes() + '{"ts":"2026-01-31T02:00:00.000Z","event":"备'.encode()[:-1])
    log.events.emit("seen", messages=2)
    lines = path.read_bytes().split(b"\n")
    assert [json.loads(line)["messages"] for line in (lines[0], lines[2])] == [1, 2]
    assert lines[3:] == [b""]


def test_event_log_tells_of_a_full_disk_and_ends_the_line_that_it_cut_off(make, monkeypatch):
    log = make()
    told, write = log.told(), os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, data: write(handle, data[:20]))
        log.events.emit("seen", messages=1)
    log.events.emit("seen", messages=2)
    assert [line["event"] for line in told] == ["seen", "degraded", "seen", "recovered"]
    assert [fields for _, _, fields in newest_events(log.root / "log.jsonl")] == [{"messages": 2}]


def test_event_log_tells_that_it_can_be_written_unless_a_fault_lasts(make):
    log = make()
    told, path = log.told(), log.root / "log.jsonl"
    for faults in ([], [StorageError("历史.json", "No space left on device")]):
        log.events.report("rounds", faults)
        path.unlink(missing_ok=True)
        path.mkdir()
        log.events.emit("stopped")
        path.rmdir()
        log.events.emit("started")
        log.events.emit("started")
    said = [line["event"] for line in told]
    assert said[:5] == ["stopped", "degraded", "started", "recovered", "started"]
    assert said[5:] == ["degraded", "stopped", "degraded", "started", "started"]


def test_event_log_tells_once_that_it_cannot_be_written(make):
    log = make()
    told = log.told()
    os.mkfifo(log.root / "log.jsonl")  # opened like a file it would wait for a reader
    log.events.transition("degraded", "坏", why="坏")
    log.events.emit("seen", messages=1)
    assert [one["event"] for one in told] == ["degraded", "degraded", "seen"]
    assert told[1]["why"].endswith("it was not overwritten.")
    assert "log.jsonl can't be read: it is a link, a folder or another thing" in told[1]["why"]
    (log.root / "log.jsonl").unlink()
    log.events.emit("seen", messages=2)
    assert [line["messages"] for line in log.lines()] == [2]
    (log.root / "log.jsonl").unlink()
    (log.root / "log.jsonl").mkdir()
    log.events.emit("seen", messages=3)
    assert [one["event"] for one in told[3:]] == ["seen", "seen", "degraded"]


@pytest.mark.usefixtures("small_logs")
def test_event_log_loses_nothing_when_a_full_disk_stops_the_rotation(make, monkeypatch):
    log = make()
    is_full = True
    copy = shutil.copyfileobj

    def full(source, target):
        if not is_full:
            return copy(source, target)
        raise OSError(errno.ENOSPC, "磁盘满了")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    log.archive(*range(60))
    assert log.old() == []
    assert not any(path.name.endswith(".tmp") for path in log.root.iterdir())
    rotated = len(list(log.root.glob("log-*.jsonl")))
    assert 1 < rotated < 6
    is_full = False
    log.archive(*range(60, 80))
    assert len(log.old()) > rotated
    assert [*log.root.glob("log-*.jsonl"), *log.root.glob(".log*")] == []
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in log.root.iterdir())
    assert sorted(line["messages"] for line in log.rotated() + log.lines()) == list(range(80))


def test_event_log_of_several_processes_rotates_once(make):
    logs = [make() for _ in range(4)]
    for log in logs:
        log.events.emit("seen", messages=1)
    for log in logs:
        log.now += timedelta(days=1)
    for log in logs:
        log.events.emit("seen", messages=2)
    assert len(logs[0].old()) == 1
    assert len(logs[0].lines()) == 4


@pytest.mark.usefixtures("small_logs")
def test_event_log_keeps_files_of_others_beside_its_own(make):
    log = make("keep_days = 1")
    for name in ("log-我的.jsonl", "log-2020.jsonl.gz"):
        (log.root / name).write_text("花生", encoding="utf-8")
    log.archive(*range(60))
    assert {(log.root / name).read_text(encoding="utf-8") for name in ("log-我的.jsonl", "log-2020.jsonl.gz")} == {"花生"}
