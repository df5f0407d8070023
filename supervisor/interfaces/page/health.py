"""
How the memory is: the pages of today and of health.

Today: whether it is well and what mends it, what came in, what is due, what it cost. Health: every check with its remedy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from ...operations import days, upkeep
from ...operations.days import DayAnswer, DayCount
from ...operations.operation import NoArguments
from ...text.lazy_re import lazy_re
from .views import View, go

if TYPE_CHECKING:
    from starlette.responses import Response

_ORDER: Final = ("bad", "odd", "good")
#: Days in the strip of today, and the newest messages that are shown.
_STRIP: Final = 21
_NEWEST: Final = 8
_COMMAND: Final = lazy_re(r"`([^`]+)`")


async def today(view: View) -> Response:
    """Show the page."""
    state = await view.ask(upkeep.status, upkeep.StatusRequest())
    counted = await view.ask(days.days, days.DaysRequest())
    now = view.site.clock()
    last = counted.days[-1].day if counted.days else None
    newest = await _newest(view, counted.days[-1]) if counted.days else None
    return await view.show(
        "today.html",
        "today",
        verdict=[(sentence, mend(sentence)) for sentence in state.sentences],
        is_well=state.is_well,
        facts=state.facts,
        now=now,
        counts={count.day: count for count in counted.days}.get(view.site.workspace.today(now)),
        strip=strip(counted.days, view.site.workspace.today(now)),
        last=last,
        newest=newest,
        retries=sorted(state.facts["waitingForRetry"].items()),
        queued=sum(state.facts["queue"].values()),
    )


async def file_now(view: View) -> Response:
    """File what waits, and lead back."""
    await view.form()
    await view.ask(upkeep.archive, NoArguments())
    return go("/")


def mend(sentence: str) -> str:
    """Return the command that mends a fault, "" if its sentence names none."""
    match = _COMMAND.search(sentence)
    return match[1] if match else ""


def strip(counted: Sequence[DayCount], today: date) -> list[Mapping[str, Any]]:
    """Return the last three weeks, each day with its messages, and the height of its bar in per cent of the highest."""
    messages = {week.day: week.messages for week in counted[-2 * _STRIP :]}
    shown = [today - timedelta(days=back) for back in reversed(range(_STRIP))]
    most = max((messages.get(day, 0) for day in shown), default=0) or 1
    return [{"day": day, "messages": messages.get(day, 0), "height": round(100 * messages.get(day, 0) / most)} for day in shown]


async def _newest(view: View, last: DayCount) -> DayAnswer:
    start = max(0, last.messages - _NEWEST)
    return await view.ask(days.day, days.DayRequest(day=last.day.isoformat(), start=start, limit=_NEWEST))


async def health(view: View) -> Response:
    """Show what each check finds, and what mends it; with `all` the slow checks run now."""
    findings = await view.ask(upkeep.examine, upkeep.ExamineRequest(slow=bool(view.query("all"))))
    return await view.show(
        "health.html",
        "health",
        findings=sorted(findings, key=lambda finding: _ORDER.index(finding.state)),  # what is wrong comes first
        states={name: sum(finding.state == name for finding in findings) for name in ("good", "odd", "bad")},
        ran_all=bool(view.query("all")),
    )
