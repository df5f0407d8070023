"""
What the supervisor does beside its rounds, so that recall is ready when the assistant asks (design of recall, "Speed").

One thread brings the index up to date as files change, and asks canaries when there is nothing else to do; one has the context
of what waits in inbox.json ready. They are threads, and not processes, since they share what is costly to have twice, jieba's
dictionary and the stems, which a process would have to load for each changed file; and not parts of a round, since a first
index of 100,000 messages takes half a minute, in which archiving, the socket and the next turn go on (decision 0011).
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from supervisor.beside import Beside
from supervisor.probe import probe
from supervisor.protocol.errors import Busy, SupervisorError, from_os_error
from supervisor.ready import Ready
from supervisor.recall import refresh

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.protocol.clock import Clock
    from supervisor.workspace import Workspace

#: Seconds between two checks of canaries; for what changes together, since a run writes a file a day.
_CHECK_S: Final = 60.0
_GATHER_S: Final = 0.05
#: How long another program's update is waited for.
_LOCK_WAIT: Final = timedelta(seconds=2)
#: Seconds until a failed update is tried again: the first, and the longest after doubling.
_AGAIN_S: Final = (0.5, 60.0)


class Keeper:
    """The two threads, each with a workspace of its own: *fresh* for the index, *ready* for the next turn."""

    def __init__(self, fresh: Workspace, ready: Workspace, clock: Clock) -> None:
        self._inbox = ready.layout.inbox.name
        self._fresh = Beside(fresh, "index", Freshness(fresh, clock).step, _GATHER_S)
        self._ready = Beside(ready, "ready context", _context_step(ready, clock))

    def hint(self, name: str) -> None:
        """Somebody says that a file of this *name* has changed."""
        if name == self._inbox:
            self._ready.wake()
        if name.endswith(".md"):
            self._fresh.wake()

    def memory_changed(self) -> None:
        """The files of memory are others than they were."""
        self._fresh.wake()

    def __enter__(self) -> None:
        """Begin; the inbox and the index are looked at at once."""
        self._ready.start()
        self._fresh.start()

    def __exit__(self, *_: object) -> None:
        """End after what is being done."""
        self._ready.end()
        self._fresh.end()


def _context_step(ws: Workspace, clock: Clock) -> Callable[[Beside], float]:
    ready = Ready(ws, clock)

    def step(_: Beside) -> float:
        ready.look()
        return ws.config.care.poll.total_seconds()

    return step


class Freshness:
    """The index, brought up to date; what fails is told once and tried again, ever later."""

    def __init__(self, ws: Workspace, clock: Clock) -> None:
        self._ws = ws
        self._clock = clock
        self._again_s = _AGAIN_S[0]
        self._checked = float("-inf")

    def step(self, thread: Beside) -> float:
        """Bring the index up to date and, when nothing else is wanted, ask some canaries; seconds until the next step."""
        why = self._fault_of(self._update)
        if self._ws.should_stop():
            return 0.0
        self._ws.events.edge("index_stale", bool(why), over="index_fresh", why=why)
        if why:
            wait_s, self._again_s = self._again_s, min(2 * self._again_s, _AGAIN_S[1])
            return wait_s
        self._again_s = _AGAIN_S[0]
        left_s = self._checked + _CHECK_S - time.monotonic()
        if left_s > 0 or thread.is_wanted():
            return max(left_s, 0.0)
        why = self._fault_of(lambda: probe(self._ws, self._clock(), thread.is_wanted))
        self._ws.events.edge("degraded", bool(why), over="recovered", why=why)
        self._checked = time.monotonic()
        return _CHECK_S

    def _update(self) -> None:
        if refresh(self._ws, _LOCK_WAIT.total_seconds()).shared:
            raise Busy(self._ws.layout.state / "index.lock", _LOCK_WAIT)

    def _fault_of(self, step: Callable[[], object]) -> str:
        """Return what went wrong in the step, "" when nothing did."""
        try:
            step()
        except SupervisorError as error:
            return str(error)
        except OSError as error:
            return str(from_os_error(error, error.filename or self._ws.layout.state))
        return ""
