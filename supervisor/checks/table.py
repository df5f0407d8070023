"""
The table of all checks, and the three views of it: `status`, `doctor` and `fsck`.

`status` runs the quick checks and shows what the slow ones found last time. `doctor` runs all checks. `fsck` accounts for every
message, which is the slow check of the memory, and runs the memory's quick checks.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ..checks import incoming, machine, memory, model, recall, services
from ..events import EventLog
from ..protocol.config import load, render_default
from ..protocol.paths import WorkspacePaths
from ..storage.clock import fixed_clock, from_wire, machine_zone, to_wire
from ..storage.disk import RealDisk
from ..storage.errors import BadConfig, NoPermission, SupervisorError
from ..storage.files import Files
from ..storage.os_errors import as_supervisor_error
from ..storage.texts import Text, msgid, restored, stored
from ..workspace import Workspace
from .check import Check, Fault, Finding, Look, bad, odd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

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
    Check("files", "memory", memory.accounting, slow=True, in_ledger=True),
    Check("status", "memory", memory.attachments, in_ledger=True),
    Check("status", "memory", incoming.entries),
    Check("status", "machine", services.last_night),
    Check("files", "memory", memory.quarantine),
    Check("files", "machine", machine.left_over),
    Check("long-term file", "memory", memory.long_term),
    Check("files", "memory", memory.encodings),
    Check("files", "memory", memory.older_encodings, slow=True),
    Check("index", "machine", memory.index, slow=True),
    Check("index", "machine", recall.found_again, slow=True),
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
_ADVICE: Final = (services.sources, memory.moved, memory.taken_out, memory.undated, model.paused)


def wrong(look: Look) -> list[str]:
    """Return a sentence for each present fault, and for each fault that a slow check found last time."""
    return _found_quickly(look)[0]


def _found_quickly(look: Look) -> tuple[list[str], list[str]]:
    """Return a sentence for each present fault, and what a person should know besides; each quick check runs once."""
    sentences: list[str] = []
    advice: list[str] = []
    for check, faults in _looked_over(look, lambda check, look: [*check.find(look)] if check.of != "caller" else []):
        sentences += [fault.why for fault in faults if fault.state == "bad"]
        advice += [fault.why for fault in faults if fault.state == "odd" and check.find in _ADVICE]
    return list(dict.fromkeys(sentences)), advice


def _looked_over(look: Look, find: Callable[[Check, Look], list[Fault]]) -> Iterator[tuple[Check, list[Fault]]]:
    """Yield each check with what *find* finds for it now, if it is quick, or with what it found last time."""
    before = _read_found(look.ws)
    for number, check in enumerate(TABLE):
        at, kept = before.get(_key(number), ("", ()))
        yield (
            check,
            [bad("found on {time}: {why}.", time=look.local_time(from_wire(at)), why=why) for why in kept]
            if check.slow
            else find(check, look),
        )


def verdict(look: Look) -> tuple[list[str], bool]:
    """Return the first lines of `status`, and whether all is well."""
    faults, known = _found_quickly(look)
    well = (
        Text("all is well; the supervisor runs.")
        if look.is_running
        else Text("all is well; no supervisor runs, `recalld run` starts one.")
    )
    advice: list[str] = [fault.why for fault in machine.disk_space(look.ws.paths.root) if fault.state == "odd"]
    return [*(faults or [well]), *advice, *known], not faults


# ── doctor ───────────────────────────────────────────────────────────────────


def examine(look: Look, refused: BadConfig | None) -> list[Finding]:
    """
    Return what each check finds, in the order of the table; a name without faults is "good".

    The findings of slow checks are kept for `status`. `opened_anyway` has returned the workspace of *look*, and *refused*. A
    fault that one check has reported is not reported by another.
    """
    by_check: dict[str, list[Fault]] = {check.name: [] for check in TABLE}
    slow: dict[str, list[str]] = {}
    reported: set[str] = set()
    if refused:
        by_check["configuration"].append(bad(refused.sentence))
        reported.add(refused.sentence)
    for number, check in enumerate(TABLE):
        faults = [fault for fault in _faults(check, look) if fault.why not in reported]
        reported.update(fault.why for fault in faults)
        by_check[check.name] += faults
        if check.slow and check.of != "caller":
            slow[_key(number)] = [fault.why for fault in faults if fault.state == "bad"]
    if not refused:
        _keep_found(look, slow)
    return _as_findings(by_check)


def look_over(look: Look) -> list[Finding]:
    """Return what the quick checks find, and what the slow checks of memory and machine found last; for a page that waits."""
    by_check: dict[str, list[Fault]] = {}
    for check, faults in _looked_over(look, _faults):
        before = by_check.setdefault(check.name, [])
        before += [fault for fault in faults if fault not in before]
    return _as_findings(by_check)


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


def _as_findings(by_check: Mapping[str, list[Fault]]) -> list[Finding]:
    return [
        Finding(name, fault.state, fault.why)
        for name, faults in by_check.items()
        for fault in faults or [Fault("good", Text(_GOOD[name]))]
    ]


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


def _faults(check: Check, look: Look) -> list[Fault]:
    """Return what the check finds; if the check fails, why, unless a right is missing, which another check reports."""
    faults: list[Fault] = []
    try:
        faults += check.find(look)
    except Exception as error:  # noqa: BLE001 - a check that fails must not stop the others
        refused = as_supervisor_error(error, "doctor", look.ws.paths.root)
        has_no_right = isinstance(refused, NoPermission) and check.find is not machine.rights
        if not (has_no_right and any(machine.rights(look))):
            faults.append(bad(refused.sentence))
    return faults


# ── fsck ─────────────────────────────────────────────────────────────────────


def account(look: Look) -> Ledger:
    """Return the account of every message, with all faults of the memory; what the slow check finds is kept for `status`."""
    ledger = memory.accounted(look)
    rows = {_key(n): check for n, check in enumerate(TABLE) if check.of == "memory"}
    by_check = {key: [*check.find(look)] for key, check in rows.items() if check.slow or not check.in_ledger}
    _keep_found(look, {key: [fault.why for fault in faults] for key, faults in by_check.items() if rows[key].slow})
    others = [fault for key, faults in by_check.items() if not rows[key].in_ledger for fault in faults]
    ledger.faults = [fault.why for fault in others if fault.state == "bad"]
    ledger.advice = [fault.why for fault in memory.taken_out(look)]
    return ledger


def account_again(look: Look) -> None:
    """Account for every message if the slow checks of the memory found something last time, which may be mended by now."""
    rows = {_key(n) for n, check in enumerate(TABLE) if check.of == "memory" and check.slow}
    if not rows.isdisjoint(_read_found(look.ws)):
        account(look)


# ── what the slow checks found ───────────────────────────────────────────────


def forget(look: Look, name: str) -> None:
    """Forget what the slow checks of this name found, since it was mended."""
    _keep_found(look, {_key(n): [] for n, check in enumerate(TABLE) if check.slow and check.name == name})


def _key(number: int) -> str:
    """Return a key for the check: its name and its place among the checks with this name, since several may share it."""
    return f"{TABLE[number].name}-{sum(check.name == TABLE[number].name for check in TABLE[:number])}"


def _read_found(ws: Workspace) -> dict[str, tuple[str, list[str]]]:
    """Return for each check with findings when it was made, and the findings; nothing if the file can't be read."""
    try:
        version = ws.files.read_stable(ws.paths.found)
        ledger = json.loads(version.data) if version else {}
        return {
            key: (to_wire(from_wire(entry["at"])), [_text(why) for why in entry["faults"]]) for key, entry in ledger.items()
        }
    except (ValueError, LookupError, TypeError, AttributeError, OSError, SupervisorError):
        return {}


def _keep_found(look: Look, by_check: Mapping[str, list[str]]) -> None:
    """Store what these checks found, for `status`, and drop what they no longer find."""
    ws, before = look.ws, _read_found(look.ws)
    after = {key: entry for key, entry in before.items() if key not in by_check}
    after |= {key: (to_wire(look.now), list(faults)) for key, faults in by_check.items() if faults}
    if after == before:
        return
    data = {key: {"at": at, "faults": [_json(why) for why in faults]} for key, (at, faults) in after.items()}
    with suppress(OSError, SupervisorError):  # the next check stores it
        if os.stat(ws.paths.state).st_uid == os.geteuid():  # else the owner of the workspace could not replace the file
            seen = ws.files.read_stable(ws.paths.found)
            ws.files.replace(ws.paths.found, json.dumps(data, ensure_ascii=False).encode() + b"\n", seen)


def _json(why: str) -> dict[str, Any]:
    return {"english": why, **(stored(why) or {})}


def _text(why: Mapping[str, Any]) -> str:
    """Return the text from its JSON; versions before 0.30 stored it by a code that this one does not have."""
    if "code" in why:
        return Text("an earlier version of recalld found it; `recalld doctor` says what it is")
    return restored(str(why["english"]), why)
