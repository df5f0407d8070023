"""A share of `python -m tests.undone`: every row undoes something, and one is found out."""

import pytest

from tests.undone.__main__ import ROOT, ROWS, main, places, sources


@pytest.fixture(scope="module")
def texts():
    return sources(ROOT)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name.replace(" ", "-"))
def test_undone_row_has_its_text_once_in_the_product_and_a_test(row, texts):
    file, _, name = row.test.partition("::")
    assert len(places(row, texts)) == 1
    assert row.mended != row.before
    assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.proof
def test_undone_mend_fails_its_test(capsys):
    assert main(["unknown chat"]) == 0
    assert "1 mends undone, 1 found" in capsys.readouterr().out
