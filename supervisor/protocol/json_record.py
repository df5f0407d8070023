"""A record from an object of JSON: each field is checked against its type, and unknown fields are ignored."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from itertools import repeat
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..storage.clock import from_wire

R = TypeVar("R")


@cache
def _hints(kind: Hashable) -> dict[str, Any]:
    return get_type_hints(kind)


def wire_name(field: str) -> str:
    """Return the name of a field in JSON: "createdAt" of `created_at`."""
    return re.sub("_([a-z])", lambda match: match[1].upper(), field)


def read_record(kind: type[R], raw: object, name_of: Callable[[str], str] = str) -> R:
    """
    Return the record of this *kind* that *raw* is; ValueError, with a clause, where a field is missing or of another type.

    *name_of* returns the name that a field has in the object.
    """
    if not isinstance(raw, dict):
        raise ValueError(f"it is no object with the fields of {kind.__name__}")  # noqa: TRY004 - every fault is one kind
    values, hints = dict[str, Any](), _hints(kind)  # type: ignore[arg-type]
    for part in fields(kind):  # type: ignore[arg-type]
        name = name_of(part.name)
        if name in raw:
            values[part.name] = _read(hints[part.name], raw[name], name)
        elif part.default is MISSING and part.default_factory is MISSING:
            raise ValueError(f"it has no {name}")
    return kind(**values)


def _read(hint: Any, value: Any, name: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):  # with None
        return None if value is None else _read(arguments[0], value, name)
    if origin is tuple and isinstance(value, list) and (arguments[-1] is ... or len(arguments) == len(value)):
        kinds = repeat(arguments[0]) if arguments[-1] is ... else arguments
        return tuple(_read(kind, item, name) for kind, item in zip(kinds, value, strict=False))
    if origin in (dict, Mapping) and isinstance(value, dict):
        return {key: _read(arguments[1], item, name) for key, item in value.items()}
    if is_dataclass(hint):
        return read_record(hint, value)  # type: ignore[arg-type]
    if hint is datetime and isinstance(value, str):
        return from_wire(value)
    is_number = hint is float and type(value) is int
    if hint is Any or type(value) is hint or is_number or (origin is Literal and value in arguments):
        return value
    raise ValueError(f"{name} is {value!r:.80}, which is not of its type")
