"""Every workload there is; what each does stands in its module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crash import others, people, talking, working

if TYPE_CHECKING:
    from tests.crash.workload import Workload

WORKLOADS: tuple[type[Workload], ...] = (
    talking.Archive,
    talking.Revision,
    talking.DayRipens,
    talking.MonthCloses,
    talking.LateInDay,
    talking.LateInShortDay,
    talking.ShortDaysClose,
    talking.LateInMonth,
    talking.Trim,
    talking.HardCap,
    talking.Redo,
    talking.Weeks,
    talking.WeeksWithModel,
    working.Failure,
    working.Empty,
    working.Refused,
    working.ProviderDown,
    working.TwoWorkers,
    working.Compact,
    working.Turn,
    working.ReadyContext,
    others.DropBox,
    others.Swiped,
    others.Reused,
    others.SaidAgain,
    others.Careless,
    others.Scribbled,
    others.Pictures,
    others.Meanwhile,
    others.Between,
    others.Lost,
    others.Nameless,
    others.Numbered,
    others.Window,
    others.Respelled,
    others.Damaged,
    others.Missing,
    people.Edited,
    people.Written,
    people.SummaryDeleted,
    people.Notes,
    people.DatedEdited,
    people.DatedDeleted,
    people.Copies,
)
