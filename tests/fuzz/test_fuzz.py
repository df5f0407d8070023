"""A small share of the fuzzing, other cases than those of the long runs; all of it is ``python -m tests.fuzz``."""

import pytest

from tests.fuzz.lives import live, template
from tests.fuzz.readers import READERS, read_one

pytestmark = pytest.mark.proof


@pytest.mark.parametrize("name", READERS)
def test_readers_accept_intact_files(name):
    READERS[name].read(READERS[name].good)


@pytest.mark.parametrize("hundred", range(10))
def test_readers_raise_only_expected_errors_on_mutated_files(hundred):
    for seed in range(100 * hundred, 100 * hundred + 100):
        read_one(seed)


def test_workspace_loses_nothing_in_a_day_with_corrupt_files(tmp_path):
    start = template(tmp_path / "start")
    for seed in range(12):
        live(start, tmp_path / "case", seed)
