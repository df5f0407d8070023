"""Today: whether the memory is well and what mends it, what came in, what is due, what it cost."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.interfaces.page.views import View, go
from recalld.supervisor.operations import days, upkeep
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from starlette.requests import Request
    from starlette.responses import Response

    from recalld.supervisor.interfaces.http.site import Site
    from recalld.supervisor.operations.days import DayAnswer, DayCount

#: Days in the strip, and the newest messages that are shown.
_STRIP: Final = 21
_NEWEST: Final = 8
_COMMAND: Final = lazy_re(r"`([^`]+)`")


async def today(site: Site, request: Request) -> Response:
    """Show the page."""
    view = await View.of(site, request)
    state = await view.ask(upkeep.status, upkeep.StatusRequest())
    counted = await view.ask(days.days, days.DaysRequest())
    now = site.caller(request).clock()
    last = counted.days[-1].day if counted.days else None
    newest = await _newest(view, counted.days[-1]) if counted.days else None
    return await view.show(
        "today.html",
        "today",
        verdict=[(sentence, mend(sentence)) for sentence in state.sentences],
        is_well=state.is_well,
        facts=state.facts,
        now=now,
        counts={one.day: one for one in counted.days}.get(site.workspace.today(now)),
        strip=strip(counted.days, site.workspace.today(now)),
        last=last,
        newest=newest,
        retries=sorted(state.facts["waitingForRetry"].items()),
        queued=sum(state.facts["queue"].values()),
    )


async def file_now(site: Site, request: Request) -> Response:
    """File what waits, and lead back."""
    view = await View.of(site, request)
    await site.form(request)
    await view.ask(upkeep.archive, upkeep.StateRequest())
    return go("/")


def mend(sentence: str) -> str:
    """Return the command that mends a fault, "" if its sentence names none."""
    found = _COMMAND.search(sentence)
    return found[1] if found else ""


def strip(counted: Sequence[DayCount], today: date) -> list[Mapping[str, Any]]:
    """Return the last three weeks, each day with its messages, and the height of its bar in per cent of the highest."""
    messages = {one.day: one.messages for one in counted[-2 * _STRIP :]}
    shown = [today - timedelta(days=back) for back in reversed(range(_STRIP))]
    most = max((messages.get(day, 0) for day in shown), default=0) or 1
    return [{"day": day, "messages": messages.get(day, 0), "height": round(100 * messages.get(day, 0) / most)} for day in shown]


async def _newest(view: View, last: DayCount) -> DayAnswer:
    """Return the last messages of the newest day, the oldest of them first."""

    async def ask(start: int) -> DayAnswer:
        return await view.ask(days.day, days.DayRequest(day=last.day.isoformat(), start=start, limit=_NEWEST))

    found = await ask(max(0, last.messages - _NEWEST))
    start = max(0, found.total - _NEWEST)
    return found if found.start == start else await ask(start)  # a message that stands in two files was counted twice
