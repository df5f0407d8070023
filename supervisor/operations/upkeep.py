"""
The operations that show and repair the state of a workspace: status, checks, events, plan, fsck, restore, archive, the index.

All are for the owner alone. `doctor` is not one of them, since it also examines a workspace that can't be opened.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..archive.quarantine import Unread
from ..storage.errors import BadFile
from ..storage.texts import Text
from ..workspace import Workspace
from .operation import OfPython, Visible, operation

if TYPE_CHECKING:
    from ..checks.fsck import Ledger, Repairs
    from ..index.manifest import Changes
    from ..index.view import Inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusAnswer:
    """The *facts* by stable keys, with wire times; the *sentences* about what is wrong, and whether all is well."""

    facts: Mapping[str, Any]
    sentences: tuple[str, ...]
    is_well: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreAnswer:
    """
    How many messages history.json has after it was *restored* (0: nothing was done).

    *unread* says what could not be read of this damaged file and of earlier ones.
    """

    restored: int
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveAnswer:
    """The dated *files* by the ids of the messages that were written, and how many messages are *left*."""

    files: Mapping[str, str]
    left: int


@operation("status", owner=True)
def status(memory: Visible, ask: OfPython = None, version: OfPython = None) -> StatusAnswer:
    """
    Return the state of the workspace, and what is wrong with it.

    *ask* returns the version of the running supervisor, *version* that of this recalld, as for `Look`; both are None when the
    supervisor itself answers.
    """
    from ..checks.check import Look
    from ..checks.status import status as status_of
    from ..checks.table import verdict

    others = (ask, version) if ask else ()
    look = Look(memory.ws, memory.caller.clock(), os.environ, *others)
    facts = status_of(look)
    sentences, is_well = verdict(look)
    facts["trouble"] = facts["trouble"] or (None if is_well else sentences[0])
    return StatusAnswer(facts=facts, sentences=tuple(sentences), is_well=is_well)


@operation("plan", owner=True)
def plan(memory: Visible) -> dict[str, Any]:
    """Return what the next run would do."""
    from ..checks.status import plan as plan_of

    return plan_of(memory.ws, memory.caller.clock())


@operation("fsck", owner=True, within_s=600.0)
def fsck(memory: Visible) -> Ledger:
    """Account for every message and file."""
    from ..checks.check import Look
    from ..checks.table import account

    return account(Look(memory.ws, memory.caller.clock(), os.environ))


@operation("repair", owner=True, within_s=600.0)
def repair(memory: Visible) -> Repairs:
    """Repair what fsck finds, as far as possible; AlreadyRuns while a supervisor runs."""
    from ..checks.fsck import repair as mend
    from ..host.lock import supervisor_lock

    with supervisor_lock(memory.ws):
        return mend(memory.ws, memory.caller.clock())


@operation("accept", owner=True)
def accept(memory: Visible, file: Path) -> int:
    """Accept that messages of a dated file are missing; return how many."""
    from ..checks.fsck import accept as accept_missing

    return accept_missing(memory.ws, file.name)


@operation("restore", owner=True, within_s=600.0)
def restore(memory: Visible) -> RestoreAnswer:
    """Restore a damaged or lost history.json."""
    from ..archive.intake import restore_history

    ws = memory.ws
    ws.prepare()
    restored = restore_history(ws, memory.caller.clock())
    if not restored:
        _refuse_unreadable(ws)
    ws.journal.refresh()
    return RestoreAnswer(restored=restored, unread=tuple(ws.quarantine.unread(ws.journal.known.ids)))


def _refuse_unreadable(ws: Workspace) -> None:
    """Refuse a history.json of which nothing could be restored: it lies there as it was."""
    try:
        ws.history.read()
    except BadFile as error:
        raise BadFile(error.path, error.why, Text("nothing was restored; correct it, or move it away")) from None


@operation("archive", owner=True, within_s=600.0)
def archive(memory: Visible) -> ArchiveAnswer:
    """Write every message to its dated file now; if a supervisor runs, ask it to do so and wait for it."""
    from ..host.round import archive_now

    files, left = archive_now(memory.ws, memory.caller.clock())
    return ArchiveAnswer(files=files, left=left)


@operation("redo", owner=True)
def redo(memory: Visible, period: str) -> str:
    """Have a summary written again and return its group; the old one is kept until the new one is there."""
    from ..summaries.submit import submit_again

    ws = memory.ws
    stores: dict[str, Any] = {"journal": ws.journal, "memory": ws.memory, "task_queue": ws.task_queue}
    return submit_again(period, memory.caller.clock(), **stores, config=ws.config, prepare=ws.prepare)


@operation("index_status", owner=True)
def index_status(memory: Visible) -> Inventory:
    """Return what the index holds, and how many files differ from it."""
    return memory.ws.index.inventory()


@operation("index_rebuild", owner=True, within_s=600.0)
def index_rebuild(memory: Visible, wait_s: float = 10.0) -> Changes:
    """Rebuild the index from the files, unless another process keeps it locked for longer than *wait_s* (`shared`)."""
    return memory.ws.searcher.refresh(wait_s, memory.control, rebuild=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAnswer:
    """What a *check* found: "good", "odd" or "bad"; *why* is a sentence, *mend* the command in it."""

    check: str
    state: str
    why: str
    mend: str | None


@operation("examine", owner=True, within_s=60.0)
def examine(memory: Visible, slow: bool = False) -> list[CheckAnswer]:
    """Return what each check finds, in the order of `doctor`; a check without a fault is "good", a slow one may be left out."""
    from ..checks.check import Look
    from ..checks.table import examine as examine_all

    findings = examine_all(Look(memory.ws, memory.caller.clock(), os.environ, slow=slow))
    return [CheckAnswer(check=finding.check, state=finding.state, why=finding.why, mend=finding.mend) for finding in findings]
