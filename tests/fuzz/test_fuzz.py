"""A small share of the fuzzing, other cases than those of the long runs; all of it is ``python -m tests.fuzz``."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.lives import live, template
from tests.fuzz.mutate import mutated
from tests.fuzz.parts import read_one
from tests.fuzz.readers import READERS


@pytest.mark.parametrize("name", READERS)
def test_each_reader_reads_what_is_whole(name):
    READERS[name].read(READERS[name].good)


@pytest.mark.parametrize("hundred", range(10))
def test_no_reader_fails_in_a_way_of_its_own_on_rubbish(hundred):
    for seed in range(100 * hundred, 100 * hundred + 100):
        read_one(seed)


def test_a_day_with_spoiled_files_loses_nothing_and_meets_no_bug(tmp_path):
    start = template(tmp_path / "start")
    for seed in range(20):
        live(start, tmp_path / "case", seed)


def test_a_word_that_goes_and_a_person_s_file_that_is_changed_are_noticed(tmp_path, monkeypatch):
    """The judge can fail: a product that deletes a note or cleans one up is found out."""
    start = template(tmp_path / "start")

    def spoil(change):
        def round_and_spoil(ws, now, runs):
            change(ws.layout.memory / "花园.md")

        monkeypatch.setattr("tests.fuzz.lives.run_round", round_and_spoil)
        with pytest.raises(AssertionError, match=r"are gone|was changed"):
            live(start, tmp_path / "case", 1)

    spoil(lambda path: path.unlink(missing_ok=True))
    spoil(lambda path: path.write_bytes(path.read_bytes().strip()) if path.exists() else None)


def test_the_same_seed_makes_the_same_rubbish():
    data = READERS["history.json"].good
    assert [mutated(data, random.Random(n)) for n in range(200)] == [mutated(data, random.Random(n)) for n in range(200)]
    assert len({mutated(data, random.Random(n)) for n in range(200)}) > 150
