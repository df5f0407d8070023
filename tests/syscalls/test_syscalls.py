"""A share of the sweep for every run of the tests; the whole of it: python -m tests.syscalls."""

import re

import pytest

from tests.process.rounds import share


@pytest.mark.proof
def test_pipeline_loses_nothing_when_a_system_call_fails_or_is_the_last():
    said = share("tests.syscalls", "--limit", "15", "--seed", "7")

    assert re.search(r"^15 trials, 0 violations", said, re.MULTILINE), said


@pytest.mark.proof
def test_recovery_loses_nothing_when_it_is_killed_too():
    said = share("tests.syscalls", "--pairs", "8", "--pairs-a-kill", "4", "--seed", "7")

    assert re.search(r"^[1-9][0-9]* trials, 0 violations", said, re.MULTILINE), said


@pytest.mark.proof
def test_sweep_finds_files_written_in_place():
    # which calls are hit changes with what is written: another seed, if it ever hits none in place
    said = share("tests.syscalls", "--control", "--workload", "archive", "--faults", "kill", "--limit", "20", "--seed", "8")

    assert "can't be read" in said
