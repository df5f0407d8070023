"""The texts that newer ones replaced: kept for a year, thirty days at least, as far as there is room for all of them."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files
from recalld.supervisor.storage.keeping import LEAST_AGE, ReplacedTexts
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


def test_drop_counts_a_deleted_folder_as_all_that_is_in_it(texts):
    (texts._folder / "花园").mkdir(parents=True)
    for name in "番茄", "黄瓜":
        (texts._folder / "花园" / f"{name}.md").write_bytes(bytes(600))
    os.utime(texts._folder / "花园", ((NOW - timedelta(days=2)).timestamp(),) * 2)
    aged(texts, "0.md", 0, bytes(400))
    assert texts.drop(NOW, YEAR, 1_000) == 1
    assert names(texts) == {"0.md"}


def test_text_that_is_replaced_once_more_is_as_old_as_the_last_time(texts):
    aged(texts, "a.md", 400)
    texts.keep("a.md", "旧的一版".encode())
    texts.keep("b.md", b"b")
    assert texts.drop(at("2036-01-01T00:00"), YEAR, 10**9) == 0


@given(ages=st.lists(st.integers(0, 500), min_size=1, max_size=12), age=st.integers(0, 400), most=st.integers(0, 3_000))
def test_drop_keeps_the_newest_within_the_bytes_and_thirty_days(tmp_path_factory, ages, age, most):
    texts = ReplacedTexts(Files(RealDisk()), tmp_path_factory.mktemp("w") / "previous")
    for n, days in enumerate(ages):
        aged(texts, f"{n}.md", days, bytes(300))
    texts.drop(NOW, timedelta(days=age), most)
    left = sorted(int(name.removesuffix(".md")) for name in names(texts))
    room = max(most // 300, 1)
    young = [n for n, days in enumerate(ages) if timedelta(days=days - min(ages)) <= max(timedelta(days=age), LEAST_AGE)]
    assert sorted(ages[n] for n in left) == sorted(ages[n] for n in young)[:room]
