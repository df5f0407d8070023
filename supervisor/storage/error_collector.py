"""Many items, each of which may fail without the others."""

from __future__ import annotations

from .errors import BadConfig, NewerFormat


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
