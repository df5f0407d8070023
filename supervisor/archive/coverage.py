"""
What a summary stands for: the dated files that it names, with the digest that they have now, and nothing else.

This one rule keeps every memory reachable (docs/decisions/0002): a file that nothing names stays in the ordinary search, a
daily summary stays until a month names all of its files, and a monthly file of one late message hides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from supervisor.protocol.period import Period
from supervisor.protocol.summary_file import Source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import date, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFile:
    """A dated file as it lies on disk, ours or a person's note named like one."""

    name: str  # "2026-01-28-deploy.md", unique in the tree for ever
    digest: str  # first 16 hex digits of the sha256 of its bytes
    day: date
    count: int  # messages
    size: int  # bytes
    ours: bool  # it has our head; a person's own is never written or moved
    original: bool  # it lies in originals/
    created: datetime | None  # of the run that made it; None for a person's own
    source: Source = field(init=False, repr=False, compare=False)  # how a summary made from it names it

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", Source(self.name, self.digest, self.count))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingSummary:
    """A summary that stands: what it names, and whether a model wrote it."""

    period: Period
    sources: frozenset[Source]
    text: str
    extract: bool
    edited: bool  # a person's own words stand in it
    digest: str  # of the whole file


def covered(files: Iterable[MemoryFile], summaries: Mapping[Period, ExistingSummary]) -> frozenset[str]:
    """Return the names of the files that some standing summary names as they are now."""
    named = frozenset[Source]().union(*(standing.sources for standing in summaries.values()))
    return frozenset(file.name for file in files if file.source in named)


def covers(standing: ExistingSummary | None, files: Iterable[MemoryFile]) -> bool:
    """Tell whether this very summary names all of *files* as they are now."""
    return standing is not None and all(file.source in standing.sources for file in files)


def covered_days(files: Collection[MemoryFile], summaries: Mapping[Period, ExistingSummary]) -> frozenset[Period]:
    """
    Return the days whose summary leaves the ordinary search: a month names all of its files that still exist.

    One that a person edited stays, since their words are in no file the month names; so does one that a model wrote where
    the month is only an extract, and one whose files are all gone.
    """
    present = {file.name for file in files}
    found = set()
    for period, standing in summaries.items():
        of_month = summaries.get(Period(period.label[:7]))
        if period.kind == "month" or of_month is None or standing.edited or (of_month.extract and not standing.extract):
            continue
        names = {source.name for source in standing.sources if source.name in present}
        if names and names <= {source.name for source in of_month.sources}:
            found.add(period)
    return frozenset(found)


def may_replace(
    sources: Collection[Source], standing: ExistingSummary | None, files: Iterable[MemoryFile], *, better: bool
) -> bool:
    """
    Tell whether a text made from *sources* may take the place of what stands.

    Of the files as they are now it has to name every one that the standing text names (a suspended worker may bring an old,
    narrower text), and one more, unless it is *better*: a model's in place of an extract, or asked for.
    """
    now = {file.source for file in files}
    told, before = now.intersection(sources), now.intersection(standing.sources if standing else ())
    return bool(told) and before <= told and (better or standing is None or before != told)


def names_ever(summaries: Iterable[ExistingSummary]) -> frozenset[str]:
    """Return every name that a summary lists: taken for ever, whether the file still exists or not."""
    return frozenset(source.name for standing in summaries for source in standing.sources)
