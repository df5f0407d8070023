"""docs/features.md against the tests: each item is in the page once and has its tests, and no test carries another number."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
ITEMS: Final = {"000": 53, "001": 13, "002": 8, "003": 33, "004": 13}
NUMBERS: Final = [f"{page}.{item}" for page, items in ITEMS.items() for item in range(1, items + 1)]
ROWS: Final = re.findall(r"^\| (\d{3}\.\d+) \|.*\| (.*) \|$", (ROOT / "docs/features.md").read_text(), re.MULTILINE)


def test_features_page_has_every_item_once_in_order():
    assert [number for number, _ in ROWS] == NUMBERS


def test_features_are_each_carried_by_a_test():
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    marks = re.findall(r"^@pytest\.mark\.feature\(([^)]+)\)$", tests, re.MULTILINE)
    assert {number for mark in marks for number in re.findall(r"\d{3}\.\d+", mark)} == set(NUMBERS)


def test_features_page_names_files_that_are_there():
    places = {place for _, where in ROWS for place in re.findall(r"`([^`]+)`", where)}
    homes = (ROOT, ROOT / "supervisor")
    assert places
    assert not [place for place in places if not any((home / place).exists() for home in homes)]
