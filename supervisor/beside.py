"""A thread beside the supervisor's rounds, which does one thing again and again, and never brings the rounds down."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from supervisor.protocol.errors import Unforeseen

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.workspace import Workspace

#: Seconds until a step that failed in a way nobody foresaw is done again.
_AFTER_A_BUG_S: Final = 60.0


class Beside:
    """
    Does *step* when it is woken, and at the latest after as many seconds as the step before it returned.

    *ws* is this thread's own, and should stop (`ws.should_stop`) as soon as anything else is wanted; an update of the index
    only at the end. What wakes the thread within *gather_s* seconds is dealt with in one step.
    """

    def __init__(self, ws: Workspace, what: str, step: Callable[[], float], gather_s: float = 0.0) -> None:
        self._ws = ws
        self._what = what
        self._step = step
        self._gather_s = gather_s
        self._woken = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=what, daemon=True)
        ws.should_stop, ws.index.should_stop = self._is_wanted, self._ending.is_set

    def start(self) -> None:
        """Begin, with a first step at once."""
        self._woken.set()
        self._thread.start()

    def wake(self) -> None:
        """Have the step done now."""
        self._woken.set()

    def stop(self) -> None:
        """End after what is being done, which looks from time to time whether it is to stop."""
        self._ending.set()
        self._woken.set()

    def join(self, within_s: float) -> None:
        """Wait until it has ended, for so many seconds at most: what hangs then ends with the process."""
        self._thread.join(within_s)

    def _is_wanted(self) -> bool:
        return self._woken.is_set() or self._ending.is_set()

    def _run(self) -> None:
        wait_s = 0.0
        while True:
            self._woken.wait(wait_s)
            self._ending.wait(self._gather_s)
            self._woken.clear()
            if self._ending.is_set():
                return
            wait_s = self._done()

    def _done(self) -> float:
        try:
            wait_s = self._step()
        except Exception as error:  # noqa: BLE001 - the rounds go on whatever happens here; it is told
            why = str(Unforeseen.of(self._what, error))
            self._ws.events.edge("error", why, why=why)
            return _AFTER_A_BUG_S
        self._ws.events.edge("error", "")
        return wait_s
