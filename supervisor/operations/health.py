"""The operations that show how a memory is: every check with its remedy, and the last events."""

from __future__ import annotations

import os
from collections.abc import Mapping  # noqa: TC003 - the type of an answer's field
from typing import TYPE_CHECKING, Any, Final

from ..storage.errors import BadRequest
from ..storage.texts import Text
from ..text.record import record
from .operation import Visible, operation, refuse_outside, within

if TYPE_CHECKING:
    from ..checks.check import Finding

#: Events of one answer, at most.
MOST_EVENTS: Final = 500
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


@operation("examine", ExamineRequest, reads=True, owner=True, within_s=60.0)
def examine(memory: Visible, request: ExamineRequest) -> list[CheckAnswer]:
    """Return what each check finds, in the order of `doctor`; a check without a fault is "good"."""
    from ..checks.check import Look
    from ..checks.table import examine as examine_all
    from ..checks.table import look_over

    look = Look(memory.ws, memory.caller.clock(), os.environ)
    return [_answer(finding) for finding in (examine_all(look, None) if request.slow else look_over(look))]


def _answer(finding: Finding) -> CheckAnswer:
    return CheckAnswer(check=finding.check, state=finding.state, why=finding.why, mend=finding.mend)


@operation("events", EventsRequest, reads=True, owner=True)
def events(memory: Visible, request: EventsRequest) -> list[EventAnswer]:
    """Return the newest events of the log, newest first."""
    from ..events import EVENTS, newest_events, priority

    events_read: list[EventAnswer] = []
    for name, at, fields in newest_events(memory.ws.paths.log):
        level = priority(name)
        if level <= _LEVELS[request.level]:
            events_read.append(EventAnswer(at=at, event=name, means=EVENTS.get(name, ""), priority=level, fields=fields))
        if len(events_read) == request.limit:
            break
    return events_read
