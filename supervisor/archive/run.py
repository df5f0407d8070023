"""
The archive run: every due message, word for word, to the dated file of its day (003, 归档流程; docs/protocol.md, 3).

Settling, each round and after a crash: flags follow the evidence of the files, and what a crash left is tidied up.

No plan has to be remembered (docs/protocol.md, 3, Settling; holes.md A8 to A10, B9).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from supervisor.archive.coverage import covered, names_ever
from supervisor.archive.flags import Evidence, mark_pending, overflows, reconcile, trim
from supervisor.archive.intake import know_written, unwritten
from supervisor.archive.plan import due, plan_days, take
from supervisor.protocol.dated_file import render_dated

if TYPE_CHECKING:
    from datetime import datetime

    from supervisor.archive.plan import Due
    from supervisor.protocol.message import Message
    from supervisor.workspace import Workspace


def archive(ws: Workspace, now: datetime, *, everything: bool = False) -> int:
    """
    Write what is un-written to new dated files, one a local day; returns how many messages.

    A question that still waits for its answer is left, unless *everything* is to go.
    """
    # gather
    know_written(ws)  # where the journal can't be written, a file that it missed would be written again
    # what another program has added, or taken a time from, since the intake is met in the next round
    waiting = [m for m in unwritten(ws, ws.history.read()) if m.key in ws.journal.unwritten and m.created_at]
    taken = taken_names(ws)
    # decide
    chosen = waiting if everything else take(waiting, now, ws.config.archive.exchange_wait)
    plan = plan_days(chosen, ws.zone, taken, ws.journal.has_words, ws.config.archive.slug_chars)
    if not plan:
        return 0
    # apply: pending first, so that no cap can push out what is being written
    keys = frozenset[tuple[str, str]]().union(*(file.keys for file in plan))
    ws.history.change(partial(mark_pending, keys=keys))
    count = 0
    for file in plan:
        if ws.should_stop():
            break
        data = render_dated(file.day, ws.config.archive.timezone, ws.zone, now, file.blocks)
        try:
            ws.memory.write_dated(file.name, data)
        except FileExistsError:
            continue  # a person took the name meanwhile: the next run finds another
        ws.journal.wrote(file.name, file.blocks)
        count += len(file.blocks)
        ws.progress("written to dated files", count, len(keys))
    ws.events.emit("archived", messages=count, files=len(plan))
    return count


def taken_names(ws: Workspace) -> set[str]:
    """Return every name of a dated file that is or ever was in use: none is given twice."""
    return ws.memory.names() | names_ever(ws.memory.summaries().values()) | ws.journal.names


def why_due(ws: Workspace, now: datetime) -> Due | None:
    """Return why a run is due now; None when it is not."""
    waiting = unwritten(ws, ws.history.read())
    if not waiting:
        return None
    made = [file.created for file in ws.memory.dated() if file.created and file.created <= now]
    config = ws.config.archive
    last = max(made, default=None)
    overflowing = overflows(waiting, ws.caps)
    return due(
        waiting,
        last,
        now,
        config.unarchived_limit,
        config.interval,
        overflowing=overflowing and (last is None or now - last >= config.overflow_interval),
    )


def settle_flags(ws: Workspace, now: datetime) -> None:
    """Move every flag to where the files say that it has to be."""
    # gather
    files = know_written(ws)  # where the journal can't be told of a file, its words would count as un-written
    evidence = Evidence(
        file_of=ws.journal.file_of,
        present=frozenset(file.name for file in files),
        covered=covered(files, ws.memory.summaries()),
        in_flight=ws.task_queue.active_groups().keys(),
        failures=ws.failures(),
    )
    # decide
    step = partial(reconcile, evidence=evidence, today=ws.today(now), recent_days=ws.config.archive.recent_days)
    # apply
    history = ws.history.read()
    if step(history) != history:
        ws.history.change(step)


def trim_history(ws: Workspace) -> int:
    """Let leave history.json what may and has to; returns how many messages did."""

    def written(message: Message) -> bool:
        return bool(message.id) and ws.journal.file_of(message.key) is not None

    history = ws.history.read()
    if trim(history, written, ws.caps) is history:
        return 0
    after = ws.history.change(partial(trim, written=written, caps=ws.caps))
    ws.journal.looked(after)
    ws.events.emit("trimmed", messages=len(history) - len(after), left=len(after))
    return len(history) - len(after)
