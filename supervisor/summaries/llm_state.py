"""The model as the supervisor keeps it: `worker/failed/provider.json`, its pause, its cap, and what each result cost."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from supervisor.protocol.clock import from_wire, to_wire, truncate_to_ms
from supervisor.summaries.retry import ProviderState, after_fault, after_success, charged, may_ask
from supervisor.summaries.schedule import Maker

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from supervisor.archive.coverage import MemoryFile
    from supervisor.protocol.task import Result
    from supervisor.summaries.schedule import SummaryJob
    from supervisor.workspace import Workspace

#: Bytes of a dated file that make a token, on the safe side: Chinese takes three bytes a character.
BYTES_A_TOKEN: Final = 3
#: Characters of a prompt's line that no summary would say by chance.
_MARK_LEAST: Final = 16


def maker(ws: Workspace) -> Maker:
    """Return who makes the summaries of this workspace."""
    if ws.extracting:
        return Maker()
    llm, limit = ws.config.llm, ws.config.archive.max_attempts
    return Maker(
        is_model=True,
        context_bytes=round(llm.context_tokens * llm.material_share * BYTES_A_TOKEN),
        given_up=frozenset(group for group, failure in ws.failures().items() if failure.attempts >= limit),
    )


def provider_state(ws: Workspace) -> ProviderState:
    """Return what is known of the provider; a field that can't be read counts as absent."""
    raw = ws.task_queue.provider()
    return ProviderState(
        attempts=_number(raw, "attempts"),
        failed_at=_time(raw, "failedAt"),
        next_at=_time(raw, "nextAt"),
        reason=str(raw.get("reason", "")),
        day=str(raw.get("day", "")),
        calls=_number(raw, "calls"),
        prompt_tokens=_number(raw, "promptTokens"),
        completion_tokens=_number(raw, "completionTokens"),
    )


def note_result(ws: Workspace, result: Result, now: datetime) -> None:
    """Charge what the result cost. A fault of the provider pauses it and takes back what is queued; an answer ends a pause."""
    if result.extract or ws.extracting:
        return
    now = truncate_to_ms(now)  # as what was noted before
    before = provider_state(ws)
    after = charged(before, result.usage, ws.today(now).isoformat(), calls_today(ws, now))
    started = from_wire(result.started_at) if result.started_at else None
    if result.reason == "provider":
        config = ws.config.archive
        waits = (config.backoff, config.backlog_interval, config.jitter)
        after = after_fault(after, started, now, result.error, timedelta(seconds=result.retry_after_s), waits)
        ws.task_queue.cancel_queued()
    elif result.status == "done" or result.reason in {"empty", "refused", "truncated"}:
        after = after_success(after, started, now)
    if after != before:
        ws.task_queue.note_provider(_wire(after))
    is_paused = after.failed_at and after.next_at and after.failed_at <= now  # else it is of before the clock was set back
    paused = to_wire(after.next_at) if is_paused and after.next_at else ""
    ws.events.transition("provider_paused", paused, cleared="provider_back", until=paused, attempts=after.attempts)


def calls_today(ws: Workspace, now: datetime) -> int:
    """Return how many calls the model has had today."""
    state = provider_state(ws)  # which remembers them where .recalld/ was deleted
    return max(ws.calls.today(now), state.calls if state.day == ws.today(now).isoformat() else 0)


def calls_left(ws: Workspace, now: datetime, under_way: int) -> int:
    """
    Return how many more calls may be begun now, about *under_way* being those that are.

    Where the day has had its calls, what waits is taken back, but for what a person asked for.
    """
    if ws.extracting:
        return ws.config.archive.max_queued
    spent, most = calls_today(ws, now), ws.config.llm.max_calls_per_day
    ws.events.transition("calls_spent", spent >= most and ws.today(now).isoformat(), calls=spent)
    if spent >= most:
        ws.task_queue.cancel_queued(asked_too=False)  # a worker would only give them back
    return may_ask(provider_state(ws), now, spent, most, under_way)


def calls_for(ws: Workspace, size: int) -> int:
    """Return about how many calls material of *size* bytes takes: one for each piece that fits the context."""
    room = round(ws.config.llm.context_tokens * ws.config.llm.material_share * BYTES_A_TOKEN)
    return 0 if ws.extracting else max(1, -(-size // max(1, room // 2)) if size > room else 1)


def bytes_by_group(wanted: Iterable[SummaryJob], files: Iterable[MemoryFile]) -> dict[str, int]:
    """Return how large the dated files of each group are together."""
    sizes = {file.source: file.size for file in files}
    return {work.period.group: sum(sizes.get(source, 0) for source in work.sources) for work in wanted}


@cache
def prompt_marks() -> tuple[str, ...]:
    """Return the sentences of the shipped prompts: a text that repeats one has echoed its prompt."""
    files = [file for file in resources.files("prompts").iterdir() if file.name.endswith(".md")]
    lines = [
        line.strip(" -*#") for file in sorted(files, key=lambda f: f.name) for line in file.read_text("utf-8").splitlines()
    ]
    return tuple(line for line in lines if len(line) >= _MARK_LEAST and "{" not in line)


def _wire(state: ProviderState) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "attempts": state.attempts,
        "failedAt": to_wire(state.failed_at) if state.failed_at else None,
        "nextAt": to_wire(state.next_at) if state.next_at else None,
        "reason": state.reason,
        "day": state.day,
        "calls": state.calls,
        "promptTokens": state.prompt_tokens,
        "completionTokens": state.completion_tokens,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _number(raw: dict[str, Any], key: str) -> int:
    found = raw.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else 0


def _time(raw: dict[str, Any], key: str) -> datetime | None:
    try:
        return from_wire(raw[key])
    except (KeyError, TypeError, ValueError):
        return None
