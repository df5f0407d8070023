"""
Which summaries are to be made now: days that are no longer recent, months that have closed, what a late file changed.

003 forgot both roll-ups: messages archived while young were never summarised, and days never merged into their month. The
sources of a summary are always dated files, and all of those that its group has (docs/protocol.md, 3).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.archive.coverage import covered, covers
from supervisor.protocol.period import Period, summary_period

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import date

    from supervisor.archive.coverage import ExistingSummary, MemoryFile
    from supervisor.protocol.summary_file import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryJob:
    """A summary to make: what it will name, what is read for it, and the text that it continues."""

    period: Period
    sources: tuple[Source, ...]
    material: tuple[str, ...]  # names of dated files, or "summary/2026-01-15.md"; oldest first
    previous: str
    previous_digest: str  # of the summary file that stands, "" when none does


def groups(files: Collection[MemoryFile], today: date, recent_days: int) -> dict[Period, tuple[MemoryFile, ...]]:
    """Return the files that are no longer recent by the period they belong to, each oldest first."""
    found: defaultdict[Period, list[MemoryFile]] = defaultdict(list)
    for file in sorted(files, key=lambda file: (file.day, file.name)):
        period = summary_period(file.day, today, recent_days)
        if period:
            found[period].append(file)
    return {period: tuple(members) for period, members in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """
    Who makes the summaries. *is_model*: an extract that stands is to be made anew.

    *context_bytes*: of dated files that one call can read; a larger month makes its days first. *given_up*: groups of days
    that failed too often, which go into their month raw.
    """

    is_model: bool = False
    context_bytes: int = 0
    given_up: frozenset[str] = frozenset()


def due_summaries(
    files: Collection[MemoryFile],
    summaries: Mapping[Period, ExistingSummary],
    today: date,
    recent_days: int,
    maker: Maker = Maker(),
) -> list[SummaryJob]:
    """Return every summary that is to be made, newest first."""
    named = covered(files, summaries)
    found: list[SummaryJob] = []
    for period, members in groups(files, today, recent_days).items():
        if _settled(period, members, named, summaries, maker):
            continue
        days = _untold_days(members, summaries, maker, summaries.get(period)) if period.kind == "month" else {}
        found += [work_on(day, of_day, summaries) for day, of_day in days.items()]
        if not days:
            found.append(work_on(period, members, summaries))
    return sorted(found, key=lambda work: work.period.last_day, reverse=True)


def _settled(
    period: Period,
    members: Sequence[MemoryFile],
    named: frozenset[str],
    summaries: Mapping[Period, ExistingSummary],
    maker: Maker,
) -> bool:
    standing = summaries.get(period)
    if standing and standing.extract and maker.is_model:
        return False
    if covers(standing, members):
        return True
    # a month is due until it names all of its files itself; a day is at rest when anything names them
    return period.kind == "day" and all(file.name in named for file in members)


def _untold_days(
    members: Sequence[MemoryFile], summaries: Mapping[Period, ExistingSummary], maker: Maker, standing: ExistingSummary | None
) -> dict[Period, tuple[MemoryFile, ...]]:
    """
    Return the days of a month too large for one call that no model has told yet, and that were not given up.

    What the *standing* summary of the month names has been told in it, also raw: it is not begun anew for one late message.
    """
    if not maker.is_model or sum(file.size for file in members) <= maker.context_bytes:
        return {}
    in_month = standing.sources if standing and not standing.extract else ()
    days: defaultdict[Period, list[MemoryFile]] = defaultdict(list)
    for file in members:
        days[Period(file.day.isoformat())].append(file)
    return {
        day: tuple(of_day)
        for day, of_day in days.items()
        if day.group not in maker.given_up and not all(file.source in in_month or _is_told(file, summaries) for file in of_day)
    }


def work_on(
    period: Period, members: Sequence[MemoryFile], summaries: Mapping[Period, ExistingSummary], *, anew: bool = False
) -> SummaryJob:
    """Return the work of one group: *anew* reads everything and continues nothing, as a person may ask for."""
    standing = summaries.get(period)
    fresh = [file for file in members if not standing or file.source not in standing.sources]
    known = {source.name for source in standing.sources} if standing else set()
    # an extract is never previous text, nor is a text about a file that has changed since (holes.md 4H, 4)
    continues = standing is not None and not standing.extract and not any(file.name in known for file in fresh)
    continues = continues and not anew
    read = fresh if continues else list(members)
    return SummaryJob(
        period=period,
        sources=tuple(file.source for file in members),
        material=_days_first(read, summaries) if period.kind == "month" else tuple(file.name for file in read),
        previous=standing.text if standing and continues else "",
        previous_digest=standing.digest if standing else "",
    )


def _days_first(files: Sequence[MemoryFile], summaries: Mapping[Period, ExistingSummary]) -> tuple[str, ...]:
    """Return what a month is read from: a model's daily summary in place of the files it names, else the files."""
    found: list[str] = []
    for file in files:
        name = f"summary/{file.day.isoformat()}.md" if _is_told(file, summaries) else file.name
        if name not in found:
            found.append(name)
    return tuple(found)


def _is_told(file: MemoryFile, summaries: Mapping[Period, ExistingSummary]) -> bool:
    """Tell whether a model's daily summary names the file as it is now."""
    of_day = summaries.get(Period(file.day.isoformat()))
    return of_day is not None and not of_day.extract and file.source in of_day.sources
