"""
The table of all checks, and the three views of it: `status`, `doctor` and `fsck`.

`status` runs the quick checks, and says what the last `fsck` found. `doctor` runs all checks. `fsck` accounts for every
message, which is the slow check of the memory, and runs the memory's quick checks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from ..checks import incoming, machine, memory, model, services
from ..events import EventLog
from ..host.last_night import LastFsck, keep_last, read_last_fsck
from ..protocol.config import load, render_default
from ..protocol.paths import WorkspacePaths
from ..storage.clock import fixed_clock, machine_zone
from ..storage.disk import RealDisk
from ..storage.errors import BadConfig, NoPermission, SupervisorError
from ..storage.files import Files
from ..storage.os_errors import as_supervisor_error
from ..storage.texts import Text, msgid
from ..workspace import Workspace
from .check import Check, Fault, Faults, Finding, Look, bad, odd
from .fsck import Ledger

#: In the order in which `doctor` lists them: first the machine's checks, since the rest depends on the machine.
TABLE: Final = (
    Check("environment", "caller", model.meaning, slow=True),
    Check(
        "configuration", "caller", lambda look: map(odd, look.ws.config.notices())
    ),  # what is wrong is found before any check
    Check("rights", "machine", machine.rights, slow=True),
    Check("rights", "machine", machine.writable),
    Check("links", "machine", machine.folders),
    Check("links", "machine", machine.links, slow=True),
    Check("disk", "machine", machine.disk),
    Check("clock", "machine", machine.clock),
    Check("file events", "machine", machine.file_events),
    Check("format", "memory", incoming.newer_format),
    Check("status", "machine", machine.read_only),
    Check("status", "memory", incoming.history, in_ledger=True),
    Check("status", "memory", incoming.unread),
    Check("status", "memory", incoming.forgetting),
    Check("status", "memory", incoming.dropped),
    Check("status", "machine", incoming.inbox),
    Check("status", "machine", incoming.waiting),
    Check("status", "machine", machine.lasting),
    Check("files", "memory", memory.gone),
    Check("files", "memory", memory.moved),
    Check("files", "memory", memory.taken_out),
    Check("files", "memory", memory.undated),
    Check("files", "memory", memory.damaged, in_ledger=True),
    Check("files", "memory", memory.accounting, slow=True, in_ledger=True, known=memory.known_losses),
    Check("status", "memory", memory.attachments, in_ledger=True),
    Check("status", "memory", incoming.entries),
    Check("status", "machine", services.last_night),
    Check("files", "memory", memory.quarantine),
    Check("files", "machine", machine.left_over),
    Check("long-term file", "memory", memory.long_term),
    Check("files", "memory", memory.encodings),
    Check("index", "machine", memory.index, slow=True),
    Check("index", "machine", memory.found_again, slow=True),
    Check("tasks", "machine", memory.tasks),
    Check("model", "machine", model.paused),
    Check("model", "caller", model.model, slow=True),
    Check("key", "machine", model.key, slow=True),
    Check("service", "machine", services.units),
    Check("clients", "machine", services.clients, slow=True),
    Check("clients", "machine", services.hooks),
    Check("sources", "machine", services.sources),
    Check("supervisor", "machine", services.supervisor),
    Check("supervisor", "machine", services.port),
)


# ── status ───────────────────────────────────────────────────────────────────

#: The checks whose odd findings `status` tells, too.
_ADVICE: Final = (machine.disk, services.sources, memory.moved, memory.taken_out, memory.undated, model.paused)


def wrong(look: Look) -> list[str]:
    """Return a sentence for each present fault that a quick check finds, and for what the last `fsck` found."""
    return _found_quickly(look)[0]


def _found_quickly(look: Look) -> tuple[list[str], list[str]]:
    """Return a sentence for each present fault, and what a person should know besides; each quick check runs once."""
    sentences: list[str] = []
    advice: list[str] = []
    for check in TABLE:
        for fault in check.quick(look) if check.quick else ():
            if fault.state == "bad":
                sentences.append(fault.why)
            elif check.find in _ADVICE:
                advice.append(fault.why)
    return list(dict.fromkeys(sentences)), advice


def verdict(look: Look) -> tuple[list[str], bool]:
    """Return the first lines of `status`, and whether all is well."""
    faults, advice = _found_quickly(look)
    if look.is_running:
        well = Text("all is well; the supervisor runs.")
    elif look.unseen:
        well = Text(
            "nothing is wrong, but no supervisor has looked at new messages ({count}); `recalld run` starts one.",
            count=len(look.unseen),
        )
    else:
        well = Text("all is well; no supervisor runs, `recalld run` starts one.")
    return [*(faults or [well]), *advice], not faults


# ── doctor ───────────────────────────────────────────────────────────────────


def examine(look: Look, refused: BadConfig | None = None, *, slow: bool = True) -> list[Finding]:
    """
    Return what each check finds, in the order of the table; a name without faults is "good".

    `opened_anyway` has returned the workspace of *look*, and *refused*. A fault that one check has reported is not reported by
    another. Without *slow*, for a page that waits, what no quick check looks at is left out.
    """
    by_check: dict[str, list[Fault]] = {}
    reported: set[str] = set()
    for check in TABLE:
        if find := check.find if slow else check.quick:
            faults = [bad(refused.sentence)] if refused and check.name == "configuration" else _faults(find, look)
            by_check.setdefault(check.name, []).extend(fault for fault in faults if fault.why not in reported)
            reported.update(fault.why for fault in faults)
    return [
        Finding(name, fault.state, fault.why)
        for name, faults in by_check.items()
        for fault in faults or [Fault("good", Text(_GOOD[name]))]
    ]


#: What a check that finds nothing says.
_GOOD: Final = {
    "environment": msgid("what finds memories by meaning can be loaded, or is not wanted."),
    "configuration": msgid("recalld.toml and the variables are right."),
    "rights": msgid("all files are this user's, and closed to others."),
    "links": msgid("no link leads out of the workspace."),
    "disk": msgid("the workspace is on a disk of this machine, which has room."),
    "clock": msgid("the clock was not set, and the time zone is chosen."),
    "file events": msgid("the supervisor gets file events, or none runs."),
    "format": msgid("this version reads every file."),
    "status": msgid("the conversation can be read, and nothing that should happen waits."),
    "files": msgid("no message is lost, and no file damaged."),
    "long-term file": msgid("there is at most one long-term file."),
    "index": msgid("the index can be read, and is up to date."),
    "tasks": msgid("no task and no summary waits."),
    "model": msgid("the model has no fault that is known, or none is configured."),
    "key": msgid("the key of the model is in no file of the workspace."),
    "service": msgid("the service is as this version installs it, or there is none."),
    "clients": msgid("each connected client starts this recalld with this workspace, or none is connected."),
    "sources": msgid("each source is read, or none is configured."),
    "supervisor": msgid("the supervisor responds and is of this version, or none runs."),
}


def opened_anyway(root: Path, environ: Mapping[str, str], now: datetime) -> tuple[Workspace, BadConfig | None]:
    """Return the workspace and None; if its configuration is wrong, the workspace with that of `init`, and the error."""
    files, paths, refused = Files(RealDisk()), WorkspacePaths(root), None
    config = load(render_default(machine_zone(environ)).encode(), {})
    try:
        version = files.read_stable(paths.config)
        config = load(version.data if version else None, environ)
    except BadConfig as error:
        refused = error
    except OSError:
        pass  # the check `rights` reports it
    return Workspace(root, config, files, EventLog(paths.log, fixed_clock(now), config.log), environ), refused


def _faults(find: Callable[[Look], Faults], look: Look) -> list[Fault]:
    """Return what the check finds; if the check fails, why, unless a right is missing, which another check reports."""
    faults: list[Fault] = []
    try:
        faults += find(look)
    except Exception as error:  # noqa: BLE001 - a check that fails must not stop the others
        refused = as_supervisor_error(error, "doctor", look.ws.paths.root)
        has_no_right = isinstance(refused, NoPermission) and find is not machine.rights
        if not (has_no_right and any(machine.rights(look))):
            faults.append(bad(refused.sentence))
    return faults


# ── fsck ─────────────────────────────────────────────────────────────────────


def account(look: Look) -> Ledger:
    """Return the account of every message, with all faults of the memory; losses and damage are kept for `status`."""
    ledger = look.ledger
    others = (fault for check in TABLE if check.of == "memory" and not check.in_ledger for fault in check.find(look))
    ledger.faults = [fault.why for fault in others if fault.state == "bad"]
    ledger.advice = [fault.why for fault in memory.taken_out(look)]
    with suppress(OSError, SupervisorError):  # the next account keeps it
        _keep_outcome(look.ws, ledger, look.now)
    return ledger


def _keep_outcome(ws: Workspace, ledger: Ledger, now: datetime) -> None:
    """Keep what is lost and damaged, or that nothing is any more; an event says either."""
    before = read_last_fsck(ws) or LastFsck(now, 0, 0)
    if (ledger.is_sound and before.is_sound) or os.stat(ws.paths.state).st_uid != os.geteuid():
        return  # another user's file the owner of the workspace could not replace
    keep_last(ws, replace(before, at=now, lost=len(ledger.lost), damage=len(ledger.damage)))
    if ledger.is_sound:
        ws.events.emit("fsck_passed")
    else:
        ws.events.emit("fsck_failed", lost=len(ledger.lost), damage=len(ledger.damage))
