"""
What processes of tests are made of: a forked command is like a new one; in the long suites a hanging process is ended and
reported, and each part records its commit.
"""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.process import rounds
from tests.process.command import Command, ended
from tests.process.rounds import Rounds

pytestmark = pytest.mark.proof

ROOT = Path(__file__).parents[2]
#: A command that never ends: at work, or asleep.
HANGS = """
import pathlib, time
from tests.process import forked

def works():
    while True:
        pass

forked.MOST_CPU_S, forked.MOST_S = 1, 30.0
forked.command = lambda *_: works
print(*forked.run(pathlib.Path("工作区"), "run", environ={}))
forked.MOST_S = 0.2
forked.command = lambda *_: lambda: time.sleep(600)
print(*forked.run(pathlib.Path("工作区"), "run", environ={}))
"""


def test_forked_kills_a_command_that_never_ends_and_reports_it():
    done = subprocess.run([sys.executable, "-c", HANGS], cwd=ROOT, capture_output=True, text=True, check=True)

    assert [line.split()[0] for line in done.stdout.splitlines() if line] == ["-24", "-9"]
    assert done.stdout.count("it never ended: run was killed") == 2


def test_rounds_record_each_commit_and_report_all_with_the_slowest_case(tmp_path, monkeypatch):
    log = tmp_path / "日志.jsonl"
    for n, commit in enumerate(("旧一", "新二+")):
        monkeypatch.setattr(rounds, "commit", lambda commit=commit: commit)
        Rounds(log).add(f"第{n}", ["丢了一句"] * n, slowest=3.0 - n)

    assert [json.loads(line)["commit"] for line in log.read_text(encoding="utf-8").splitlines()] == ["旧一", "新二+"]
    end = re.sub(r", [0-9]+ s;", ", … s;", Rounds(log).end)
    assert end == "1 violations, … s; slowest 3.0 s, 第0; commit 旧一, 新二+"


@pytest.fixture
def recalld(tmp_path):
    return Command.made(tmp_path / "工作区", RECALLD_NOW="2026-01-31T10:00:00+08:00", TZ="America/New_York")


@pytest.mark.parametrize(
    ("words", "stdin", "environ"),
    [
        ("append -w 工作区 --role user --text - --json --at 昨天", "我对花生过敏。", {}),
        (
            "append -w 工作区 --jsonl",
            '{"id": "m1", "role": "user", "text": "半个表情 \\ud83d"}\n坏的',
            {"RECALLD_LANGUAGE": "zh"},
        ),
        ("status -w 工作区", "", {"RECALLD_ARCHIVE_TIMEZONE": ""}),
        ("status -w 没有", "", {"RECALLD_LANGUAGE": "auto", "LC_ALL": "zh_CN.UTF-8"}),
        ("serach", "", {}),
    ],
    ids=["input", "lines", "zone", "language", "fault"],
)
def test_forked_command_answers_like_a_new_one(recalld, words, stdin, environ):
    forked, new = (ended(recalld.start(*words.split(), before=before, **environ), stdin) for before in ([], ["env"]))
    assert forked == new
    assert forked.out + forked.err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_forked_supervisor_ends_by_signals_like_a_new_one(recalld, number, code):
    with recalld.supervised() as process:
        assert Path(f"/proc/{process.pid}/cwd").readlink() == recalld.root.parent
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == code
