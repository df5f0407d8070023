"""
What processes of tests are made of: a forked command is like a new one; in the long suites a hanging process is ended and
reported, and each part records its commit.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.command import Command, ended

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
