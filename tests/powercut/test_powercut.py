"""A share of the power cuts for a test run as root; all of them: python -m tests.powercut."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def cut(*words: str) -> tuple[int, str]:
    """Cut in a process of its own; skipped, loudly, where nothing can be cut."""
    command = [sys.executable, "-m", "tests.powercut", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if "SKIPPED" in done.stdout:
        pytest.skip(done.stdout.strip())
    return done.returncode, done.stdout + done.stderr


@pytest.mark.proof
def test_power_cut_loses_no_acknowledged_message():
    code, said = cut("--cuts", "6", "--a-round", "3", "--fs", "ext4", "--seed", "7")

    assert code == 0, said
    assert re.search(r"^6 cuts \(ext4 6\), [1-9][0-9]* acknowledged, 0 violations", said, re.MULTILINE), said


@pytest.mark.proof
def test_power_cut_rig_detects_missing_fsyncs():
    code, said = cut("--cuts", "40", "--a-round", "4", "--fs", "ext4", "--seed", "7", "--control", "all")

    assert code == 0, said
    assert "LOST" in said or "can't be read" in said or "is gone" in said
