"""
The table of all checks, and the three views of it: `status`, `doctor` and `fsck`.

`status` runs the quick checks, and says what the last `fsck` found. `doctor` runs all checks. `fsck` accounts for every
message, which is the slow check of the memory, and runs the memory's quick checks.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..archive.coverage import MemoryFile, covered, covered_days
from ..archive.run import next_run
from ..checks import machine, memory, services
from ..events import Events
from ..host.last_night import LastFsck, keep_last, read_last_backup, read_last_fsck
from ..protocol.config import load, render_default
from ..protocol.message import Archived, InvalidEntry, Message
from ..protocol.paths import Period, WorkspacePaths
from ..protocol.summary_file import Summary
from ..storage.clock import fixed_clock, machine_zone, to_wire
from ..storage.disk import RealDisk
from ..storage.errors import BadConfig, NoPermission, SupervisorError, as_supervisor_error, why_refused
from ..storage.files import Files
from ..storage.texts import Text
from ..summaries.llm_state import calls_today, configured_state, left_as_they_are, provider_state
from ..summaries.schedule import ProviderState, files_by_period
from ..text.lazy_re import lazy_re
from ..workspace import Workspace, read_config
from .check import Check, Finding, Look, bad, odd

if TYPE_CHECKING:
    from .fsck import Ledger

#: Seconds after which the command of `care.on_trouble` is killed.
_COMMAND_S: Final = 30.0
_DIGITS: Final = lazy_re(r"[0-9]+")

#: In the order in which `doctor` lists them: first the machine's checks, since the rest depends on the machine.
TABLE: Final = (
    Check("environment", memory.meaning, slow=True),
    Check("configuration", lambda look: map(odd, look.ws.config.notices())),  # what is wrong is found before any check
    Check("rights", machine.rights),
    Check("links", machine.links),
    Check("disk", machine.disk, advises=True),
    Check("clock", machine.clock),
    Check("format", memory.newer_format, counts=True),
    Check("status", memory.history, counts=True),
    Check("status", memory.forgetting),
    Check("status", memory.dropped, counts=True),
    Check("status", memory.inbox),
    Check("status", memory.waiting),
    Check("status", machine.lasting),
    Check("files", memory.losses, counts=True),
    Check("files", memory.taken_out, advises=True, counts=True),
    Check("files", memory.accounting),
    Check("status", services.last_night),
    Check("files", memory.quarantine),
    Check("files", machine.left_over, slow=True),
    Check("long-term file", memory.long_term),
    Check("files", memory.encodings, counts=True),
    Check("index", memory.index, slow=True),
    Check("tasks", memory.tasks, advises=True),
    Check("model", memory.paused, advises=True),
    Check("service", services.units),
    Check("clients", services.clients, slow=True),
    Check("clients", services.hooks, advises=True),
    Check("sources", services.sources, advises=True),
    Check("supervisor", services.supervisor),
)

# ── status ───────────────────────────────────────────────────────────────────


def found_quickly(look: Look) -> tuple[list[str], list[str]]:
    """Return a sentence for each fault that a quick check finds, or the last `fsck` found, and for what else to know."""
    quick = [(check, fault) for check in TABLE if not check.slow for fault in check.find(look)]
    advice = [fault.why for check, fault in quick if fault.state == "odd" and check.advises]
    return [*dict.fromkeys(fault.why for _, fault in quick if fault.state == "bad")], advice


def verdict(look: Look) -> tuple[list[str], bool]:
    """Return the first lines of `status`, and whether all is well."""
    faults, advice = found_quickly(look)
    unseen = [message for message in look.waiting if message.key not in look.ws.journal.unwritten]
    fine = Text("nothing is broken, and this needs a look") if advice else Text("all is well")
    if look.is_running:
        well = Text("{fine}; the supervisor runs.", fine=fine)
    elif unseen:
        well = Text(
            "nothing is wrong, but no supervisor has looked at new messages ({count}); `recalld run` starts one.",
            count=len(unseen),
        )
    else:
        well = Text("{fine}; no supervisor runs, `recalld run` starts one.", fine=fine)
    return [*(faults or [well]), *advice], not faults


def status(look: Look) -> dict[str, Any]:
    """Return the state of the workspace: counts, lags, queue, last run, retries; keys are stable, times are wire times."""
    ws, now = look.ws, look.now
    oldest = min((message.created_at for message in look.waiting if message.created_at), default=None)
    files, summaries = look.files, ws.memory.summaries()
    named = covered(files, summaries)
    days = ws.today(now), ws.config.archive.recent_days
    at_home = named | left_as_they_are(files, *days, memory=ws.memory, use=ws.model_use)
    behind = [file.day for members in files_by_period(files, *days).values() for file in members if file.name not in at_home]
    active = list(ws.task_queue.active_groups().values())
    last_run = max((file.created for file in files if file.created), default=None)
    fsck, backup = read_last_fsck(ws), read_last_backup(ws)
    return {
        "workspace": str(ws.paths.root),
        "now": to_wire(now),
        "timezone": ws.config.archive.timezone,
        "supervisor": "running" if look.is_running else "not running",
        "history": _flags(look),
        "unwritten": None if look.no_history else len(look.waiting),
        "oldestUnwritten": to_wire(oldest) if oldest else None,
        "oldestUnsummarised": min(behind).isoformat() if behind else None,
        "datedFiles": len(files),
        "covered": len(named),
        **_summaries(files, summaries),
        "provider": "extractive" if ws.extracting else "openai",
        "queue": {folder: active.count(folder) for folder in ("queue", "running", "results")},
        "today": _cost(ws, now),
        **_models(ws),
        "waitingForRetry": {
            group: {"attempts": f.attempts, "nextAt": to_wire(f.next_at), "reason": f.reason}
            for group, f in sorted(ws.failures().items())
        },
        "previous": ws.replaced_texts.held()._asdict(),
        "lastFsck": {"at": to_wire(fsck.at), "lost": fsck.lost, "damage": fsck.damage} if fsck else None,
        "lastBackup": {"at": to_wire(backup.at), "file": backup.file, "failed": backup.failed or None} if backup else None,
        "lastRun": to_wire(last_run) if last_run else None,
        "nextRun": next_run_of(look),
        "trouble": look.no_history.sentence if look.no_history else None,
    }


def _summaries(files: Sequence[MemoryFile], summaries: Mapping[Period, Summary]) -> dict[str, int]:
    merged = covered_days(files, summaries)
    return {
        "dailySummaries": sum(period.kind == "day" for period in summaries),
        "dailySummariesMerged": len(merged),
        "monthlySummaries": sum(period.kind == "month" for period in summaries),
        "extracts": sum(summary.extract for summary in summaries.values()),
        "extractsWaiting": sum(summary.waits for period, summary in summaries.items() if period not in merged),
        "extractsRefused": sum(bool(summary.refused) for period, summary in summaries.items() if period not in merged),
    }


def next_run_of(look: Look) -> str | None:
    """Return when the next run is, if no more messages come."""
    run = next_run(look.ws, look.history, look.waiting, look.now)
    return to_wire(run[0]) if run else None


def _cost(ws: Workspace, now: datetime) -> dict[str, Any]:
    state = configured_state(ws.task_queue, ws.endpoint)
    is_today = state.day == ws.today(now).isoformat()
    return {
        "calls": calls_today(now, ws.model_use),
        "maxCalls": ws.config.llm.max_calls_per_day,
        "promptTokens": state.prompt_tokens if is_today else 0,
        "completionTokens": state.completion_tokens if is_today else 0,
        "pausedUntil": paused_until(state, now),
        "pausedBecause": state.reason or None,
    }


def _models(ws: Workspace) -> dict[str, Any]:
    models = {
        model: {
            "answersAccepted": account.accepted,
            "answersRefused": sum(account.refused.values()),
            "reasons": dict(sorted(account.refused.items())),
        }
        for model, account in sorted(provider_state(ws.task_queue).answers.items())
    }
    return {"models": models} if models else {}


def paused_until(state: ProviderState, now: datetime) -> str | None:
    """Return until when the model is not asked."""
    return to_wire(state.next_at) if state.next_at and state.next_at > now else None


def _flags(look: Look) -> dict[str, int | None]:
    """Return how many messages have which flag; None where history.json can't be read."""
    flags = Counter(entry.archived for entry in look.history if isinstance(entry, Message))
    counts: dict[str, int | None] = {
        "messages": flags.total(),
        "false": flags[Archived.NO],
        "pending": flags[Archived.PENDING],
        "true": flags[Archived.YES],
        "odd": sum(isinstance(entry, InvalidEntry) for entry in look.history),
    }
    return dict.fromkeys(counts) if look.no_history else counts


