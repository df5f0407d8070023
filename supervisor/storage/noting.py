"""
What stores change, told to whoever acts: an operation or a round collects it, and writes it into the diary when it ends.

A store does not know who acts, nor whether anybody notes. A thread has a list of its own, and so has an act inside another one.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOTING: Final[ContextVar[list[dict[str, Any]] | None]] = ContextVar("noting", default=None)


@contextmanager
def noting() -> Iterator[list[dict[str, Any]]]:
    """Collect what stores note meanwhile, in this thread."""
    noted: list[dict[str, Any]] = []
    before = _NOTING.set(noted)
    try:
        yield noted
    finally:
        _NOTING.reset(before)


def note(kind: str, **fields: Any) -> None:
    """Note an act on memory; nothing happens where nobody notes."""
    noted = _NOTING.get()
    if noted is not None:
        noted.append({"kind": kind, **fields})
