"""
The model as the supervisor sees it: its pause, the day's cap, what each result cost, and how many calls a job needs.

The state is in `worker/failed/provider.json`, which is read and changed under the lock of the calls; the rules for it are in
`retry.py`. Source: protocol.md, 3, Failure, and 6.7.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import lru_cache, partial
from typing import Any, Final
from zoneinfo import ZoneInfo

from ..archive.coverage import MemoryFile
from ..archive.memory_folder import MemoryFolder
from ..events import Events
from ..protocol.config import Config
from ..protocol.config_keys import Llm
from ..protocol.llm import MATERIAL_SHARE, CallLog, Endpoint, version_of_summaries, writes_extracts
from ..protocol.message import Failure
from ..protocol.paths import WorkspacePaths
from ..protocol.queue import PROVIDER, TaskQueue
from ..protocol.summary_file import Source
from ..protocol.task import NO_ANSWER, Result
from ..storage.clock import from_wire, local, local_day, to_wire, truncate_to_ms
from ..storage.errors import NoSummary
from ..storage.files import Files
from ..storage.lenient_json import read_record, record_fields, wire_name
from ..storage.texts import Text
from .schedule import (
    TWICE,
    ProviderState,
    SummaryWriter,
    Verdicts,
    after_call,
    calls_allowed,
    files_by_period,
    with_usage,
    without_fault,
)

#: Bytes of a dated file per token, a cautious estimate: Chinese takes three bytes a character.
BYTES_PER_TOKEN: Final = 3
#: The most tasks in the worker's queue; the newest days are queued first.
MAX_QUEUED: Final = 8
#: Why the task of a group failed, by the reason in its result.
_REASONS: Final = {
    "timeout": Text("the model did not answer in time"),
    "empty": Text("the model's answer was empty"),
    "refused": Text("the model refused, or its answer was no summary"),
    "truncated": Text("the model's answer was cut off"),
    "vague": Text("the model's answer said less than an extract"),
    "copy": Text("the model's answer was a copy of its material"),
    "transcript": Text("the model's answer went on with the conversation, or wrote it down"),
    "repeats": Text("the model's answer repeated itself"),
    "form": Text("the model's answer filled in a form"),
    "language": Text("the model's answer was in another language"),
    "data": Text("the model's answer was data and no text"),
    "thought": Text("the model's answer was its thinking"),
    "forged": Text("the model's answer had marks of recalld, or characters that can't be written"),
    "long": Text("the model's answer was too long"),
    "input": Text("the server did not take the messages"),
    "lost": Text("its files can't be read"),
}


@dataclass(frozen=True, slots=True)
class ModelUse:
    """
    What the use of the model is recorded in and limited by.

    *endpoint* says which model it is, *model_version* too, with the version of its prompts: what another one was refused for
    counts for this one no more.
    """

    task_queue: TaskQueue
    calls: CallLog
    config: Config
    endpoint: Endpoint
    model_version: str
    events: Events


def asked_for_summaries(llm: Llm, endpoint: Endpoint, files: Files, paths: WorkspacePaths) -> str:
    """Return which model is asked for summaries, and the version of its prompts; "" where none is, or a prompt is wrong."""
    version = "" if writes_extracts(llm) else version_of_summaries(files, paths)
    return f"{llm.model or llm.provider} {endpoint.server} {version}" if version else ""


def summary_writer(memory: MemoryFolder, use: ModelUse) -> SummaryWriter:
    """Return what is able to write summaries, by the configuration and the failures so far."""
    config, failures = use.config, use.task_queue.failures()
    if writes_extracts(config.llm):
        return SummaryWriter(least=config.summarize.least)
    return SummaryWriter(
        is_model=True,
        model_version=use.model_version,
        context_bytes=_context_bytes(config.llm),
        least=config.summarize.least,
        refused=frozenset(failure.refused for failure in failures.values()),
        says_little=partial(_says_little, memory, config.summarize.least, config.archive.zone),
        given_up=frozenset(group for group, failure in failures.items() if failure.attempts >= config.archive.max_attempts),
    )


@lru_cache(maxsize=1_000)
def _says_little(memory: MemoryFolder, least: int, zone: ZoneInfo, sources: tuple[Source, ...]) -> bool:
    from .reading import blocks_of, says_little  # imported here, since `status` seldom reads messages

    return says_little(blocks_of(memory, (source.name for source in sources), zone), least)


def left_as_they_are(
    files: Collection[MemoryFile], today: date, recent_days: int, *, memory: MemoryFolder, use: ModelUse
) -> frozenset[str]:
    """Return the names of the files of short days that are no longer recent and stay without a summary."""
    writer, summaries = summary_writer(memory, use), memory.summaries()
    by_period = files_by_period(files, today, recent_days).items()
    left = [members for period, members in by_period if period not in summaries and writer.leaves(period, members)]
    return frozenset(file.name for members in left for file in members)


def waiting_failures(task_queue: TaskQueue) -> dict[str, Failure]:
    """Return the last failure of each group that waits for a retry."""
    return {group: failure for group, failure in task_queue.failures().items() if not failure.refused.endswith(TWICE)}


def why_failed(reason: str) -> str:
    """Return the text of the *reason* in a result."""
    return _REASONS.get(reason, reason)


def provider_state(task_queue: TaskQueue) -> ProviderState:
    """Return what is known of the provider: nothing where its file has a field that is none."""
    try:
        return read_record(ProviderState, task_queue.recorded(PROVIDER), wire_name)
    except ValueError:
        return ProviderState()


def configured_state(task_queue: TaskQueue, endpoint: Endpoint) -> ProviderState:
    """Return what is known of the model that is configured now; the key is not compared, since a command may lack it."""
    state = provider_state(task_queue)
    return state if state.server == endpoint.server else without_fault(state)


def end_pause(use: ModelUse) -> bool:
    """End the pause of the model, which has answered a person; return whether there was one."""
    with use.calls.locked():
        state = provider_state(use.task_queue)
        if state.is_failing:
            use.task_queue.record(PROVIDER, _wire(without_fault(state)))
    return state.is_failing


def refusal(now: datetime, use: ModelUse) -> NoSummary | None:
    """Return why the model may not be asked now, with the reason "paused" or "spent"; None if it may."""
    state, most = configured_state(use.task_queue, use.endpoint), use.config.llm.max_calls_per_day
    spent = calls_today(now, use)
    if spent >= most:
        return NoSummary(Text("the day's {most} calls are used up", most=most), "spent")
    if not calls_allowed(state, now, spent, most, in_flight=0) and state.next_at:
        until = local(state.next_at, use.config.archive.zone)
        return NoSummary(Text("the model is paused until {time:%Y-%m-%d %H:%M}, {why}", time=until, why=state.reason), "paused")
    return None


def note_result(result: Result, now: datetime, use: ModelUse) -> None:
    """
    Add the result's cost to the state. A fault of the provider pauses it and cancels the queue; an answer ends a pause.

    The fault number `archive.max_attempts` in a row is a backlog, as that of a group is.
    """
    if result.extract or writes_extracts(use.config.llm):
        return
    now = truncate_to_ms(now)  # the precision of the times in the state
    with use.calls.locked():
        before = provider_state(use.task_queue)
        after = _after(before, result, now, use)
        if after != before:
            use.task_queue.record(PROVIDER, _wire(after))
    if result.reason == "provider":
        use.task_queue.cancel_queued()
    _tell_pause(after, now, use.events)
    if before.attempts < after.attempts == use.config.archive.max_attempts:
        use.events.emit("archive_backlog", attempts=after.attempts, why=after.reason)


def note_answer(model: str, reason: str | None, use: ModelUse) -> None:
    """
    Add an answer to the account of the model that was asked; *reason* is why it was refused, None where it was accepted.

    A server may give its model another name than the configuration, and gives none with an answer that is empty.
    """
    model_used = use.config.llm.model or model
    with use.calls.locked():
        state = provider_state(use.task_queue)
        account = state.answers.get(model_used, Verdicts()).with_one(reason)
        use.task_queue.record(PROVIDER, _wire(replace(state, answers={**state.answers, model_used: account})))


def _after(before: ProviderState, result: Result, now: datetime, use: ModelUse) -> ProviderState:
    used = with_usage(before, result.usage, local_day(now, use.config.archive.zone).isoformat(), calls_today(now, use))
    started = from_wire(result.started_at) if result.started_at else None
    if result.reason == "provider":
        retry_after = timedelta(seconds=result.retry_after_s)
        after = after_call(used, started, now, result.error, retry_after)
        return replace(after, server=use.endpoint.server, key=use.endpoint.key)
    is_answer = result.status == "done" or result.reason not in NO_ANSWER
    return after_call(used, started, now) if is_answer else used


def calls_today(now: datetime, use: ModelUse) -> int:
    """Return how many calls the model has had today."""
    state = provider_state(use.task_queue)  # keeps the count where .recalld/, and the call log with it, was deleted
    today = local_day(now, use.config.archive.zone).isoformat()
    return max(use.calls.today(now), state.calls if state.day == today else 0)


def calls_left(now: datetime, in_flight: int, use: ModelUse) -> int:
    """
    Return how many more calls may begin now, with about *in_flight* calls not yet answered.

    The pause of another model, server or key ends here. When the day's calls are spent, the queue is cancelled, except for
    the tasks that a person asked for.
    """
    config, task_queue, events = use.config, use.task_queue, use.events
    if writes_extracts(config.llm):
        return MAX_QUEUED
    spent, most = calls_today(now, use), config.llm.max_calls_per_day
    is_spent = spent >= most
    events.transition("calls_spent", is_spent and local_day(now, config.archive.zone).isoformat(), calls=spent)
    if is_spent:
        task_queue.cancel_queued(asked_too=False)  # a worker would only give them back
    state = provider_state(task_queue)
    if state.is_failing and (state.server, state.key) != (use.endpoint.server, use.endpoint.key):
        events.emit("provider_changed", why=state.reason)
        end_pause(use)
        state = provider_state(task_queue)
    _tell_pause(state, now, events)
    return calls_allowed(state, now, spent, most, in_flight)


def _tell_pause(state: ProviderState, now: datetime, events: Events) -> None:
    # a fault in the future was noted before the clock was set back
    is_paused = state.failed_at and state.next_at and state.failed_at <= now
    paused = to_wire(state.next_at) if is_paused and state.next_at else ""
    fault: dict[str, Any] = {"attempts": state.attempts, "why": state.reason}
    events.transition("provider_paused", paused, cleared="provider_back", until=paused, **fault)


def calls_needed(size_bytes: int, llm: Llm) -> int:
    """Return about how many calls material of *size_bytes* takes: one for each piece that fits the context."""
    room = _context_bytes(llm)
    return 0 if writes_extracts(llm) else max(1, -(-size_bytes // max(1, room // 2)) if size_bytes > room else 1)


def _context_bytes(llm: Llm) -> int:
    return round(llm.context_tokens * MATERIAL_SHARE * BYTES_PER_TOKEN)


def _wire(state: ProviderState) -> dict[str, Any]:
    return {name: value for name, value in record_fields(state, wire_name).items() if value not in (None, "", {})}
