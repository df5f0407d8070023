"""
Which summaries are to be made now: days that are no longer recent, months that have closed, what a late file changed.

003 forgot both roll-ups: messages archived while young were never summarised, and days never merged into their month. The
sources of a summary are always dated files, and all of those that its group has (docs/protocol.md, 3).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.policy.age import home
from supervisor.policy.coverage import covered, covers
from supervisor.protocol.period import Period

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import date

    from supervisor.policy.coverage import MemoryFile, Standing
    from supervisor.protocol.summary import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
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
        period = home(file.day, today, recent_days)
        if period:
            found[period].append(file)
    return {period: tuple(members) for period, members in found.items()}


def ripe(
    files: Collection[MemoryFile],
    summaries: Mapping[Period, Standing],
    today: date,
    recent_days: int,
    *,
    extracting: bool,
) -> list[Work]:
    """
    Return every summary that is to be made, newest first.

    *extracting*: no model is there, so that extracts are as good as it gets; else an extract is to be made anew.
    """
    named = covered(files, summaries)
    found = [
        _work(period, members, summaries)
        for period, members in groups(files, today, recent_days).items()
        if not _settled(period, members, named, summaries, extracting=extracting)
    ]
    return sorted(found, key=lambda work: work.period.last_day, reverse=True)


def _settled(
    period: Period,
    members: Sequence[MemoryFile],
    named: frozenset[str],
    summaries: Mapping[Period, Standing],
    *,
    extracting: bool,
) -> bool:
    standing = summaries.get(period)
    if standing and standing.extract and not extracting:
        return False
    if covers(standing, members):
        return True
    # a month is due until it names all of its files itself; a day is at rest when anything names them
    return period.kind == "day" and all(file.name in named for file in members)


def _work(period: Period, members: Sequence[MemoryFile], summaries: Mapping[Period, Standing]) -> Work:
    standing = summaries.get(period)
    fresh = [file for file in members if not standing or file.source not in standing.sources]
    known = {source.name for source in standing.sources} if standing else set()
    # an extract is never previous text, nor is a text about a file that has changed since (holes.md 4H, 4)
    continues = standing is not None and not standing.extract and not any(file.name in known for file in fresh)
    read = fresh if continues else list(members)
    return Work(
        period=period,
        sources=tuple(file.source for file in members),
        material=_days_first(read, summaries) if period.kind == "month" else tuple(file.name for file in read),
        previous=standing.text if standing and continues else "",
        previous_digest=standing.digest if standing else "",
    )


def _days_first(files: Sequence[MemoryFile], summaries: Mapping[Period, Standing]) -> tuple[str, ...]:
    """Return what a month is read from: a model's daily summary in place of the files it names, else the files."""
    found: list[str] = []
    for file in files:
        of_day = summaries.get(Period(file.day.isoformat()))
        told = of_day is not None and not of_day.extract and file.source in of_day.sources
        name = f"summary/{file.day.isoformat()}.md" if told else file.name
        if name not in found:
            found.append(name)
    return tuple(found)
