"""`Control`: how a caller limits and follows one call. It is passed with the call; no store keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..text.record import record
from .clock import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clock import Deadline


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


#: Seconds of work that goes on until it is done.
UNENDING: Final = float("inf")
#: A call that goes on until it is done.
UNLIMITED: Final = Control()
