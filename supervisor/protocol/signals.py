"""How supervisor and worker are told to end: SIGTERM and SIGINT."""

from __future__ import annotations

import _thread
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def on_signals(stop: Callable[[], None]) -> None:
    """
    Have SIGTERM and SIGINT call *stop*, in a thread of its own.

    What a signal interrupts may hold the very lock that setting an event needs, or starting a `threading.Thread`, and would
    then wait for itself for ever.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: _thread.start_new_thread(stop, ()))
