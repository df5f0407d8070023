"""Health: every check with its remedy, the queue, failures with their next try, events, and growth by weeks."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from recalld.supervisor.interfaces.cli.output import field_name
from recalld.supervisor.interfaces.page.views import View
from recalld.supervisor.interfaces.page.wording import moment_text
from recalld.supervisor.operations import health as asked
from recalld.supervisor.operations import upkeep
from recalld.supervisor.storage.catalogue import template
from recalld.supervisor.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, tzinfo

    from starlette.requests import Request
    from starlette.responses import Response

    from recalld.supervisor.interfaces.http.site import Site
    from recalld.supervisor.operations.health import EventAnswer, WeekCount
    from recalld.supervisor.text.language import Language

#: Weeks of a plot, and the size of its drawing in its own units.
WEEKS: Final = 26
_STEP, _BAR, _HEIGHT = 10, 7, 100
_FIELD_CHARS: Final = 160
_ORDER: Final = ("bad", "odd", "good")
_LEVELS: Final = ("all", "warning", "error")


class Bar(NamedTuple):
    """A week in a plot: its number, and its bar."""

    week: date
    value: int
    x: int
    y: int
    height: int


class Plot(NamedTuple):
    """The weeks of one number: how many, the *most*, the sum of all or the *last*."""

    name: str
    bars: tuple[Bar, ...]
    most: int
    last: int
    total: int
    width: int
    bar: int


async def health(site: Site, request: Request) -> Response:
    """Show how the memory is; with `all` the slow checks run now."""
    view = await View.of(site, request)
    level = view.query("level") if view.query("level") in _LEVELS else "all"
    findings = await view.ask(asked.examine, asked.ExamineRequest(slow=bool(view.query("all"))))
    state = await view.ask(upkeep.status, upkeep.StatusRequest())
    weeks = await view.ask(asked.weeks, asked.WeeksRequest(weeks=WEEKS))
    events = await view.ask(asked.events, asked.EventsRequest(limit=25, level=level))
    return await view.show(
        "health.html",
        "health",
        findings=sorted(findings, key=lambda one: _ORDER.index(one.state)),  # what is wrong comes first
        states={name: sum(one.state == name for one in findings) for name in ("good", "odd", "bad")},
        ran_all=bool(view.query("all")),
        facts=state.facts,
        retries=sorted(state.facts["waitingForRetry"].items()),
        plots=[plot(name, weeks) for name in ("messages", "summaries", "calls", "bytes")],
        weeks=weeks,
        events=events,
        level=level,
        levels=_LEVELS,
        field=_field,
        field_name=field_name,
        when=partial(_when, zone=site.workspace.zone, language=view.language),
        meaning=partial(_meaning, language=view.language),
    )


def _field(value: object) -> str:
    """Return the value of a field of an event, cut to a line."""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return printable(text)[:_FIELD_CHARS]


def _when(at: str, zone: tzinfo, language: Language) -> str:
    """Return the time of an event; as it is where somebody wrote what is no time."""
    try:
        return moment_text(at, zone, language)
    except ValueError:
        return printable(at)[:40]


def _meaning(event: EventAnswer, language: Language) -> str:
    """Return what an event means, in English where the catalogue lacks it; "" for one of another version."""
    if language == "zh" and event.means:
        with suppress(KeyError):
            return template(f"event.{event.event}", language)
    return event.means


def plot(name: str, weeks: Sequence[WeekCount]) -> Plot:
    """Return the bars of one number; the highest is as high as the drawing, and a week that has any is seen."""
    values: list[Any] = [getattr(week, name) for week in weeks]
    most = max(values, default=0)
    bars = []
    for number, (week, value) in enumerate(zip(weeks, values, strict=True)):
        height = max(2, round(_HEIGHT * value / most)) if value else 0
        bars.append(Bar(week.week, value, number * _STEP, _HEIGHT - height, height))
    last = values[-1] if values else 0
    return Plot(name, tuple(bars), most, last, sum(values), len(values) * _STEP, _BAR)
