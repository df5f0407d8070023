"""The JSON schema of what an operation answers, from the type that its function is annotated with, as `to_json` writes it."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from functools import cache
from importlib import import_module
from pathlib import PurePath
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

#: The schemas of what JSON has itself, and of what is written as text.
_PLAIN: Final[Mapping[Any, dict[str, Any]]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    types.NoneType: {"type": "null"},
}
#: Types in one another, at most: what is deeper is anything.
_MOST_DEEP: Final = 6


def answer_schema(run: Callable[..., Any]) -> dict[str, Any]:
    """Return the schema of what the function returns; that of anything, {}, where its type says no more."""
    return _schema(_hints(run).get("return", Any), _MOST_DEEP)


def _schema(kind: Any, deep: int) -> dict[str, Any]:
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _any_of([_schema(one, deep) for one in inner])
    if origin is Literal:
        return {"enum": list(inner)}
    if not deep or (origin is None and not inspect.isclass(kind)):
        return {}
    plain = origin or kind
    if issubclass(plain, (str, PurePath, date)):
        return {"type": "string", **({"format": "date"} if plain is date else {})}
    if issubclass(plain, Mapping):
        return {"type": "object"}
    if issubclass(plain, tuple) or (issubclass(plain, (Sequence, Collection)) and not issubclass(plain, bytes)):
        of = inner[0] if inner and (len(inner) == 1 or inner[1] is ...) else Any
        return {"type": "array", "items": _schema(of, deep - 1)}
    if dataclasses.is_dataclass(plain) and not hasattr(plain, "json_fields"):
        return _object(plain, deep)
    return {}


def _object(kind: Any, deep: int) -> dict[str, Any]:
    """Return the schema of a dataclass; a field that may be None is left out by `to_json`."""
    from recalld.supervisor.operations.codec import camel

    hints = _hints(kind)
    shapes = {camel(one.name): _schema(hints.get(one.name, Any), deep - 1) for one in dataclasses.fields(kind)}
    needed = [name for name, shape in shapes.items() if shape and shape.get("type") != "null" and "anyOf" not in shape]
    return {"type": "object", "properties": shapes, **({"required": needed} if needed else {})}


def _any_of(shapes: list[dict[str, Any]]) -> dict[str, Any]:
    return {"anyOf": shapes} if all(shapes) else {}


@cache
def _hints(of: Any) -> dict[str, Any]:
    """Return the types that a class or a function is annotated with; its module imports some of them for types alone."""
    module = sys.modules[of.__module__]
    names = {**vars(module), **_imported_for_types(module), "datetime": datetime}
    try:
        return get_type_hints(of, names)
    except (NameError, TypeError, AttributeError):
        return {}


@cache
def _imported_for_types(module: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for block in ast.parse(inspect.getsource(module)).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for node in block.body:
                if isinstance(node, ast.ImportFrom) and node.module:
                    found |= {one.name: getattr(import_module(node.module), one.name, Any) for one in node.names}
    return found
