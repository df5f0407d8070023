"""
Which summaries are due: of days that are no longer recent, of months that are over, and of both when a late file came.

The sources of a summary are always dated files, and all of those that its group has. Pure: `submit.py` gathers the files and
makes the tasks. Source: docs/reference/protocol.md, 3, Groups and roll-up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import date
from typing import Final

from ..archive.coverage import ExistingSummary, MemoryFile, covered, covers
from ..protocol.paths import Period, day, month, summary_period
from ..protocol.summary_file import Source
from ..text.record import record
from .retry import refused_mark

#: A day of at most so many messages, in files of so many bytes, is short: they are read as quickly as an extract of them.
_SHORT_DAY: Final = 12
_SHORT_BYTES: Final = 4_000


@record(kw_only=True)
class SummaryJob:
    """A summary to make: the sources that it will name, the material to read, and the text that it continues."""

    period: Period
    sources: tuple[Source, ...]
    size: int  # bytes of their files
    material: tuple[str, ...]  # names of dated files, or "summary/2026-01-15.md"; oldest first
    previous: str
    previous_digest: str  # of the existing summary file, "" when there is none


@record(kw_only=True)
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

    def lets_stand(self, summary: ExistingSummary) -> bool:
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


def files_by_period(files: Collection[MemoryFile], today: date, recent_days: int) -> dict[Period, tuple[MemoryFile, ...]]:
    """Return the files that are no longer recent by the period they belong to, each oldest first."""
    by_period: defaultdict[Period, list[MemoryFile]] = defaultdict(list)
    for file in sorted(files, key=lambda file: (file.day, file.name)):
        period = summary_period(file.day, today, recent_days)
        if period:
            by_period[period].append(file)
    return {period: tuple(members) for period, members in by_period.items()}


def not_pruned(
    files: Collection[MemoryFile], summaries: Mapping[Period, ExistingSummary], pruned: Collection[str]
) -> list[MemoryFile]:
    """
    Return the files without those of days and months whose summary alone has what pruned files said.

    Such a summary is never made anew; a file that comes late stays beside it.
    """
    closed = {period for period, summary in summaries.items() if any(source.name in pruned for source in summary.sources)}
    return [file for file in files if closed.isdisjoint((day(file.day), month(file.day)))] if closed else list(files)


def due_summaries(
    files: Collection[MemoryFile],
    summaries: Mapping[Period, ExistingSummary],
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
    summaries: Mapping[Period, ExistingSummary],
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
    summaries: Mapping[Period, ExistingSummary],
    today: date,
    recent_days: int,
    writer: SummaryWriter,
) -> Iterator[tuple[Period, tuple[MemoryFile, ...]]]:
    named = covered(files, summaries)
    for period, members in files_by_period(files, today, recent_days).items():
        if not _is_up_to_date(period, members, named, summaries, writer):
            yield period, members


def summary_job(
    period: Period, members: Sequence[MemoryFile], summaries: Mapping[Period, ExistingSummary], *, from_scratch: bool = False
) -> SummaryJob:
    """Return the job of one group; with *from_scratch* it reads all files and continues no text, as a person may ask for."""
    existing = summaries.get(period)
    unread = [file for file in members if not existing or file.source not in existing.sources]
    known = {source.name for source in existing.sources} if existing else set()
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
    summaries: Mapping[Period, ExistingSummary],
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
    summaries: Mapping[Period, ExistingSummary],
    writer: SummaryWriter,
    of_month: ExistingSummary | None,
) -> dict[Period, tuple[MemoryFile, ...]]:
    """
    Return the days to summarise before their month, which is too large for one call; given-up days are left out.

    A day whose files the month's own summary names needs none, even if that read the dated files: one late message must not
    start the month from the beginning.
    """
    if not writer.is_model or sum(file.size for file in members) <= writer.context_bytes:
        return {}
    in_month = of_month.sources if of_month and not of_month.extract else ()
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


def _month_material(files: Sequence[MemoryFile], summaries: Mapping[Period, ExistingSummary]) -> tuple[str, ...]:
    """Return the names to read for a month: a model's daily summary in place of the files that it names, else the files."""
    names: list[str] = []
    for file in files:
        name = f"summary/{file.day.isoformat()}.md" if _is_in_daily_summary(file, summaries) else file.name
        if name not in names:
            names.append(name)
    return tuple(names)


def _is_in_daily_summary(file: MemoryFile, summaries: Mapping[Period, ExistingSummary]) -> bool:
    """Return whether a model's daily summary names the file as it is now."""
    of_day = summaries.get(Period(file.day.isoformat()))
    return of_day is not None and not of_day.extract and file.source in of_day.sources
