"""File events of many folders through one descriptor."""

from __future__ import annotations

import os
import queue
import threading

import pytest

from recalld.supervisor.fleet.file_events import FileEvents
from tests.patience import PATIENCE_S


@pytest.fixture
def events():
    found = FileEvents()
    yield found
    found.close()


def _inotify() -> int:
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    return sum(os.path.lexists(link) and "inotify" in os.readlink(link) for link in links)


def test_file_events_of_a_hundred_folders_need_one_descriptor(events, tmp_path):
    threads, descriptors = set(threading.enumerate()), _inotify()
    heard: queue.Queue[tuple[int, str]] = queue.Queue()
    stops = []
    for n in range(100):
        (tmp_path / str(n)).mkdir()
        stops.append(events.watch_folders((tmp_path / str(n),), lambda name, n=n: heard.put((n, name))))
    assert (set(threading.enumerate()) - threads, _inotify()) == (set(), descriptors)
    (tmp_path / "7" / "历史.json").write_text("[]")
    assert heard.get(timeout=PATIENCE_S) == (7, "历史.json")
    for stop in stops:
        stop()
    (tmp_path / "8" / "a.json").write_text("[]")
    events.watch_folders((tmp_path / "9",), lambda name: heard.put((-1, name)))
    (tmp_path / "9" / "b.json").write_text("[]")
    names = {heard.get(timeout=PATIENCE_S)}
    while (-1, "b.json") not in names:
        names.add(heard.get(timeout=PATIENCE_S))
    assert (8, "a.json") not in names


def test_file_events_tell_nothing_of_state_and_of_temporary_files(events, tmp_path):
    heard: queue.Queue[str] = queue.Queue()
    events.watch_folders((tmp_path,), heard.put)
    for name in (".recalld", "history.json.lock", "log.jsonl", "notes.md~", "history.json"):
        (tmp_path / name).write_text("")
    assert heard.get(timeout=PATIENCE_S) == "history.json"


def test_file_events_refuse_a_folder_that_is_not_there_and_keep_no_watch(events, tmp_path):
    with pytest.raises(OSError, match="No such file"):
        events.watch_folders((tmp_path, tmp_path / "nowhere"), print)
