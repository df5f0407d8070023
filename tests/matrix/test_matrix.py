"""The parts of `python -m tests.matrix`: which lines a fault changes, which tests are drawn, and the table."""

from __future__ import annotations

from tests.matrix.__main__ import drawn, table
from tests.matrix.faults import changed_lines, every_fault
from tests.matrix.plugin import suite_of
from tests.undone.__main__ import ROOT


def test_every_fault_changes_the_product_but_those_of_the_modelled_disk():
    changed = {fault.name: changed_lines(fault) for fault in every_fault()}
    assert [name for name, lines in changed.items() if not lines] == ["mutant: no fsync", "mutant: no fsync of folders"]
    assert [path for lines in changed.values() for path in lines if not (ROOT / path).is_file()] == []


def test_changed_lines_of_a_mend_are_those_with_its_text():
    fault = next(fault for fault in every_fault() if fault.name == "mend: a link in place of the index is followed")
    ((path, lines),) = changed_lines(fault).items()
    text = (ROOT / path).read_text(encoding="utf-8").split("\n")
    assert fault.undone
    assert fault.undone.mended in "\n".join(text[line - 1] for line in lines or ())


def test_suite_of_is_the_folder_below_tests():
    names = [
        "tests/archive/test_run.py::test_a",
        "tests/golden/corpus/test_corpus.py::test_b[a/b]",
        "tests/test_docs.py::test_c[x/y/z]",
    ]
    assert [suite_of(name) for name in names] == ["tests/archive", "tests/golden", "tests"]


def test_drawn_tests_are_some_of_each_suite_and_the_same_each_time():
    tests = {f"tests/{suite}/test_x.py::test_{n}" for suite in ("archive", "host") for n in range(9)}
    assert len(drawn(tests, 4, "a")) == 8
    assert set(drawn(tests, 4, "a")) < tests
    assert drawn(tests, 4, "a") == drawn(tests, 4, "a") != drawn(tests, 4, "b")


def test_table_counts_what_a_suite_finds_and_what_nothing_else_finds():
    rows = [
        {"key": "mend: a", "finders": ["tests/archive"]},
        {"key": "mend: b", "finders": ["tests/archive", "tests/host"]},
        {"key": "mend: c", "finders": []},
    ]
    assert table(rows).split("\n")[2:] == [
        "| `tests/archive` | 2 | 1 |",
        "| `tests/host` | 1 | 0 |",
        "",
        "3 faults; found by none of the tests that were run: mend: c",
    ]
