"""What a section of recalld.toml is: an immutable value with its keys."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, fields
from typing import TypeVar, dataclass_transform

S = TypeVar("S", bound="Section")


class Section:
    """
    A section: immutable, equal to another with the same values, and shown with them.

    Its dataclass makes no such methods, nor `__init__`: to compile them for each section would more than double the time that
    each command needs for this module.
    """

    __slots__ = ()

    def __init__(self, **values: object) -> None:
        for key in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, key.name, values.pop(key.name, key.default))
        if values:
            raise TypeError(f"{type(self).__name__} has no {', '.join(values)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(tuple(self._values().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._values().items())})"

    def _values(self) -> dict[str, object]:
        return {key.name: getattr(self, key.name) for key in fields(self)}  # type: ignore[arg-type]


@dataclass_transform(frozen_default=True)
def section(cls: type[S]) -> type[S]:
    """Return the class as a dataclass of keys; its methods are those of `Section`."""
    return dataclass(init=False, slots=True, repr=False, eq=False)(cls)
