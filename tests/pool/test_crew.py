"""A worker process of a pool ends by a signal."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from recalld.supervisor.pool import scripts
from recalld.supervisor.pool.cargo import Seal
from recalld.supervisor.protocol.config_keys import Crew as Keys
from recalld.supervisor.storage.clock import utc_now
from recalld.worker.crew import Crew
from tests.patience import PATIENCE_S
from tests.world import signals_as_they_were

if TYPE_CHECKING:
    from collections.abc import Iterator


class Ringing:
    """A broker without a task: the thread that looks for one gets the signal, and the main thread is not woken."""

    def __init__(self, number: signal.Signals) -> None:
        self.crew: Crew
        self.is_heard = False
        self._number = number
        self._looks = 0

    def unfit(self) -> Iterator[str]:
        return iter(())

    def run(self, script: str, *_: object) -> None:
        self._looks += script == scripts.BEGIN
        if self._looks == 2:  # the main thread sleeps by now
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [self._number])
            os.kill(os.getpid(), self._number)
            self.is_heard = self.crew.stop.wait(PATIENCE_S)
            self.crew.stop.set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_crew_ends_by_a_signal_that_comes_while_it_sleeps(number: signal.Signals) -> None:
    broker: Any = Ringing(number)
    keys = Keys(threads=1, grace=timedelta(seconds=PATIENCE_S))
    broker.crew = Crew(broker, keys, {}, Seal([bytes(32)]), {}, utc_now, print)
    with signals_as_they_were():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])  # threads that are started have it, too
        try:
            broker.crew.run()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert broker.is_heard
