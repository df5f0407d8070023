"""
Which summaries are due, how long what failed waits (`Backoff`: a group, a session, the model), and how many calls it may get.

Due are days that are no longer recent, months that are over, and both when a late file came. The sources of a summary are
always dated files, and all of those that its group has.

A fault of the provider (server down, wrong key, rate limit) pauses the provider on the same waits as a group's; after the
pause one call goes out as a probe. It costs no group an attempt. The calls of a day have a cap: without one, a retry loop
may cost millions of tokens overnight. Pure: `submit.py` gathers the files and makes the tasks, `llm_state.py` keeps what
failed. Source: docs/reference/protocol.md, 3, Groups and roll-up, 3.12 and 3.13.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Final, Self

from ..archive.coverage import MemoryFile, covered, covers
from ..protocol.paths import Period, day, month, summary_period
from ..protocol.summary_file import Source, Summary

#: A day of at most so many messages, in files of so many bytes, is short: they are read as quickly as an extract of them.
_SHORT_DAY: Final = 12
_SHORT_BYTES: Final = 4_000
#: The answers of a model that count: it writes worse than extracts where all of so few were refused, or most of so many.
RECENT_ANSWERS: Final = 30
_FEW, _MANY = 3, 10
_MARK_DIGITS: Final = 12
#: The end of the mark of a text that was refused twice, where no extract stands for it: no further answer is asked for.
TWICE: Final = "-twice"
#: The wait between tries after more failures than there are waits.
BACKLOG_INTERVAL: Final = timedelta(days=1)
_WAITS: Final = tuple(timedelta(minutes=minutes) for minutes in (10, 30, 120, 360, 720))  # after the first failures


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryJob:
    """A summary to make: the sources that it will name, the material to read, and the text that it continues."""

    period: Period
    sources: tuple[Source, ...]
    size: int  # bytes of their files
    material: tuple[str, ...]  # names of dated files, or "summary/2026-01-15.md"; oldest first
    previous: str
    previous_digest: str  # of the existing summary file, "" when there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryWriter:
    """
    What is able to write the summaries: a model (*is_model*), which also replaces extracts, or the extract.

    *model_version*: which model, with which prompts; an extract that stands since its answers were refused is not asked for
    again. *context_bytes*: of dated files that one call can read; a larger month gets summaries of its days first. *given_up*:
    groups of days that failed too often; the month reads their dated files. *least*: the words of a day that
    are worth a call, fewer *say little*; 0: every day has a summary. *refused*: the marks of texts that were refused.
    """

    is_model: bool = False
    model_version: str = ""
    context_bytes: int = 0
    given_up: frozenset[str] = frozenset()
    least: int = 0
    refused: frozenset[str] = frozenset()
    says_little: Callable[[tuple[Source, ...]], bool] = field(default=lambda _: False, compare=False)

    def lets_stand(self, summary: Summary) -> bool:
        """Return whether the summary is an extract that no model is asked to replace."""
        return summary.extract and (summary.enough or (bool(summary.refused) and summary.refused == self.model_version))

    def shows(self, period: Period, files: Collection[MemoryFile]) -> bool:
        """True if the group is a short day, whose files are shown in the place of an extract."""
        messages, size = sum(max(1, file.count) for file in files), sum(file.size for file in files)  # a note counts as one
        return self.least > 0 and period.kind == "day" and messages <= _SHORT_DAY and size <= _SHORT_BYTES

    def leaves(self, period: Period, files: Collection[MemoryFile]) -> bool:
        """True if the files of a short day stay without a summary: too few words for a model, none, or one that was refused."""
        if not self.shows(period, files):
            return False
        sources = tuple(file.source for file in files)
        is_refused = refused_mark(self.model_version, sources, times=2) in self.refused
        return is_refused or not self.is_model or self.says_little(sources)


_EXTRACTS: Final = SummaryWriter()


def refused_mark(model: str, sources: Iterable[Source], times: int = 1) -> str:
    """
    Return the mark of a text of one model, whose answer was refused once or twice.

    It changes with the model, its prompts, and what the text is made from.
    """
    listed = json.dumps([model, sorted((source.name, source.digest) for source in sources)])
    mark = hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()[:_MARK_DIGITS]
    return mark if times == 1 else f"{mark}{TWICE}"


def files_by_period(files: Collection[MemoryFile], today: date, recent_days: int) -> dict[Period, tuple[MemoryFile, ...]]:
    """Return the files that are no longer recent by the period they belong to, each oldest first."""
    by_period: defaultdict[Period, list[MemoryFile]] = defaultdict(list)
    for file in sorted(files, key=lambda file: (file.day, file.name)):
        period = summary_period(file.day, today, recent_days)
        if period:
            by_period[period].append(file)
    return {period: tuple(members) for period, members in by_period.items()}


def not_pruned(files: Collection[MemoryFile], summaries: Mapping[Period, Summary], pruned: Collection[str]) -> list[MemoryFile]:
    """
    Return the files without those of days and months whose summary alone has what pruned files said.

    Such a summary is never made anew; a file that comes late stays beside it.
    """
    closed = {period for period, summary in summaries.items() if any(source.name in pruned for source in summary.sources)}
    return [file for file in files if closed.isdisjoint((day(file.day), month(file.day)))] if closed else list(files)


def due_summaries(
    files: Collection[MemoryFile],
    summaries: Mapping[Period, Summary],
    today: date,
    recent_days: int,
    writer: SummaryWriter = _EXTRACTS,
) -> list[SummaryJob]:
    """Return every summary that is due, newest first."""
    jobs: list[SummaryJob] = []
    for period, members in _due(files, summaries, today, recent_days, writer):
        days = _days_before_month(members, summaries, writer, summaries.get(period)) if period.kind == "month" else {}
        jobs += [summary_job(day, of_day, summaries) for day, of_day in (days or {period: members}).items()]
    return sorted(jobs, key=lambda job: job.period.last_day, reverse=True)


def extracts_due(
    files: Collection[MemoryFile],
    summaries: Mapping[Period, Summary],
    today: date,
    recent_days: int,
    writer: SummaryWriter,
) -> list[SummaryJob]:
    """
    Return the groups whose extract is to be written while they wait for a model, newest first.

    They have no summary and are no short days, or have an extract that waits too and does not name all of their files.
    """
    jobs = []
    for period, members in _due(files, summaries, today, recent_days, writer) if writer.is_model else ():
        existing = summaries.get(period)
        is_new = existing is None and not writer.shows(period, members)
        is_late = existing is not None and existing.waits and any(file.source not in existing.sources for file in members)
        if is_new or is_late:
            jobs.append(summary_job(period, members, summaries))
    return sorted(jobs, key=lambda job: job.period.last_day, reverse=True)


def _due(
    files: Collection[MemoryFile],
    summaries: Mapping[Period, Summary],
    today: date,
    recent_days: int,
    writer: SummaryWriter,
) -> Iterator[tuple[Period, tuple[MemoryFile, ...]]]:
    named = covered(files, summaries)
    for period, members in files_by_period(files, today, recent_days).items():
        if not _is_up_to_date(period, members, named, summaries, writer):
            yield period, members


def summary_job(
    period: Period, members: Sequence[MemoryFile], summaries: Mapping[Period, Summary], *, from_scratch: bool = False
) -> SummaryJob:
    """Return the job of one group; with *from_scratch* it reads all files and continues no text, as a person may ask for."""
    existing = summaries.get(period)
    named = set(existing.sources if existing else ())
    unread, known = [file for file in members if file.source not in named], {source.name for source in named}
    # an extract is never continued, nor is a text about a file that has changed since
    continues = existing is not None and not existing.extract and not any(file.name in known for file in unread)
    continues = continues and not from_scratch
    to_read = unread if continues else list(members)
    return SummaryJob(
        period=period,
        sources=tuple(file.source for file in members),
        size=sum(file.size for file in members),
        material=_month_material(to_read, summaries) if period.kind == "month" else tuple(file.name for file in to_read),
        previous=existing.text if existing and continues else "",
        previous_digest=existing.digest if existing else "",
    )


def _is_up_to_date(
    period: Period,
    members: Sequence[MemoryFile],
    named: frozenset[str],
    summaries: Mapping[Period, Summary],
    writer: SummaryWriter,
) -> bool:
    existing = summaries.get(period)
    if existing and existing.extract and writer.is_model and not writer.lets_stand(existing):
        return False
    if covers(existing, members) or (existing is None and writer.leaves(period, members)):
        return True
    # the summary of a month must name all of its files itself; the files of a day may be named by any summary
    return period.kind == "day" and all(file.name in named for file in members)


def _days_before_month(
    members: Sequence[MemoryFile],
    summaries: Mapping[Period, Summary],
    writer: SummaryWriter,
    of_month: Summary | None,
) -> dict[Period, tuple[MemoryFile, ...]]:
    """
    Return the days to summarise before their month, which is too large for one call; given-up days are left out.

    A day whose files the month's own summary names needs none, even if that read the dated files: one late message must not
    start the month from the beginning.
    """
    if not writer.is_model or sum(file.size for file in members) <= writer.context_bytes:
        return {}
    in_month = set(of_month.sources if of_month and not of_month.extract else ())
    days: defaultdict[Period, list[MemoryFile]] = defaultdict(list)
    for file in members:
        days[Period(file.day.isoformat())].append(file)
    return {
        day: tuple(of_day)
        for day, of_day in days.items()
        if day.group not in writer.given_up
        and not writer.leaves(day, of_day)
        and not (covers(summaries.get(day), of_day) and writer.lets_stand(summaries[day]))
        and not all(file.source in in_month or _is_in_daily_summary(file, summaries) for file in of_day)
    }


def _month_material(files: Sequence[MemoryFile], summaries: Mapping[Period, Summary]) -> tuple[str, ...]:
    """Return the names to read for a month: a model's daily summary in place of the files that it names, else the files."""
    names: list[str] = []
    for file in files:
        name = f"summary/{file.day.isoformat()}.md" if _is_in_daily_summary(file, summaries) else file.name
        if name not in names:
            names.append(name)
    return tuple(names)


