"""
Settling, each round and after a crash: flags follow the evidence of the files, and what a crash left is tidied up.

No plan has to be remembered (docs/protocol.md, 3, Settling; holes.md A8 to A10, B9).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from supervisor.intake import know_written
from supervisor.policy.coverage import covered
from supervisor.policy.identity import identify
from supervisor.policy.settle import Evidence, settle
from supervisor.policy.trim import trim
from supervisor.protocol.errors import BadFile, BadRequest, Busy, NotFound
from supervisor.protocol.json_text import salvage
from supervisor.protocol.layout import WORKERS
from supervisor.protocol.message import Message, parse_history, read_message, render_history

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from supervisor.protocol.message import History
    from supervisor.workspace import Workspace


def settle_flags(ws: Workspace, now: datetime) -> None:
    """Move every flag to where the files say that it has to be."""
    # gather
    files = know_written(ws)  # where the journal can't be told of a file, its words would count as un-written
    evidence = Evidence(
        file_of=ws.seen.file_of,
        present=frozenset(file.name for file in files),
        covered=covered(files, ws.memory.summaries()),
        in_flight=ws.spool.in_flight().keys(),
        failures=ws.failures(),
    )
    # decide
    step = partial(settle, evidence=evidence, today=ws.today(now), recent_days=ws.config.archive.recent_days)
    # apply
    history = ws.history.read()
    if step(history) != history:
        ws.history.change(step)


def trim_history(ws: Workspace) -> int:
    """Let leave history.json what may and has to; returns how many messages did."""

    def written(message: Message) -> bool:
        return bool(message.id) and ws.seen.file_of(message.key) is not None

    history = ws.history.read()
    if trim(history, written, ws.caps) is history:
        return 0
    after = ws.history.change(partial(trim, written=written, caps=ws.caps))
    ws.seen.looked(after)
    ws.events.emit("trimmed", messages=len(history) - len(after), left=len(after))
    return len(history) - len(after)


def sweep(ws: Workspace) -> int:
    """Delete the temporary files that a crash left where only the supervisor writes, and settle the spool; returns how many."""
    layout = ws.layout
    folders = [layout.memory, layout.summaries, layout.state, layout.previous, layout.quarantine]
    folders += ws.memory.month_folders()
    folders += [ws.spool.queue, ws.spool.failed]
    swept = sum(ws.files.sweep(folder) for folder in folders)
    ws.spool.settle()
    with ws.files.lock(layout.history_lock):
        return swept + ws.files.sweep(layout.root)


def sweep_shared(ws: Workspace, now: datetime) -> int:
    """Delete the temporary files where any command or worker writes, if their writers must be dead; returns how many."""
    folders = (ws.layout.drop_box, ws.layout.turns, ws.layout.pieces, ws.spool.results)
    return sum(ws.files.sweep(folder, now=now) for folder in folders)


def reclaim(ws: Workspace) -> int:
    """Put running tasks back whose workers are all dead; returns how many. A living worker's lease is watched elsewhere."""
    running = list(ws.spool.claimed())  # before the look at the locks: who starts later can't have claimed these
    if any_worker(ws):
        return 0
    for folder in (ws.spool.results, ws.layout.pieces):
        ws.files.sweep(folder)  # what its worker did not finish writing
    for name in running:
        ws.spool.put_back(name)
    if running:
        ws.events.emit("task_put_back", tasks=len(running))
    return len(running)


def any_worker(ws: Workspace) -> bool:
    """Tell whether any worker lives: each holds one of the worker locks for life."""
    for slot in range(WORKERS):
        try:
            with ws.files.lock(ws.layout.worker_lock(slot), wait_s=0):
                pass
        except Busy:
            return True
    return False


def keep_damaged(ws: Workspace) -> bool:
    """Keep a copy of a history.json that can't be read, once per content; tell whether there is one."""
    look = ws.files.look(ws.layout.history)
    return look is None or ws.quarantine.keep("history.json", look.data) != "full"


def restore_history(ws: Workspace, now: datetime, *, unknown: bool = False) -> int:
    """
    Put a damaged or lost history.json together again, from its backup, the journal, and what stands before the damage.

    The damaged bytes go to quarantine first. Returns how many messages it has now; nothing happens when it can be read, nor
    where neither backup nor journal knows anything of it, unless *unknown*.
    """
    path = ws.layout.history
    with ws.files.lock(ws.layout.history_lock):
        look = ws.files.look(path)
        try:
            ws.history.read()
        except BadFile as error:
            why = error.why
        else:
            return 0
        kept = keep_damaged(ws)
        ws.events.edge("quarantine_full", not kept)
        if not kept:
            return 0  # the quarantine is full: no byte goes that has no copy
        history = _known_history(ws, now)
        if look and not history and not unknown:
            return 0  # nothing is known that could stand in its place
        history += _saved(ws, look.data if look else b"", history, now)
        if look and not history:
            return 0
        ws.files.replace(path, render_history(history), look)
    ws.events.emit("history_restored", messages=len(history), why=why)
    return len(history)


def add_missing(ws: Workspace, source: Path, now: datetime) -> int:
    """
    Add to history.json what the copy *source* of it has and what stands nowhere else; returns how many messages.

    A copy that is damaged gives what stands before the damage. NotFound where there is none, BadRequest where it holds nothing.
    """
    look = ws.files.look(source)
    if look is None:
        raise NotFound(source)
    if not salvage(look.data):
        raise BadRequest("--from", f"{source} holds no array of messages")
    ws.seen.refresh()
    before = ws.history.read()
    after = ws.history.change(lambda history: history + _saved(ws, look.data, history, now))
    return len(after) - len(before)


def _known_history(ws: Workspace, now: datetime) -> History:
    """Return the backup, and the un-written words that the journal holds beside it."""
    backup = ws.files.look(ws.layout.history_backup)
    try:
        history: History = parse_history(backup.data, ws.zone) if backup else ()
    except ValueError:
        history = ()
    ws.seen.refresh()
    history = _named(ws, history, now)  # it may be older than the ids
    keys = {entry.key for entry in history if isinstance(entry, Message)}
    return history + tuple(message for key, message in ws.seen.unwritten.items() if key not in keys)


def _saved(ws: Workspace, damaged: bytes, history: History, now: datetime) -> History:
    """Return the messages that stand before the damage and whose words are neither in *history* nor in a dated file."""
    keys = {entry.key for entry in history if isinstance(entry, Message)}
    found = _named(ws, tuple(read_message(raw, ws.zone) for raw in salvage(damaged)), now)
    return tuple(e for e in found if isinstance(e, Message) and e.key not in keys and ws.seen.file_of(e.key) is None)


def _named(ws: Workspace, history: History, now: datetime) -> History:
    return identify(history, ws.seen.known, now, ws.config.archive.future_limit)
