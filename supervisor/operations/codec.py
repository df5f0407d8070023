"""
The JSON form of requests and answers, made from their types: camelCase names, times as text, and no field without a value.

A request is checked by pydantic against its type, and the first fault is one sentence that names the argument. pydantic comes
with the SDK of MCP; it is loaded for the first request that comes as JSON, never by a command.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ..storage.clock import to_wire
from ..storage.errors import BadRequest
from ..storage.texts import Text, msgid
from ..text.lazy_re import lazy_re

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from .operation import Operation

#: Half an emoji, which UTF-8 can't encode.
_HALF: Final = lazy_re("[\ud800-\udfff]")
#: The most characters of a wrong value in a sentence.
_MOST_SHOWN: Final = 40
#: The texts of the faults that pydantic finds, by pydantic's names.
_FAULTS: Final = {
    "string_type": msgid("it must be text, not {kind}"),
    "int_type": msgid("it must be a whole number, not {kind}"),
    "float_type": msgid("it must be a number, not {kind}"),
}


def to_json(answer: Any) -> Any:
    """
    Return an answer as JSON; half an emoji, which UTF-8 can't encode, becomes U+FFFD.

    A type with fields for Python alone has `json_fields`, which returns those for JSON.

    >>> from recalld.supervisor.recall.lines import Lines
    >>> to_json(Lines("memory.md", 1, 1, 9, "花生"))
    {'path': 'memory.md', 'start': 1, 'end': 1, 'total': 9, 'text': '花生'}
    """
    if json_fields := getattr(answer, "json_fields", None):
        return to_json(json_fields())
    if is_dataclass(answer) and not isinstance(answer, type):
        values = ((field.name, getattr(answer, field.name)) for field in fields(answer))
        return {camel(name): to_json(value) for name, value in values if value is not None}
    if isinstance(answer, dict):
        return {_text(str(key)): to_json(value) for key, value in answer.items()}
    if isinstance(answer, (list, tuple, set, frozenset)):
        return [to_json(item) for item in answer]
    if isinstance(answer, datetime):
        return to_wire(answer)
    if isinstance(answer, date):
        return answer.isoformat()
    if isinstance(answer, (bool, int, float)) or answer is None:
        return answer
    return _text(str(answer))


def from_json(operation: Operation[Any, Any], given: object) -> Any:
    """Return the request that a program gave as JSON; BadRequest, which names the argument, if it does not fit the type."""
    from pydantic import ValidationError

    if not isinstance(given, dict):
        raise BadRequest("request", Text("they are no JSON object"))
    names = _names(operation.request)
    refuse_unknown(given, names)
    given = {key: int(value) if type(value) is float and value.is_integer() else value for key, value in given.items()}
    try:
        # JSON has objects for requests and arrays for sequences; pydantic's strict mode for Python refuses both
        kind: Any = operation.request
        return _adapter(kind).validate_json(json.dumps({names[key]: value for key, value in given.items()}))
    except ValidationError as error:
        fault = error.errors()[0]
        raise BadRequest(camel(str(fault["loc"][0])), _text_of(fault)) from None


def refuse_unknown(given: Iterable[object], names: Collection[str]) -> None:
    """Raise BadRequest for the first of the arguments *given* that is not among *names*."""
    for name in given:
        if name not in names:
            raise BadRequest(
                str(name)[:40], Text("there is no such argument; there are {names}", names=", ".join(names) or "-")
            )


def _text_of(fault: Mapping[str, Any]) -> Text:
    if fault["type"] == "missing":
        return Text("it is missing")
    kind = type(fault["input"]).__name__
    if fault["type"] == "literal_error":
        allowed = Text("one of {names}", names=fault["ctx"]["expected"].replace(" or ", ", "))
        return Text("{value} is not allowed, give {allowed}", value=repr(fault["input"])[:_MOST_SHOWN], allowed=allowed)
    if fault["type"] == "bool_type":
        return Text("it must be {kind}, not {given}", kind=Text(msgid("true or false", "argument")), given=kind)
    return (
        Text(_FAULTS[fault["type"]], kind=kind)
        if fault["type"] in _FAULTS
        else Text("it is of the wrong type ({kind})", kind=kind)
    )


def schema(kind: type) -> dict[str, Any]:
    """Return the JSON schema of a request's type."""
    shape: dict[str, Any] = _adapter(kind).json_schema()
    properties, required = shape.get("properties", {}), shape.get("required", ())
    names = _names(kind)
    shape["properties"] = {name: properties[shape_of] for name, shape_of in names.items()}
    for field in fields(kind):
        if bounds := field.metadata.get("schema"):
            shape["properties"][camel(field.name)] |= bounds
    shape["required"] = [name for name, shape_of in names.items() if shape_of in required]
    return shape


def _names(kind: Any) -> dict[str, str]:
    """Return the names of the fields that JSON may have, by their names in JSON; a field for Python objects is left out."""
    return {camel(field.name): field.name for field in fields(kind) if field.metadata.get("json", True)}


def camel(name: str) -> str:
    """Return "start_line" as "startLine"."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter

    kind.__pydantic_config__ = ConfigDict(strict=True)  # pydantic reads the configuration of a plain dataclass there
    return TypeAdapter(kind)


def _text(value: str) -> str:
    return _HALF.sub("\ufffd", value)
