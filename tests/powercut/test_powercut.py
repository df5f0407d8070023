"""A share of the power cuts for a test run as root; all of them: python -m tests.powercut."""

import re

import pytest

from tests.process.rounds import share


@pytest.mark.proof
def test_power_cut_loses_no_acknowledged_message():
    said = share("tests.powercut", "--cuts", "6", "--a-round", "3", "--fs", "ext4", "--seed", "7")

    assert re.search(r"^6 cuts \(ext4 6\), [1-9][0-9]* acknowledged, 0 violations", said, re.MULTILINE), said


@pytest.mark.proof
def test_power_cut_rig_detects_missing_fsyncs():
    said = share("tests.powercut", "--cuts", "40", "--a-round", "4", "--fs", "ext4", "--seed", "7", "--control", "all")

    assert "LOST" in said or "can't be read" in said or "is gone" in said
