"""A small share of the hostile archives; all of them are ``python -m tests.fuzz.archives``."""

from __future__ import annotations

import pytest

from tests.fuzz.archives import MOST_BYTES, bases, case, run

pytestmark = pytest.mark.proof


def test_hostile_archives_are_refused_within_their_time_and_memory():
    faults, _, largest = run(300)
    assert faults == []
    assert largest <= MOST_BYTES


def test_archives_that_nobody_changed_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.fuzz.archives.hostile_tar", lambda data, _: data)
    monkeypatch.setattr("tests.fuzz.archives.mutated", lambda data, _: data)
    (tmp_path / "里").mkdir()
    tar, held = bases(tmp_path)
    for seed in (0, 1):
        case(seed, tar, held, tmp_path / "里")
