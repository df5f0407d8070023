"""A share of the storms for every test run; all of them: python -m tests.process.storm and locks."""

import re

import pytest

from tests.process.rounds import share


@pytest.mark.proof
def test_pipeline_loses_and_duplicates_nothing_under_random_kills():
    said = share("tests.process.storm", "--kills", "15", "--seed", "2")

    assert re.search(
        r"^15 kills, [1-9][0-9]* acknowledged messages, [0-9]+ saves, [1-9][0-9]* archive runs, 0 violations",
        said,
        re.MULTILINE,
    ), said


@pytest.mark.proof
def test_history_loses_nothing_with_eight_writers_and_one_without_lock():
    said = share("tests.process.locks", "--appends", "400", "--a-round", "200", "--seed", "7")

    assert re.search(r"appends, of these [0-9]+ unmet, [0-9]+ of ours vanished, [1-9][0-9]* put back, 0 violations", said), said
