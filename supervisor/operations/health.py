"""The operations that show how a memory is: every check with its remedy, the last events, and its growth week by week."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping  # noqa: TC003 - the type of an answer's field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from ..storage.errors import BadRequest
from ..storage.texts import Text
from ..text.record import record
from .operation import Visible, operation, refuse_outside, within

if TYPE_CHECKING:
    from datetime import datetime

    from ..checks.check import Finding

#: Events and weeks of one answer, at most.
MOST_EVENTS: Final = 500
MOST_WEEKS: Final = 520
#: The priority of each level of events, as syslog counts it.
_LEVELS: Final = {"error": 3, "warning": 4, "all": 6}


@record(kw_only=True)
class ExamineRequest:
    """With *slow* the slow checks run now; without, what they found last is shown."""

    slow: bool = False


@record(kw_only=True)
class CheckAnswer:
    """What a *check* found: "good", "odd" or "bad"; *why* is a sentence, *mend* the command in it."""

    check: str
    state: str
    why: str
    mend: str | None


@record(kw_only=True)
class EventsRequest:
    """The newest events, *limit* at most, of this *level*: "error", "warning" (and errors), or "all"."""

    limit: int = within(50, 1, MOST_EVENTS)
    level: str = "all"

    def __post_init__(self) -> None:
        refuse_outside(self)
        if self.level not in _LEVELS:
            raise BadRequest(
                "level", Text("{value} is not allowed, give {allowed}", value=str(self.level)[:40], allowed=", ".join(_LEVELS))
            )


@record(kw_only=True)
class EventAnswer:
    """An *event* of the log: when it was, what it *means*, how grave it is (3, 4, 6), and its *fields*."""

    at: str
    event: str
    means: str
    priority: int
    fields: Mapping[str, Any]


@record(kw_only=True)
class WeeksRequest:
    """The last *weeks* weeks."""

    weeks: int = within(26, 1, MOST_WEEKS)

    def __post_init__(self) -> None:
        refuse_outside(self)


@record(kw_only=True)
class WeekCount:
    """
    A *week*, by its Monday: how many *messages* it has, how many *summaries* were written and *calls* of the model made in it.

    *bytes* are those of all dated files up to its end. Calls are known for as long as `.recalld/calls.jsonl` keeps them.
    """

    week: date
    messages: int
    summaries: int
    calls: int
    bytes: int


@operation("examine", ExamineRequest, reads=True, owner=True, within_s=60.0)
def examine(memory: Visible, request: ExamineRequest) -> list[CheckAnswer]:
    """Return what each check finds, in the order of `doctor`; a check without a fault is "good"."""
    from ..checks.check import Look
    from ..checks.table import examine as examine_all
    from ..checks.table import look_over

    look = Look(memory.ws, memory.caller.clock(), os.environ)
    return [_answer(one) for one in (examine_all(look, None) if request.slow else look_over(look))]


def _answer(one: Finding) -> CheckAnswer:
    return CheckAnswer(check=one.check, state=one.state, why=one.why, mend=one.mend)


@operation("events", EventsRequest, reads=True, owner=True)
def events(memory: Visible, request: EventsRequest) -> list[EventAnswer]:
    """Return the newest events of the log, newest first."""
    from ..events import EVENTS, newest_events, priority

    found: list[EventAnswer] = []
    for name, at, fields in newest_events(memory.ws.paths.log):
        level = priority(name)
        if level <= _LEVELS[request.level]:
            found.append(EventAnswer(at=at, event=name, means=EVENTS.get(name, ""), priority=level, fields=fields))
        if len(found) == request.limit:
            break
    return found


@operation("weeks", WeeksRequest, reads=True, owner=True)
def weeks(memory: Visible, request: WeeksRequest) -> list[WeekCount]:
    """Return the growth of memory week by week, oldest first: messages, summaries, calls of the model, bytes."""
    ws, now = memory.ws, memory.caller.clock()
    messages: Counter[date] = Counter()
    sizes: Counter[date] = Counter()
    for file in ws.memory.dated():
        messages[_monday(file.day)] += file.count if file.ours else 1
        sizes[_monday(file.day)] += file.size
    messages.update(_monday(ws.today(one.created_at)) for one in ws.unfiled.messages(now) if one.created_at)
    calls = Counter(_monday(at.date()) for at in ws.calls.begun())
    made = Counter(_monday(ws.today(at)) for at in ws.memory.summary_times())
    last = _monday(ws.today(now))
    shown = [last - timedelta(weeks=back) for back in reversed(range(request.weeks))]
    total = sum(size for week, size in sizes.items() if week < shown[0])
    found: list[WeekCount] = []
    for week in shown:
        total += sizes[week]
        found.append(WeekCount(week=week, messages=messages[week], summaries=made[week], calls=calls[week], bytes=total))
    return found


def _monday(day: date | datetime) -> date:
    return date(day.year, day.month, day.day) - timedelta(days=day.weekday())
