"""The answer of `recalld status`: the state of the workspace."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ..archive.coverage import ExistingSummary, MemoryFile, covered, covered_days
from ..archive.run import next_run
from ..host.last_night import read_last_backup, read_last_fsck
from ..protocol.message import Archived, InvalidEntry, Message
from ..protocol.paths import Period
from ..storage.clock import to_wire
from ..summaries.llm_state import calls_today, configured_state, left_as_they_are, provider_state
from ..summaries.schedule import ProviderState, files_by_period
from ..workspace import Workspace
from .check import Look


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
        "lastBackup": {"at": to_wire(backup.at), "file": backup.file, "failed": backup.failed or None}
        if backup and (backup.file or backup.failed)
        else None,
        "lastRun": to_wire(last_run) if last_run else None,
        "nextRun": next_run_of(look),
        "trouble": look.no_history.sentence if look.no_history else None,
    }


def _summaries(files: Sequence[MemoryFile], summaries: Mapping[Period, ExistingSummary]) -> dict[str, int]:
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
