"""A share of the sweep for every run of the tests; the whole of it: python -m tests.syscalls."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.syscalls.tracer import refused

ROOT = Path(__file__).parents[2]


def swept(*words: str) -> tuple[int, str]:
    """Run the sweep in a process of its own: it forks, and this one may have threads."""
    if why := refused():
        pytest.skip(f"NOT SWEPT: {why}")
    command = [sys.executable, "-m", "tests.syscalls", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.proof
def test_pipeline_loses_nothing_when_a_system_call_fails_or_is_the_last():
    code, said = swept("--limit", "15", "--seed", "7")

    assert code == 0, said
    assert re.search(r"^15 trials, 0 violations", said, re.MULTILINE), said


@pytest.mark.proof
def test_recovery_loses_nothing_when_it_is_killed_too():
    code, said = swept("--pairs", "8", "--pairs-a-kill", "4", "--seed", "7")

    assert code == 0, said
    assert re.search(r"^[1-9][0-9]* trials, 0 violations", said, re.MULTILINE), said


@pytest.mark.proof
def test_sweep_finds_files_written_in_place():
    code, said = swept("--control", "--workload", "archive", "--faults", "kill", "--limit", "20", "--seed", "8")

    assert code == 0, said  # which calls are hit changes with what is written: another seed, if it ever hits none in place
    assert "can't be read" in said
