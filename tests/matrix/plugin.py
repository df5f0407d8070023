"""What the matrix has pytest do: put a mutant of tests.crash in place, and leave a suite once one of its tests has failed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import pytest

#: The name of the mutant that the tests run with, in the environment.
MUTANT: Final = "RECALLD_MATRIX_MUTANT"
#: The file to which the name of each test that fails is added, as a line of JSON, in the environment.
FAILED: Final = "RECALLD_MATRIX_FAILED"

_failed: Final[set[str]] = set()


def suite_of(test: str) -> str:
    """The suite that a test is of: `tests/archive` of `tests/archive/test_run.py::test_run`, `tests` of a file beside the folders."""
    folders = test.partition("::")[0].split("/")[:-1]
    return "/".join(folders[:2])


def pytest_configure() -> None:
    """Put the mutant in place before any test is loaded."""
    if name := os.environ.get(MUTANT):
        from tests.crash.mutants import MUTANTS

        mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
        for owner, attribute, other in mutant.changes:
            setattr(owner, attribute, other)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if suite_of(item.nodeid) in _failed:
        pytest.skip("its suite has found the fault")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(suite_of(report.nodeid))
        if name := os.environ.get(FAILED):
            with Path(name).open("a", encoding="utf-8") as file:
                file.write(json.dumps(report.nodeid) + "\n")
