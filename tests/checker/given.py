"""What the judge is told besides the files: what was acknowledged, the time, and what people did on purpose."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo


class Acked(NamedTuple):
    """A message whose writer was told that it is kept; *id* is "" where the writer gave none, *role* where it is not known."""

    id: str
    text: str
    created_at: str
    role: str = ""


@dataclass(frozen=True)
class Given:
    """
    The time, and what people did on purpose: ids whose words they deleted, paths they edited or deleted, and the bytes they
    *kept* there by path, with which the file still has to begin (be them, where it is no summary).

    *calm*: everything due was done; *all_written*: even what was not due (`--until-settled`). *ordered*: messages stand in
    the order of the acknowledged ones; *by_writer*: those of each writer do, whose name is the id up to its last hyphen.
    *offered*: every text that anybody has ever said, acknowledged or not, and each message as it was acknowledged: then texts
    are counted, and times and roles compared. None where people strip, repeat and date messages as they like.
    *shows_short*: a day of few short messages needs no summary of its own.
    *counts*: of some texts how often each was met and how often it was said, whatever ids were given to it on the way.
    """

    now: datetime
    zone: str
    calm: bool = True
    all_written: bool = False
    ordered: bool = True
    by_writer: bool = False
    offered: Collection[str] | None = None
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    deleted_ids: Collection[str] = ()
    touched_paths: Collection[str] = ()
    kept: Mapping[str, bytes] = field(default_factory=dict)
    recent_days: int = 5
    shows_short: bool = False

    @classmethod
    def of_writers(cls, now: datetime, zone: str, *, calm: bool = True, **more: Any) -> Given:
        """What several writers leave whose messages come in any order, once everything was written, or (not *calm*) meanwhile."""
        return cls(now, zone, calm=calm, all_written=calm, ordered=False, **more)

    @property
    def today(self) -> date:
        return self.now.astimezone(ZoneInfo(self.zone)).date()

    def instant(self, time: Any) -> datetime | None:
        """The time that a writer gave; None where it gave none that can be read."""
        try:
            found = datetime.fromtimestamp(int(time) / 1000, UTC) if str(time).isdecimal() else datetime.fromisoformat(time)
        except (TypeError, ValueError):
            return None
        return found if found.tzinfo else found.replace(tzinfo=ZoneInfo(self.zone))

    def moment(self, time: Any) -> datetime | str:
        """What two spellings of one time have in common; the spelling itself where it can't be read."""
        return self.instant(time) or str(time)

    @property
    def touched_names(self) -> set[str]:
        """The names of the files that people touched: a dated file's is unique wherever it lies."""
        return {path.rpartition("/")[2] for path in self.touched_paths}