def _is_in_daily_summary(file: MemoryFile, summaries: Mapping[Period, Summary]) -> bool:
    """Return whether a model's daily summary names the file as it is now."""
    of_day = summaries.get(Period(file.day.isoformat()))
    return of_day is not None and not of_day.extract and file.source in of_day.sources


# ── failures ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Backoff:
    """How often something failed in a row, when it did last, and when to try again; *attempts* is 0 where it did not fail."""

    attempts: int = 0
    failed_at: datetime | None = None
    next_at: datetime | None = None

    def again(self, now: datetime, least: timedelta = timedelta()) -> Self:
        """
        Return the state after one more failure, at *now*; the wait after it is *least* at least.

        >>> sixth = Backoff(5).again(datetime(2026, 1, 31))
        >>> sixth.attempts, str(sixth.next_at)
        (6, '2026-02-01 00:00:00')
        """
        wait = _WAITS[self.attempts] if 0 <= self.attempts < len(_WAITS) else BACKLOG_INTERVAL
        return replace(self, attempts=self.attempts + 1, failed_at=now, next_at=now + max(wait, least))

    def is_over(self, now: datetime) -> bool:
        """Return whether nothing failed, or the wait after it is over."""
        return self.failed_at is None or self.next_at is None or is_due(self.failed_at, self.next_at, now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What became of a model's answers: *refused* by reason."""

    accepted: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    recent: str = ""  # of the last RECENT_ANSWERS, the newest last: a letter each, a or r

    @property
    def is_worse(self) -> bool:
        """Whether so many of the last answers were refused that extracts are the better summaries."""
        count, refused = len(self.recent), self.recent.count("r")
        return refused == count >= _FEW or (count >= _MANY and refused > count / 2)

    def with_one(self, reason: str | None) -> Verdicts:
        """Return the account with one more answer; *reason* is None where it was accepted."""
        refused = {**self.refused, reason: self.refused.get(reason, 0) + 1} if reason else self.refused
        recent = f"{self.recent}{'r' if reason else 'a'}"[-RECENT_ANSWERS:]
        accepted = self.accepted + (reason is None)
        return replace(self, accepted=accepted, refused=refused, recent=recent)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderState(Backoff):
    """What `worker/failed/provider.json` holds: the last fault of the provider, and today's cost so far."""

    reason: str = ""
    server: str = ""  # the marks of the `Endpoint` that failed
    key: str = ""
    day: str = ""  # local, "2026-01-28"
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    answers: Mapping[str, Verdicts] = field(default_factory=dict)  # by the name that the model is asked by

    @property
    def is_failing(self) -> bool:
        """Whether the last call was refused: the next one is a probe."""
        return self.attempts > 0

    def was_in_flight(self, started_at: datetime | None, now: datetime) -> bool:
        """Return whether a call that began at *started_at* and ended by *now* was in flight when the last fault was noted."""
        if self.failed_at is None:
            return False
        return self.failed_at == now or (started_at or now) <= self.failed_at <= now


def is_due(failed_at: datetime, next_at: datetime, now: datetime) -> bool:
    """
    Return whether the wait from *failed_at* to *next_at* is over.

    A failure in the future was written before the clock was set back: its wait counts as over.
    """
    return next_at <= now or failed_at > now


def with_usage(state: ProviderState, usage: Mapping[str, int], today: str, calls: int) -> ProviderState:
    """Return the state after *calls* calls today, with the tokens of *usage* {promptTokens, completionTokens} added."""
    if state.day != today:
        state = replace(state, day=today, calls=0, prompt_tokens=0, completion_tokens=0)
    return replace(
        state,
        calls=calls,
        prompt_tokens=state.prompt_tokens + usage.get("promptTokens", 0),
        completion_tokens=state.completion_tokens + usage.get("completionTokens", 0),
    )


def after_call(
    state: ProviderState,
    started_at: datetime | None,
    now: datetime,
    fault: str | None = None,
    retry_after: timedelta = timedelta(),
) -> ProviderState:
    """
    Return the state after a call that began at *started_at*: a *fault* of the provider pauses it, an answer ends the pause.

    A call that was in flight when the provider failed changes nothing: such calls count as one failure, and end no pause. A
    *retry_after* that is longer than the wait, which the server asked for, is respected.
    """
    if state.was_in_flight(started_at, now):
        return state
    if fault is None:
        return without_fault(state)
    return replace(state.again(now, retry_after), reason=fault)


def without_fault(state: ProviderState) -> ProviderState:
    """Return the state without its fault and pause; the day's cost stays."""
    return replace(state, attempts=0, failed_at=None, next_at=None, reason="", server="", key="")


def calls_allowed(state: ProviderState, now: datetime, spent: int, max_calls: int, in_flight: int) -> int:
    """
    Return how many more calls may begin now, after *spent* calls today, with *in_flight* calls not yet answered.

    0 while the provider is paused, 1 as a probe when the pause is over, else what is left of the day's cap.
    """
    left = max(0, max_calls - spent)
    if state.is_failing and state.failed_at and state.next_at:
        return 0 if in_flight or not state.is_over(now) else min(1, left)
    return max(0, left - in_flight)
