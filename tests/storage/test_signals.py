"""Signals that end a process, at any moment."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from recalld.supervisor.storage.signals import on_signals
from tests.patience import PATIENCE_S
from tests.world import signals_as_they_were


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_on_signals_sets_the_event_without_deadlock_while_it_is_locked(number: int) -> None:
    told = threading.Event()
    with signals_as_they_were():
        on_signals(told.set)
        with told._cond:  # as inside of wait(), where a signal may come as well
            os.kill(os.getpid(), number)
            for _ in range(1_000):
                pass  # the handler runs between two steps of this very thread
        assert told.wait(PATIENCE_S)
