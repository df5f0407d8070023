"""Every workload there is; what each does stands in its module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crash import others, talking, working

if TYPE_CHECKING:
    from tests.crash.workload import Workload

WORKLOADS: tuple[type[Workload], ...] = (
    talking.Archive,
    talking.Revision,
    talking.DayRipens,
    talking.MonthCloses,
    talking.LateInDay,
    talking.LateInMonth,
    talking.Trim,
    talking.HardCap,
    talking.Redo,
    talking.Weeks,
    talking.WeeksWithModel,
    working.Failure,
    working.Empty,
    working.ProviderDown,
    working.TwoWorkers,
    working.Compact,
    working.Turn,
    others.DropBox,
    others.Meanwhile,
    others.Between,
    others.Lost,
    others.Nameless,
    others.Damaged,
    others.Missing,
    others.Edited,
    others.SummaryDeleted,
    others.Notes,
    others.DatedEdited,
    others.DatedDeleted,
)
