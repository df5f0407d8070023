"""docs/features.md against the tests: each item that is done has its tests, and each test that carries a number is in the page."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = (ROOT / "docs/features.md").read_text()
ITEMS: Final = {"000": 53, "001": 13, "002": 8, "003": 33, "004": 13}
NOT_YET: Final = "not yet"


class Row(NamedTuple):
    number: str
    what: str
    where: str
    test: str

    @property
    def tests(self) -> set[str]:
        return set(re.findall(r"`([\w/]+\.py::\w+)`", self.test))


_LINES: Final = [line for line in PAGE.splitlines() if re.match(r"\| \d{3}\.", line)]
ROWS: Final = [Row(*(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])) for line in _LINES]


def carried() -> dict[str, set[str]]:
    """Return the numbers of features.md that the tests carry, each with the tests."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        if "mark.feature" not in (text := path.read_text()):
            continue
        for function in ast.walk(ast.parse(text)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for mark in function.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.feature":
                        name = f"{path.relative_to(ROOT / 'tests')}::{function.name}"
                        for number in mark.args:
                            found.setdefault(ast.literal_eval(number), set()).add(name)
    return found


def test_features_page_has_every_item_once_in_order():
    numbers = [f"{page}.{item}" for page, items in ITEMS.items() for item in range(1, items + 1)]
    assert [row.number for row in ROWS] == numbers


def test_features_page_names_the_tests_that_carry_the_number():
    assert {row.number: row.tests for row in ROWS if row.tests} == carried()


def test_features_page_says_not_yet_where_nothing_proves_an_item():
    wrong = [row.number for row in ROWS if bool(row.tests) == (row.test == NOT_YET) or bool(row.tests) == (row.where == "–")]
    assert not wrong


def test_features_page_names_files_that_are_there():
    places = {place for row in ROWS for place in re.findall(r"`([\w/]+(?:\.py|/))`", row.where)}
    homes = (ROOT, ROOT / "supervisor")
    assert places
    assert not [place for place in places if not any((home / place).exists() for home in homes)]


def test_features_page_counts_what_is_done():
    done = Counter(row.number[:3] for row in ROWS if row.tests)
    for page, items in ITEMS.items():
        assert re.search(rf"^\| {page} \| .* \| {done[page]} of {items} \|$", PAGE, re.MULTILINE)