# ── doctor ───────────────────────────────────────────────────────────────────


def examine(look: Look, refused: BadConfig | None = None) -> list[Finding]:
    """
    Return what each check finds, in the order of the table; a name without faults is "good".

    `opened_anyway` has returned the workspace of *look*, and *refused*. A fault that one check has reported is not reported by
    another. Of a look that is not slow, for a page that waits, what no quick check looks at is left out.
    """
    by_check: dict[str, list[Finding]] = {}
    reported: set[str] = set()
    for check in (check for check in TABLE if look.slow or not check.slow):
        faults = [bad(refused.sentence)] if refused and check.name == "configuration" else _faults(check, look)
        by_check.setdefault(check.name, []).extend(fault for fault in faults if fault.why not in reported)
        reported.update(fault.why for fault in faults)
    return [replace(finding, check=name) for name, faults in by_check.items() for finding in faults or [Finding("good", "")]]


def opened_anyway(root: Path, environ: Mapping[str, str], now: datetime) -> tuple[Workspace, BadConfig | None]:
    """Return the workspace and None; if its configuration is wrong, the workspace with that of `init`, and the error."""
    files, paths, refused = Files(RealDisk()), WorkspacePaths(root), None
    try:
        config = read_config(files, paths, environ)
    except (BadConfig, OSError) as error:
        refused = error if isinstance(error, BadConfig) else None  # the check `rights` reports an OSError
        config = load(render_default(machine_zone(environ)).encode(), {})
    return Workspace(root, config, files, Events(paths.log, fixed_clock(now), config.log), environ), refused


