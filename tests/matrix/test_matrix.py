"""The parts of `python -m tests.matrix`: which lines a fault changes."""

from __future__ import annotations

from tests.matrix.faults import changed_lines, every_fault
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
