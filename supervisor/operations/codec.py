"""
The JSON form of arguments and answers, made from their types: camelCase names, times as text, and no field without a value.

An argument is checked by pydantic against its type, and the first fault is one sentence that names it. pydantic comes with the
SDK of MCP; it is loaded for the first request that comes as JSON, never by a command.
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

    from .operation import Operation, Parameter

#: Half an emoji, which UTF-8 can't encode.
_HALF: Final = lazy_re("[\ud800-\udfff]")
#: The texts of the faults that pydantic finds, by pydantic's names.
_FAULTS: Final = {
    "string_type": msgid("it must be text, not {kind}"),
    "int_type": msgid("it must be a whole number, not {kind}"),
    "float_type": msgid("it must be a number, not {kind}"),
    "list_type": msgid("it must be a list of texts, not {kind}"),
    "json_invalid": msgid(
        "a text must not have the character NUL or half an emoji, and values must not be nested so deep; leave it out."
    ),
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


def from_json(operation: Operation[Any], given: object) -> dict[str, Any]:
    """Return the arguments that a program gave as JSON; BadRequest, which names the argument, for one that is wrong."""
    if not isinstance(given, dict):
        raise BadRequest("request", Text("a JSON object is expected"))
    known = json_parameters(operation)
    refuse_unknown(given, known)
    for name, parameter in known.items():
        if parameter.is_required and name not in given:
            raise BadRequest(name, Text("it is missing"))
    return {parameter.name: checked(name, parameter, given[name]) for name, parameter in known.items() if name in given}


def checked(name: str, parameter: Parameter, value: Any) -> Any:
    """Return the value that was given for the argument; BadRequest, which has the *name*, if it is none."""
    from pydantic import ValidationError

    if type(value) is float and value.is_integer():
        value = int(value)
    if value is None and parameter.may_be_none:
        return None
    try:
        # JSON has arrays for sequences; pydantic's strict mode for Python refuses them
        argument = _adapter(parameter.kind).validate_json(json.dumps(value))
    except ValidationError as error:
        raise BadRequest(name, _text_of(error.errors()[0])) from None
    parameter.bounds.refuse(name, argument)
    return argument


def refuse_unknown(given: Iterable[object], names: Collection[str]) -> None:
    """Raise BadRequest for the first of the arguments *given* that is not among *names*."""
    for name in given:
        if name not in names:
            why = Text("there is no such argument; there are {names}", names=[*names])
            raise BadRequest(str(name)[:40], why if names else Text("there is no such argument, and none is taken"))


def _text_of(fault: Mapping[str, Any]) -> Text:
    kind = type(fault["input"]).__name__
    if fault["type"] == "bool_type":
        return Text("it must be {kind}, not {given}", kind=Text(msgid("true or false", "argument")), given=kind)
    return Text(_FAULTS.get(fault["type"], msgid("it is of the wrong type ({kind})")), kind=kind)


def schema(operation: Operation[Any]) -> dict[str, Any]:
    """Return the JSON schema of the arguments of the operation."""
    known = json_parameters(operation)
    required = [name for name, parameter in known.items() if parameter.is_required]
    return {"properties": {name: _shape(parameter) for name, parameter in known.items()}, "required": required}


def _shape(parameter: Parameter) -> dict[str, Any]:
    adapter = _adapter(parameter.kind)
    shape: dict[str, Any] = adapter.json_schema()
    if parameter.may_be_none:
        shape = {"anyOf": [shape, {"type": "null"}]}
    if not parameter.is_required:
        shape["default"] = None if parameter.default is None else adapter.dump_python(parameter.default, mode="json")
    bounds = parameter.bounds
    limits = {"minimum": bounds.least, "maximum": bounds.most, "maxLength": bounds.length, "enum": [*bounds.choices] or None}
    return shape | {name: limit for name, limit in limits.items() if limit is not None}


def json_parameters(operation: Operation[Any]) -> dict[str, Parameter]:
    """Return the arguments that JSON may have, by their names in JSON."""
    from .operation import parameters

    return {camel(name): parameter for name, parameter in parameters(operation).items() if parameter.bounds.in_json}


def camel(name: str) -> str:
    """Return "start_line" as "startLine"."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(kind, config=ConfigDict(strict=True))


def _text(value: str) -> str:
    return _HALF.sub("\ufffd", value)
