"""Signals that end a process, at any moment."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from recalld.supervisor.storage.signals import on_signals

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.timeout(30)
@pytest.mark.usefixtures("_handlers")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_on_signals_sets_the_event_without_deadlock_while_it_is_locked(number: int) -> None:
    told = threading.Event()
    on_signals(told.set)
    with told._cond:  # as inside of wait(), where a signal may come as well
        os.kill(os.getpid(), number)
        for _ in range(1_000):
            pass  # the handler runs between two steps of this very thread
    assert told.wait(20)
