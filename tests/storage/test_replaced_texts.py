"""The texts that newer ones replaced: kept for a year or as long as there is room, and never for less than thirty days."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files
from recalld.supervisor.storage.replaced_texts import LEAST_AGE, ReplacedTexts
from tests.world import at

NOW = at("2026-11-23T10:00")
YEAR = timedelta(days=365)


@pytest.fixture
def texts(tmp_path) -> ReplacedTexts:
    return ReplacedTexts(Files(RealDisk()), tmp_path / "previous")


def aged(texts: ReplacedTexts, name: str, days: float, data: bytes = "旧的一版".encode()) -> None:
    texts.keep(name, data)
    os.utime(texts._folder / name, ((NOW - timedelta(days=days)).timestamp(),) * 2)


def names(texts: ReplacedTexts) -> set[str]:
    return {path.name for path in texts._folder.iterdir()}


def test_drop_leaves_what_is_younger_than_the_age(texts):
    for days in (0, 10, 100, 300):
        aged(texts, f"{days}.md", days)
    assert texts.drop(NOW, timedelta(days=90), 10**9) == 2
    assert names(texts) == {"0.md", "10.md"}


def test_drop_takes_the_oldest_beyond_the_bytes_but_none_of_thirty_days(texts):
    for days in (0, 29, 31, 40):
        aged(texts, f"{days}.md", days, bytes(400))
    assert texts.drop(NOW, YEAR, 1_200) == 1
    assert names(texts) == {"0.md", "29.md", "31.md"}
    texts.drop(NOW, YEAR, 1)
    assert names(texts) == {"0.md", "29.md"}


def test_drop_takes_a_deleted_folder_with_all_that_is_in_it(texts):
    aged(texts, "0.md", 0)
    (texts._folder / "花园/温室").mkdir(parents=True)
    (texts._folder / "花园/温室/番茄.md").write_text("番茄")
    assert texts.held() == (2, len("旧的一版番茄".encode()))
    os.utime(texts._folder / "花园", ((NOW - timedelta(days=400)).timestamp(),) * 2)
    assert texts.drop(NOW, YEAR, 10**9) == 1
    assert names(texts) == {"0.md"}


def test_text_that_is_replaced_once_more_is_as_old_as_the_last_time(texts):
    aged(texts, "a.md", 400)
    texts.keep("a.md", "旧的一版".encode())
    texts.keep("b.md", b"b")
    assert texts.drop(at("2036-01-01T00:00"), YEAR, 10**9) == 0


def test_clock_that_is_ahead_drops_nothing(texts):
    for days in (0, 10, 20):
        aged(texts, f"{days}.md", days)
    assert texts.drop(NOW + timedelta(days=3_000), timedelta(days=30), 1) == 0


def test_folder_that_is_not_there_holds_nothing(texts):
    assert texts.held() == (0, 0)
    assert texts.drop(NOW, YEAR, 1) == 0


@given(ages=st.lists(st.integers(0, 500), max_size=12), age=st.integers(0, 400), most=st.integers(0, 3_000))
def test_drop_never_takes_what_is_younger_than_thirty_days(tmp_path_factory, ages, age, most):
    texts = ReplacedTexts(Files(RealDisk()), tmp_path_factory.mktemp("w") / "previous")
    for n, days in enumerate(ages):
        aged(texts, f"{n}.md", days, bytes(300))
    left = len(ages) - texts.drop(NOW, timedelta(days=age), most)
    assert left >= sum(timedelta(days=days) < LEAST_AGE for days in ages)
    assert left * 300 <= most or left == sum(timedelta(days=days - min(ages)) <= LEAST_AGE for days in ages)
