"""`recalld run --until-settled`: round after round until nothing is due, with a worker for what was submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from supervisor.alone import alone
from supervisor.round import Round, run_round

if TYPE_CHECKING:
    from datetime import datetime
    from threading import Event

    from supervisor.workers import Workers
    from supervisor.workspace import Workspace

#: How often to look for results, in seconds, and how many times a worker may die.
_LOOK_S: Final = 0.03
_DEATHS: Final = 3


def until_settled(ws: Workspace, now: datetime, workers: Workers | None, stop: Event) -> Round:
    """
    Do all that is due at *now*: archive every un-written message, summarise, roll up; return the counts.

    Groups that wait for a retry are counted by others, not awaited. Ends early once *stop* is set; AlreadyRuns when another
    supervisor runs.
    """
    ws.should_stop = stop.is_set
    total = Round()
    with alone(ws):
        while not stop.is_set():
            done = run_round(ws, now, "all")
            total.add(done)
            if done.did:
                continue
            flying = ws.spool.in_flight()
            if not flying or "harvest" in done.errors or workers is None or workers.failures >= _DEATHS:
                total.unfinished = len(flying)
                break
            ws.progress("summaries", total.summaries, total.summaries + len(flying))
            _await_result(ws, workers, stop)
        if workers:
            workers.stop()
    return total


def _await_result(ws: Workspace, workers: Workers, stop: Event) -> None:
    """Keep a worker going until a result is there."""
    while not stop.is_set() and not ws.spool.finished():
        workers.start_if_needed()
        workers.watch_leases()
        if workers.failures >= _DEATHS or not ws.spool.in_flight():
            return
        stop.wait(_LOOK_S)
