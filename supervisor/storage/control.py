"""
How a caller limits and follows one call (`Control`), how it goes on after an item that failed, and what it changed.

A store notes what it changes (`note`), and knows neither who acts nor whether anybody listens: an operation or a round collects
it (`noting`), and writes it into the diary when it ends. A thread has a list of its own, and so has an act inside another one.
Who acts is named where a request comes in (`acting`): by which kind of interface, and by which client.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from ..text.foreign_text import printable_line
from .clock import NEVER, Deadline
from .errors import BadConfig, NewerFormat

#: Seconds of work that goes on until it is done.
UNENDING: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Control:
    """
    How a caller limits one call, and follows it.

    Long work asks `should_stop` between two steps and ends early if it returns True; what is done by then is kept. It calls
    `progress` with (what, done, total). At the `deadline` it ends with what it has so far.
    """

    should_stop: Callable[[], bool] = lambda: False
    progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None
    deadline: Deadline = NEVER


#: A call that goes on until it is done.
UNLIMITED: Final = Control()
#: A step of a job, which its control tells to stop when the job has to end; it returns the seconds until it is due again.
Step: TypeAlias = "Callable[[Control], float]"


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


T = TypeVar("T")
_NOTING: Final[ContextVar[list[dict[str, Any]] | None]] = ContextVar("noting", default=None)
#: The interface that acts, and its client, "" for what is not known.
_ACTING: Final[ContextVar[tuple[str, str]]] = ContextVar("acting", default=("", ""))
#: Where the ids of acts that were written down go; None: nobody asks.
_KEPT: Final[ContextVar[list[str] | None]] = ContextVar("kept", default=None)
#: Letters of the name of a client that are kept: it is whatever the client says.
_MOST_NAME: Final = 40


def noting() -> AbstractContextManager[list[dict[str, Any]]]:
    """Collect what stores note meanwhile, in this thread."""
    return _meanwhile(_NOTING, list[dict[str, Any]]())


def note(kind: str, **fields: Any) -> None:
    """Note an act on memory; nothing happens where nobody notes."""
    noted = _NOTING.get()
    if noted is not None:
        noted.append({"kind": kind, **fields})


def acting(interface: str, client: str = "") -> AbstractContextManager[object]:
    """Say who acts meanwhile, in this thread; without a *client*, the one that was said outside."""
    name = " ".join(printable_line(client).split())[:_MOST_NAME] or _ACTING.get()[1]
    return _meanwhile(_ACTING, (interface, name))


def author(interface: str, operation: str) -> str:
    """Return who acts, as the diary keeps it: the interface (*interface* where nobody said one), the operation, the client."""
    named, client = _ACTING.get()
    return " ".join(filter(None, (named or interface, operation, client)))


def kept_ids() -> AbstractContextManager[list[str]]:
    """Collect the ids of the acts that are written down meanwhile, in this thread: what `undo` takes."""
    return _meanwhile(_KEPT, list[str]())


def tell_kept(ids: Iterable[str]) -> None:
    """Say the ids of acts that were written down to whoever asks."""
    kept = _KEPT.get()
    if kept is not None:
        kept.extend(ids)


@contextmanager
def _meanwhile(variable: ContextVar[Any], value: T) -> Iterator[T]:
    before = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(before)
