"""The base of all long suites: a hanging process is ended and reported, and each part records its commit."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process import rounds
from tests.process.rounds import Rounds

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


@pytest.mark.process
@pytest.mark.timeout(60)
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
