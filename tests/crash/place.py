"""Paths of the model disk: a child is made once, since millions of trials ask for the same few hundred."""

from __future__ import annotations

from os import PathLike
from pathlib import PosixPath
from typing import Self

#: Children that one folder remembers; names that depend on contents would grow without end.
_MOST = 500


class Place(PosixPath):
    """A path that keeps the children which were asked of it."""

    __slots__ = ("_children",)
    _children: dict[str, Self]

    def __truediv__(self, other: str | PathLike[str]) -> Self:
        """Return the child, the same object each time."""
        if not isinstance(other, str):
            return super().__truediv__(other)
        try:
            children = self._children
        except AttributeError:
            children = self._children = {}
        if other not in children:
            if len(children) >= _MOST:
                children.clear()
            children[other] = super().__truediv__(other)
        return children[other]
