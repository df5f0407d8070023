"""The answers of `recalld status`, also with --plan: the state of the workspace, and what the next run would do."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..archive.coverage import ExistingSummary, MemoryFile, covered, covered_days, memory_file
from ..archive.memory_folder import MemoryFolder
from ..archive.plan import DayFile, plan_days, without_open_questions
from ..archive.run import next_run, taken_names, why_due
from ..host.last_night import read_last_backup, read_last_fsck
from ..protocol.dated_file import DatedFile, parse_dated, render_dated
from ..protocol.message import Archived, Failure, InvalidEntry, Message
from ..protocol.paths import Period
from ..storage.clock import to_wire
from ..summaries.llm_state import (
    BYTES_PER_TOKEN,
    calls_needed,
    calls_today,
    configured_state,
    left_as_they_are,
    provider_state,
    summary_writer,
)
from ..summaries.schedule import ProviderState, SummaryJob, due_summaries, files_by_period, is_due, not_pruned
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
        "nextRun": _next_run(look),
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


class _Filed(MemoryFolder):
    """The memory as it will be once these *days* are filed."""

    def __init__(self, ws: Workspace, days: Sequence[DayFile], now: datetime) -> None:
        super().__init__(ws.files, ws.paths)
        zone = ws.config.archive.timezone
        self._planned = {day.name: render_dated(day.day, zone, ws.zone, now, day.blocks, ws.config.language) for day in days}
        paths = [(day.day, self.path_of(day.name)) for day in days]
        self._new = [memory_file(self._planned[path.name], path, day, "", original=False) for day, path in paths]

    def dated(self) -> tuple[MemoryFile, ...]:
        return (*super().dated(), *self._new)

    def parsed(self, name: str) -> DatedFile | None:
        data = self._planned.get(name)
        return parse_dated(data, self.path_of(name)) if data else super().parsed(name)


def plan(ws: Workspace, now: datetime) -> dict[str, Any]:
    """Return what a run at *now* would do: why it is due, its dated files, and the summaries in their order, also of these."""
    look = Look(ws, now, ws.environ)
    if look.no_history:
        raise look.no_history
    summaries, archive, waiting = ws.memory.summaries(), ws.config.archive, look.waiting
    chosen = without_open_questions(waiting, now, archive.exchange_wait)
    days = plan_days(chosen, ws.zone, taken_names(ws.memory, ws.journal), ws.journal.has_written, ws.slugs)
    memory = _Filed(ws, days, now)
    summarised = not_pruned(memory.dated(), summaries, ws.journal.pruned)
    work = due_summaries(summarised, summaries, ws.today(now), archive.recent_days, summary_writer(memory, ws.model_use))
    failures, active = ws.failures(), ws.task_queue.active_groups()
    model = configured_state(ws.task_queue, ws.endpoint)
    return {
        "at": to_wire(now),
        "today": ws.today(now).isoformat(),
        # a due run leaves open questions for later, and may find nothing else
        "due": why_due(ws, now) if days else None,
        "nextRun": _next_run(look),
        "unwritten": len(waiting),
        "dated": [{"file": day.name, "messages": len(day.blocks)} for day in days],
        "providerPausedUntil": _paused_until(model, now),
        "providerPausedBecause": model.reason or None,
        "summaries": [
            _planned(ws, memory, job, summaries.get(job.period), failures.get(job.period.group), now, active) for job in work
        ],
    }


def _planned(
    ws: Workspace,
    memory: MemoryFolder,
    job: SummaryJob,
    existing: ExistingSummary | None,
    failure: Failure | None,
    now: datetime,
    active: Collection[str],
) -> dict[str, Any]:
    """Return what a summary that is due will take; nothing of a model where its extract stands."""
    from ..summaries.meanwhile import waits_for_no_model  # imported here, since `status` does not need it

    # an extract that waits was found to need a model
    may_stay = not ws.extracting and (existing is None or (existing.extract and not existing.waits))
    is_spared = may_stay and waits_for_no_model(job.period, job.sources, memory, ws.config)
    waits = failure is not None and not is_due(failure.failed_at, failure.next_at, now)
    return {
        "group": job.period.group,
        "files": len(job.sources),
        "messages": sum(source.count for source in job.sources),
        "calls": 0 if is_spared else calls_needed(job.size, ws.config.llm),
        "tokens": 0 if ws.extracting or is_spared else job.size // BYTES_PER_TOKEN,
        "inFlight": job.period.group in active,
        "waitsUntil": to_wire(failure.next_at) if failure and waits else None,
    }


def _next_run(look: Look) -> str | None:
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
        "pausedUntil": _paused_until(state, now),
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


def _paused_until(state: ProviderState, now: datetime) -> str | None:
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
