"""A small share of each suite with processes of its own, and of its control: recalld made careless has to be found out."""

import re

import pytest

from tests.process.rounds import share

#: The words of each, and what it has to say.
SHARES = {
    "golden corpus": ("tests.golden.corpus.record api commands connect language mcp refused usage", r"\A\Z"),
    "storm": (
        "tests.process.storm --kills 15 --seed 2",
        r"^15 kills, [1-9][0-9]* acknowledged messages, [0-9]+ saves, [1-9][0-9]* archive runs, 0 violations",
    ),
    "backups": ("tests.process.backups --backups 3 --seed 3", r"^3 backups, [1-9][0-9]* acknowledged .* 0 violations"),
    "system calls": ("tests.syscalls --limit 15 --seed 7", r"^15 trials, 0 violations"),
    # which calls are hit changes with what is written: another seed, if it ever hits none in place
    "files written in place": (
        "tests.syscalls --control --workload archive --faults kill --limit 20 --seed 8",
        "can't be read",
    ),
    "power cuts": (
        "tests.powercut --cuts 6 --a-round 3 --fs ext4 --seed 7",
        r"^6 cuts \(ext4 6\), [1-9][0-9]* acknowledged, 0 violations",
    ),
    "power cuts without fsync": (
        "tests.powercut --cuts 40 --a-round 4 --fs ext4 --seed 7 --control all",
        "LOST|can't be read|is gone",
    ),
}


@pytest.mark.proof
@pytest.mark.parametrize("name", SHARES)
def test_suite_loses_nothing_and_finds_a_careless_product(name):
    words, outcome = SHARES[name]
    said = share(*words.split())
    assert re.search(outcome, said, re.MULTILINE), said
