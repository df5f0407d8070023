"""
Records: immutable values, as `@dataclass(frozen=True, slots=True)` makes them.

mypy, and nothing at run time, refuses to change a record: so one is made in a quarter of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[Any] | None = None, /, *, kw_only: bool = False) -> Any:
    """
    Make the class a dataclass with slots; two of its objects with the same values are equal. *kw_only*: its fields have names.

    >>> @record
    ... class Place:
    ...     path: str
    ...     line: int = 1
    >>> Place("memory.md"), Place("memory.md") == Place("memory.md", 1)
    (Place(path='memory.md', line=1), True)
    """
    decorate = dataclass(slots=True, unsafe_hash=True, kw_only=kw_only)
    return decorate(cls) if cls else decorate