def _faults(check: Check, look: Look) -> list[Finding]:
    """Return what the check finds; if the check fails, why, unless a right is missing, which another check reports."""
    faults: list[Finding] = []
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
    """Return the account of every message, with all faults of the memory; losses and damage are kept for `status`."""
    ws, ledger = look.ws, look.ledger
    faults = [fault for check in TABLE if check.counts for fault in check.find(look)]
    ledger.faults = [fault.why for fault in faults if fault.state == "bad"]
    ledger.advice = [fault.why for fault in faults if fault.state == "odd"]
    before = read_last_fsck(ws) or LastFsck(look.now, 0, 0)
    lost, damage = len(ledger.lost), len(ledger.damage)
    with suppress(OSError, SupervisorError):  # the next account keeps it
        # another user's file the owner of the workspace could not replace
        if not (before.is_sound and ledger.is_sound) and os.stat(ws.paths.state).st_uid == os.geteuid():
            keep_last(ws, replace(before, at=look.now, lost=lost, damage=damage))
            if ledger.is_sound:
                ws.events.emit("fsck_passed")
            else:
                ws.events.emit("fsck_failed", lost=lost, damage=damage)
    return ledger


def report_faults(
    ws: Workspace, now: datetime, tell: Callable[[str], str] = str, wait_s: float = _COMMAND_S
) -> tuple[Ledger, list[str]]:
    """
    Account for every message and run `care.on_trouble` for new faults; return the account and all faults.

    Pictures that are gone are first put back. *tell* renders a text in the user's language; the command has *wait_s* seconds.
    """
    from ..archive.intake import bring_pictures_back  # imported here, since `status` does not need it

    look = Look(ws, now)
    # tonight, since history.json may no longer have their bytes tomorrow
    if look.ledger.damage and (pictures := bring_pictures_back(ws)):
        ws.events.emit("repaired", restored=0, saved=0, set_aside=0, doubles=0, pictures=len(pictures))
    if not look.ledger.is_sound:  # again, since a file that moves during the first pass is found in neither place
        look = Look(ws, now)
    ledger = account(look)
    last = replace(read_last_fsck(ws) or LastFsck(now, 0, 0), at=now)
    keep_last(ws, replace(last, failed=""))  # it is run anew
    # a fault is not new because a time or count changed
    kinds = {sentence: _DIGITS.sub("0", sentence) for sentence in found_quickly(look)[0]}
    new = [sentence for sentence, kind in kinds.items() if kind not in last.told]
    command, failed = ws.config.care.on_trouble, ""
    if command and new:
        failed = _run(command, "\n".join(map(tell, new)), ws, wait_s)
        if failed and failed != last.failed:
            ws.events.emit("on_trouble_failed", why=failed)
    repeated = [kind for sentence, kind in kinds.items() if command and not (failed and sentence in new)]
    keep_last(ws, replace(last, told=tuple(repeated), failed=failed))
    return ledger, [*map(tell, kinds)]


def _run(command: str, sentences: str, ws: Workspace, wait_s: float) -> str:
    """Run the user's command; return why it failed, or "". What it has started ends with the unit, by systemd."""
    environ = {**os.environ, "RECALLD_TROUBLE": sentences, "RECALLD_WORKSPACE": str(ws.paths.root)}
    words, nothing = ["/bin/sh", "-c", command], subprocess.DEVNULL
    try:
        code = subprocess.run(words, env=environ, stdin=nothing, stdout=nothing, timeout=wait_s, check=False).returncode
    except OSError as error:
        return why_refused(error)
    except subprocess.TimeoutExpired:
        return Text("it was killed after {seconds:g} s", seconds=wait_s)
    return Text("it ended with exit code {code}", code=code) if code else ""
