"""Who reads the output may stall, go away or be a full disk: the work goes on, and what ends by a fault says so."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from recalld.supervisor.protocol.paths import WORKERS, WorkspacePaths
from recalld.supervisor.storage import process as printing
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.process import line_printer
from tests.patience import PATIENCE_S
from tests.process.command import Ended, ended, fill, until
from tests.world import message

pytestmark = pytest.mark.proof


@contextlib.contextmanager
def output_of(kind: str) -> Iterator[int]:
    """A standard output of that kind."""
    if kind == "a full disk":
        with Path("/dev/full").open("w") as full:
            yield full.fileno()
        return
    reader, writer = os.pipe()
    if kind == "a stalled reader":
        fill(writer)
    else:
        os.close(reader)
    yield writer
    os.close(writer)
    if kind == "a stalled reader":
        os.close(reader)


KINDS = ["a stalled reader", "a reader who is gone", "a full disk"]


@pytest.mark.parametrize("kind", KINDS)
def test_run_works_and_ends_whatever_becomes_of_its_output(recalld, kind):
    root = recalld.root
    with output_of(kind) as stdout, recalld.supervised(stdout=stdout) as process:
        (root / "history.json").write_text(json.dumps([message("花生-1", "2026-01-28T09:00")]), encoding="utf-8")
        until(lambda: b'"archived"' in (root / "log.jsonl").read_bytes(), process)
        process.send_signal(signal.SIGTERM)
        until(lambda: process.poll() is not None)
    assert process.returncode == 0
    events = [json.loads(line)["event"] for line in (root / "log.jsonl").read_bytes().splitlines()]
    assert {"started", "archived", "stopped"} <= set(events)


@pytest.mark.parametrize("kind", KINDS)
def test_worker_ends_whatever_becomes_of_its_output(recalld, kind):
    lines = "\n".join(json.dumps(message(f"花生-{n}", f"2026-01-{n:02}T09:00")) for n in range(1, 4))
    assert recalld("append", "--jsonl", stdin=lines).code == 0
    assert recalld("run", "--until-settled", "--no-worker").code == 0
    results = recalld.root / "worker" / "results"
    with output_of(kind) as stdout:
        process = recalld.start("-w", str(recalld.root), "worker", "--idle", "60", stdout=stdout)
        until(lambda: list(results.glob("*.json")), process)
        process.send_signal(signal.SIGTERM)
        assert ended(process) == Ended(0, "", "")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_worker_leaves_nobody_behind_when_it_is_killed(recalld, language):
    """The process of the command is the worker, in any language."""
    assert recalld("append", "--role", "user", "--text", "我对花生过敏。", "--at", "2026-01-02T09:00").code == 0
    assert recalld("run", "--until-settled", "--no-worker").code == 0
    paths = WorkspacePaths(recalld.root)
    locks = [paths.worker_lock(slot) for slot in range(WORKERS)]
    with output_of("a reader who is gone") as stdout:
        process = recalld.start("-w", str(recalld.root), "worker", "--idle", "60", stdout=stdout, RECALLD_LANGUAGE=language)
        until(lambda: list((recalld.root / "worker" / "results").glob("*.json")), process)
        assert any(map(RealDisk().is_locked, locks))
        process.kill()
        assert ended(process).code == -signal.SIGKILL
    assert not any(map(RealDisk().is_locked, locks))


def test_line_printer_never_waits_and_prints_what_it_had_room_for(monkeypatch):
    monkeypatch.setattr(printing, "_CLOSE_S", PATIENCE_S)
    reader, writer = os.pipe()
    fill(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        with os.fdopen(writer, "w", encoding="utf-8") as out, line_printer(out) as print_line:
            for n in range(1010):
                print_line(f"第 {n} 行")
            os.read(reader, 1 << 20)  # the reader goes on
        read = [line for line in pipe.read().splitlines() if line]
    assert read in [[f"第 {n} 行" for n in range(room)] for room in (1000, 1001)]  # the thread may have one in its hand


SHOWN = {
    "zh": ("进程启动了（started）", "history.json", "消息 1", "运行中的 supervisor 仍用之前的配置", "配置里没有这个名字"),
    "en": ("started (started)", "new messages were found", "messages 1", "is wrong", "there is no such section"),
}


@pytest.mark.parametrize("language", SHOWN)
def test_run_tells_a_person_at_a_terminal_in_his_language_and_time(recalld, language):
    """In Auckland it is another hour than in the zone of the workspace and in UTC."""
    reader, writer = os.openpty()
    environ = {"RECALLD_LANGUAGE": language, "RECALLD_NOW": "2026-01-31T10:00:00Z", "TZ": "Pacific/Auckland"}
    with recalld.supervised(stdout=writer, **environ) as process:
        (recalld.root / "history.json").write_text(json.dumps([message("花生-1", "2026-01-28T09:00")]), encoding="utf-8")
        until(lambda: b'"seen"' in (recalld.root / "log.jsonl").read_bytes(), process)
        with (recalld.root / "recalld.toml").open("a") as config:
            config.write('[worker]\nlanguage = "zh"\n')
        until(lambda: b'"config_refused"' in (recalld.root / "log.jsonl").read_bytes(), process)
    os.close(writer)
    shown = os.read(reader, 1 << 16).decode()
    os.close(reader)
    assert [part for part in SHOWN[language] if part not in shown] == []
    assert shown.startswith("23:00:0")
