"""How a caller limits and follows one call (`Control`), and how a call goes on after an item of many that failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..text.record import record
from .clock import NEVER, Deadline
from .errors import BadConfig, NewerFormat

#: Seconds of work that goes on until it is done.
UNENDING: Final = float("inf")


def _no() -> bool:
    return False


def _ignore(_what: str, _done: int, _total: int) -> None:
    pass


@record
class Control:
    """
    How a caller limits one call, and follows it.

    Long work asks `should_stop` between two steps and ends early if it returns True; what is done by then is kept. It calls
    `progress` with (what, done, total). At the `deadline` it ends with what it has so far.
    """

    should_stop: Callable[[], bool] = _no
    progress: Callable[[str, int, int], None] = _ignore
    deadline: Deadline = NEVER


#: A call that goes on until it is done.
UNLIMITED: Final = Control()


class ErrorCollector:
    """Lets each of many items fail alone: ``with each: …`` keeps an error, `raise_first` raises the first one kept."""

    def __init__(self) -> None:
        self._first: Exception | None = None

    def __enter__(self) -> None:
        """Begin the next item."""

    def __exit__(self, _kind: object, fault: BaseException | None, _trace: object) -> bool:
        """Keep the error of this item; a newer format and a wrong configuration are raised, since they concern all items."""
        if isinstance(fault, (NewerFormat, BadConfig)) or not isinstance(fault, Exception):
            return False
        self._first = self._first or fault
        return True

    def raise_first(self) -> None:
        """Raise the first error that was kept, if there is one."""
        if self._first:
            raise self._first
