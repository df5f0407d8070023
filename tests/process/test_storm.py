"""A share of the storms for every test run; all of them: python -m tests.process.storm and locks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def stormed(module: str, *words: str) -> str:
    """Run a storm in a process of its own: it forks, and this one may have threads."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.process.{module}", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.proof
def test_pipeline_loses_and_duplicates_nothing_under_random_kills():
    said = stormed("storm", "--kills", "15", "--seed", "2")

    assert re.search(
        r"^15 kills, [1-9][0-9]* acknowledged messages, [0-9]+ saves, [1-9][0-9]* archive runs, 0 violations",
        said,
        re.MULTILINE,
    ), said


@pytest.mark.proof
def test_history_loses_nothing_with_eight_writers_and_one_without_lock():
    said = stormed("locks", "--appends", "400", "--a-round", "200", "--seed", "7")

    assert re.search(r"appends, of these [0-9]+ unmet, [0-9]+ of ours vanished, [1-9][0-9]* put back, 0 violations", said), said
