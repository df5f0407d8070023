"""
What a summary stands for: the dated files that it names, with the digest that they have now, and nothing else.

This one rule keeps every memory reachable (docs/decisions/0002): a file that nothing names stays in the ordinary search, a
daily summary stays until a month names all of its files, and a monthly file of one late message hides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.protocol.period import Period
from supervisor.protocol.summary import Source

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
    ours: bool  # it has our head; a person's own is never written or moved
    original: bool  # it lies in originals/
    created: datetime | None  # of the run that made it; None for a person's own

    @property
    def source(self) -> Source:
        """How a summary made from it names it."""
        return Source(self.name, self.digest, self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A summary that stands: what it names, and whether a model wrote it."""

    period: Period
    sources: frozenset[Source]
    text: str
    extract: bool
    digest: str  # of the whole file


def covered(files: Iterable[MemoryFile], summaries: Mapping[Period, Standing]) -> frozenset[str]:
    """Return the names of the files that some standing summary names as they are now."""
    named = {source for standing in summaries.values() for source in standing.sources}
    return frozenset(file.name for file in files if file.source in named)


def covers(standing: Standing | None, files: Iterable[MemoryFile]) -> bool:
    """Tell whether this very summary names all of *files* as they are now."""
    return standing is not None and all(file.source in standing.sources for file in files)


def covered_days(files: Collection[MemoryFile], summaries: Mapping[Period, Standing]) -> frozenset[Period]:
    """Return the days whose summary leaves the ordinary search: a month names all of its files that still exist."""
    present = {file.name for file in files}
    found = set()
    for period, standing in summaries.items():
        of_month = summaries.get(Period(period.label[:7]))
        if period.kind == "day" and of_month:
            names = {source.name for source in of_month.sources}
            if standing.sources and all(s.name in names for s in standing.sources if s.name in present):
                found.add(period)
    return frozenset(found)


def widens(sources: Collection[Source], standing: Standing | None, present: Collection[str], *, better: bool) -> bool:
    """
    Tell whether a text made from *sources* may take the place of what stands.

    It has to name every file that the standing one names and that still exists (a suspended worker may bring an old,
    narrower text), and something more, unless it is *better*: a model's in place of an extract, or asked for.
    """
    if standing is None:
        return True
    names = {source.name for source in sources}
    if any(source.name in present and source.name not in names for source in standing.sources):
        return False
    return better or any(source not in standing.sources for source in sources)


def names_ever(summaries: Iterable[Standing]) -> frozenset[str]:
    """Return every name that a summary lists: taken for ever, whether the file still exists or not."""
    return frozenset(source.name for standing in summaries for source in standing.sources)
