"""
What stores change, told to whoever acts: an operation or a round collects it, and writes it into the diary when it ends.

A store does not know who acts, nor whether anybody notes. A thread has a list of its own, and so has an act inside another one.
Who acts is named where a request comes in (`acting`): by which kind of interface, and by which client.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from ..text.printable import printable_line

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
