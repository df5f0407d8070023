"""The operation that moves old dated files to trash/, of which a summary has what they said; nothing does it by itself."""

from __future__ import annotations

from ..archive.coverage import old_files, prunable
from ..text.record import record
from .operation import Request, Visible, operation, within


@record(kw_only=True)
class PruneRequest(Request):
    """
    Dated files of days more than *summary_days*, and more than *recent_days*, ago; with *dry_run* they are only named.

    *keep_longterm* changes nothing: the long-term file is never pruned.
    """

    summary_days: int = within(180, 1, 36_500)
    recent_days: int = within(5, 0, 36_500)
    keep_longterm: bool = True
    dry_run: bool = False


@record
class Pruned:
    """The dated *files* that were moved (with *dry_run*: would be), their *bytes*, and how many as old ones have no cover."""

    files: tuple[str, ...]
    bytes: int
    uncovered: int
    dry_run: bool


@operation("prune", PruneRequest, changes=True, owner=True, within_s=600.0)
def prune(memory: Visible, request: PruneRequest) -> Pruned:
    """Move to trash/ what a standing summary of a model covers, and never anything else; `undo` brings it back."""
    ws = memory.ws
    ws.groups.keep(memory.caller.clock())
    with ws.files.lock(ws.paths.history_lock):
        ws.journal.refresh()
        old = old_files(ws.memory.dated(), ws.today(memory.caller.clock()), max(request.summary_days, request.recent_days))
        groups = prunable(old, ws.memory.summaries())
        if not request.dry_run:
            ws.trash.prune([summary.name for summary in groups])
    return Pruned(
        tuple(summary.name for summary in groups),
        sum(summary.size for summary in groups),
        len(old) - len(groups),
        request.dry_run,
    )
