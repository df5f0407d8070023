"""The faults of the matrix: mends of tests.undone put back as text, and mutants of tests.crash, with the lines that each changes."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, NamedTuple

from tests.crash.mutants import MUTANTS, Mutant
from tests.undone.__main__ import ROOT, ROWS, Undone, places, sources


class Fault(NamedTuple):
    """One fault: a mend to take back, or a mutant."""

    name: str
    undone: Undone | None = None
    mutant: Mutant | None = None


def every_fault() -> list[Fault]:
    """All faults that exist as a patch, but for the mutants that nothing can find."""
    mends = [Fault(f"mend: {row.name}", undone=row) for row in ROWS]
    return [*mends, *(Fault(f"mutant: {mutant.name}", mutant=mutant) for mutant in MUTANTS if not mutant.survives)]


def changed_lines(fault: Fault) -> dict[str, range | None]:
    """The lines of the product that the fault changes, by file; None is the whole file. A fault of the modelled disk changes none."""
    if fault.undone:
        path, text = place_of(fault.undone)
        first = text[: text.index(fault.undone.mended)].count("\n") + 1
        lines = range(first, first + fault.undone.mended.rstrip("\n").count("\n") + 1)
        return {path.relative_to(ROOT).as_posix(): lines}
    assert fault.mutant
    changed = [_lines_of_attribute(owner, name) for owner, name, _ in fault.mutant.changes]
    return {path: lines for path, lines in changed if path.startswith(("supervisor/", "worker/"))}


def place_of(row: Undone) -> tuple[Path, str]:
    """The module that has the mend, and its text."""
    texts = sources(ROOT)
    found = places(row, texts)
    if len(found) != 1:
        raise SystemExit(f"{row.name}: {len(found)} places have the text of this row, not one")
    return found[0], texts[found[0]]


def _lines_of_attribute(owner: Any, name: str) -> tuple[str, range | None]:
    """The file and the lines of a function or class that is replaced; of a constant, the whole module."""
    original = inspect.unwrap(vars(owner)[name])
    original = getattr(original, "__func__", original)
    try:
        lines, first = inspect.getsourcelines(original)
        return _below_root(inspect.getsourcefile(original)), range(first, first + len(lines))
    except (OSError, TypeError):
        return _below_root(inspect.getsourcefile(owner)), None


def _below_root(path: str | None) -> str:
    resolved = Path(path or "/").resolve()
    return resolved.relative_to(ROOT).as_posix() if resolved.is_relative_to(ROOT) else ""
