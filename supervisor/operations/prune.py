"""The operation that moves old dated files to trash/, of which a summary has what they said; nothing does it by itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from ..archive.coverage import prunable
from .operation import Bounds, Visible, operation


@dataclass(frozen=True, slots=True)
class Pruned:
    """The dated *files* that were moved (with *dry_run*: would be), their *bytes*, and how many as old ones have no cover."""

    files: tuple[str, ...]
    bytes: int
    uncovered: int
    dry_run: bool


@operation("prune", owner=True, within_s=600.0)
def prune(
    memory: Visible,
    summary_days: Annotated[int, Bounds(least=1, most=36_500)] = 180,
    recent_days: Annotated[int, Bounds(least=0, most=36_500)] = 5,
    keep_longterm: bool = True,  # noqa: ARG001 - the long-term file is never pruned
    dry_run: bool = False,
) -> Pruned:
    """
    Move to trash/ what a standing summary of a model covers, and never anything else; `undo` brings it back.

    The files are of days more than *summary_days*, and more than *recent_days*, ago; with *dry_run* they are only named.
    """
    ws = memory.ws
    ws.groups.keep(memory.caller.clock())
    with ws.files.lock(ws.paths.history_lock):
        ws.journal.refresh()
        first = ws.today(memory.caller.clock()) - timedelta(days=max(summary_days, recent_days))
        old = [file for file in ws.memory.dated() if file.day < first]
        covered = prunable(old, ws.memory.summaries())
        names = tuple(file.name for file in covered)
        if not dry_run:
            ws.trash.prune(names)
    return Pruned(names, sum(file.size for file in covered), len(old) - len(covered), dry_run)
