"""Handlers of SIGTERM and SIGINT, which end supervisor and worker."""

from __future__ import annotations

import _thread
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def on_signals(stop: Callable[[], None]) -> None:
    """
    Let SIGTERM and SIGINT call *stop* in a thread of its own.

    The interrupted code may hold the lock that setting an event, or starting a `threading.Thread`, needs; calling *stop* in the
    handler itself could therefore deadlock.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: _thread.start_new_thread(stop, ()))
