"""When time alone makes a step of a round due, so that no round is done just to find out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from ..archive.intake import unwritten
from ..archive.run import is_overflowing, next_run
from ..protocol.period import quiet_until
from ..storage.clock import local
from ..summaries.llm_state import provider_state

if TYPE_CHECKING:
    from ..workspace import Workspace

#: The wait after a step that failed, and while a step is still due at the end of a round.
AGAIN: Final = timedelta(seconds=30)
#: The longest time between two rounds: a change that nothing announced is found by then.
LONGEST: Final = timedelta(hours=6)


def next_due(ws: Workspace, now: datetime) -> datetime:
    """Return when a step of a round will be due, seen from the end of a round at *now*; nothing changes until then."""
    return min(moment if moment > now else now + AGAIN for moment in _moments(ws, now))


def next_retry(ws: Workspace, now: datetime) -> datetime | None:
    """Return when the first of the waits after failures ends; None if there is none."""
    provider = provider_state(ws.task_queue).next_at
    waits = [failure.next_at for failure in ws.failures().values()] + ([provider] if provider else [])
    return min((wait for wait in waits if wait > now), default=None)


def midnight(ws: Workspace, now: datetime) -> datetime:
    """Return when the next local day begins."""
    return local(datetime.combine(ws.today(now) + timedelta(days=1), time(), ws.zone), ws.zone)


def _moments(ws: Workspace, now: datetime) -> Iterator[datetime]:
    yield now + LONGEST
    yield midnight(ws, now)
    if quiet_end := quiet_until(ws.config.care.quiet_hours, now, ws.zone):
        yield quiet_end
    if retry := next_retry(ws, now):
        yield retry
    history = ws.history.read()
    waiting = unwritten(history, ws.journal)
    overflowing = is_overflowing(history, ws.journal, ws.caps)
    if run := next_run(waiting, ws.memory.dated(), ws.config.archive, now, overflowing=overflowing):
        yield run
