"""
Lenient JSON: parsing that loses nothing of what other programs write, and rendering that every parser accepts.

`recover` returns the elements of a damaged array, those before and after each fault, and what it could not read
(docs/reference/protocol.md, 5). `read_record` makes a record of an object that has `record_fields`: each field is checked
against its type, and unknown fields are ignored.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cache
from itertools import repeat
from types import UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..text.foreign_text import encoding_of
from ..text.lazy_re import lazy_re
from .clock import from_wire, to_wire
from .texts import Text, restored, stored

#: The most levels of arrays and objects in a history. Python's limit on nested calls would allow parsing a few more, but
#: rendering them, called from a deeper place of the program, could fail.
DEEPEST: Final = 500

#: Where an object begins. In a string the quote would be escaped.
_OBJECT: Final = lazy_re(r'\{[ \t\r\n]*"')
#: What is before the first element, before another one, and before another one that is an object.
_FIRST: Final = lazy_re(r"[ \t\r\n]*\[[ \t\r\n]*")
_NEXT: Final = lazy_re(r"[ \t\r\n]*,[ \t\r\n]*")
_NEXT_OBJECT: Final = lazy_re(r'[ \t\r\n]*,[ \t\r\n]*(?=\{[ \t\r\n]*")')
#: All that a fault between two elements may leave: signs without words.
_SIGNS: Final = lazy_re(r"[\s\[\]{},:;.，；、。：“”‘’\"'\ufeff]*")
#: What some programs put around the array.
_WRAPPER: Final = lazy_re(r'\s*\{\s*"(?:messages|history|conversation)"\s*:\s*\[\s*')
#: Bytes that are no UTF-8, as "surrogateescape" decodes them.
_BROKEN: Final = lazy_re(r"[\udc80-\udcff]")
#: How often an object that is no message may be read behind a fault: each may take as long as all the rest.
_TRIES: Final = 2_000


def parse_json(data: bytes) -> Any:
    """
    Return the JSON value in *data*: UTF-8, with or without BOM; ValueError with a reason when it is not JSON.

    Values that standard JSON can't express are kept: NaN, infinities and numbers too large for a float become strings as they
    are spelt, and of a key that occurs twice the earlier value is kept as ``key~1``.
    """
    if not data.strip(b" \t\r\n\0"):
        raise ValueError(Text("it is empty") if not data else Text("it contains only blanks"))
    try:
        return _DECODER.decode(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError(Text("its nesting is too deep")) from None
    except UnicodeDecodeError as error:
        raise ValueError(not_utf8(data) or Text("it is not UTF-8 at byte {at}", at=error.start)) from None
    except json.JSONDecodeError as error:
        why = Text("it is not JSON at line {line}, column {column}", line=error.lineno, column=error.colno)
        raise ValueError(not_utf8(data) or why) from None


def not_utf8(data: bytes) -> Text | None:
    """Return in which other encoding the bytes seem to be, with what converts them; None if that is not known."""
    encoding = encoding_of(data)
    if encoding in {"UTF-8", ""}:
        return None
    return Text("it is {encoding}, not UTF-8 (`iconv -f {encoding} -t UTF-8` converts it)", encoding=encoding)


def render_json(value: object) -> bytes:
    """Return compact, valid JSON in UTF-8 on one line; lone surrogates are escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False).encode()


def keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object, as a hook of `json.loads`; ValueError where a key stands twice: written again, one would be lost."""
    if len(fields := dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return fields


def is_deeper(value: object, levels: int) -> bool:
    """Return whether arrays and objects in *value* are nested deeper than *levels*; works for any depth."""
    layer = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        inner = (value for outer in layer for value in (outer.values() if isinstance(outer, dict) else outer))
        layer = [value for value in inner if isinstance(value, (dict, list))]
        if not layer:
            return False
    return bool(layer)


@dataclass(slots=True)
class Recovered:
    """The *elements* of a damaged array that are whole, in their order, and the *unread* pieces between them."""

    elements: list[Any] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def recover(data: bytes) -> Recovered:
    """
    Return the complete elements of a JSON array, before and after each place where *data* is damaged; never raises.

    After the first fault only objects count, and the first one after each fault only if it has a role, since a part of a
    broken message is an object too. What is behind too many of these is unread.
    """
    encoding = encoding_of(data)
    if encoding.startswith("UTF-16"):
        recovered = _recovered(data[: len(data) & -2].decode(encoding, "surrogatepass"))
        if recovered.elements:
            return recovered  # else it has only lost its beginning
    return _recovered(data.decode("utf-8", "surrogateescape"))


def _recovered(text: str) -> Recovered:
    text = text.removeprefix("\ufeff").lstrip(" \t\r\n")
    recovered = Recovered()
    # where what is not read begins, and where the next object is looked for
    at = _take(text, 0, recovered, _FIRST)
    start = at = _take(text, at, recovered, _NEXT) if at else 0
    tries = 0
    while (begin := _OBJECT.search(text, at)) and tries < _TRIES:
        element, end = _value(text, begin.start())
        if isinstance(element, dict) and isinstance(element.get("role"), str):
            _keep_unread(recovered, text[start : begin.start()])
            recovered.elements.append(element)
            start = at = _take(text, end, recovered, _NEXT_OBJECT)
        else:
            tries += 1
            at = begin.start() + 1
    _keep_unread(recovered, text[start:])
    return recovered


def _take(text: str, at: int, recovered: Recovered, before: re.Pattern[str]) -> int:
    """Take the values that follow at *at*, *before* before each, and return where they end."""
    while begin := before.match(text, at):
        element, end = _value(text, begin.end())
        if element is _NOTHING:
            break
        recovered.elements.append(element)
        at = end
    return at


def _value(text: str, at: int) -> tuple[Any, int]:
    """Return the JSON value at *at*, and its end; `_NOTHING` if there is none, or one that is no sound part of a history."""
    try:
        element, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return _NOTHING, at
    return (_NOTHING if is_deeper(element, DEEPEST) or _BROKEN.search(text, at, end) else element), end


def _keep_unread(recovered: Recovered, piece: str) -> None:
    if not _SIGNS.fullmatch(piece) and not _WRAPPER.fullmatch(piece):
        recovered.unread.append(piece)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    fields = {}
    for key, value in pairs:
        if key in fields and fields[key] != value:
            fields[next(f"{key}~{n}" for n in range(1, len(pairs)) if f"{key}~{n}" not in fields)] = fields[key]
        fields[key] = value
    return fields


def _float(text: str) -> float | str:
    number = float(text)
    return number if abs(number) != float("inf") else text


def _int(text: str) -> int | str:
    return int(text) if len(text) <= 4000 else text  # Python refuses to parse or print longer ones


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=str, parse_float=_float, parse_int=_int)
#: Marks that there is no value, since null is one.
_NOTHING: Final = object()


R = TypeVar("R")
_hints: Final = cache(get_type_hints)


def wire_name(field: str) -> str:
    """Return the name of a field in JSON: "createdAt" of `created_at`."""
    return re.sub("_([a-z])", lambda match: match[1].upper(), field)


def record_fields(record: Any, name_of: Callable[[str], str] = str) -> dict[str, Any]:
    """Return what `read_record` reads as this record: times as they are stored, beside a Text what makes it again."""
    values = {name_of(name): value for name, value in asdict(record).items()}
    values |= {name: to_wire(value) for name, value in values.items() if isinstance(value, datetime)}
    return values | {f"{name}Text": stored(value) for name, value in values.items() if isinstance(value, Text)}


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
            value = _read(hints[part.name], raw[name], name)
            values[part.name] = restored(value, raw[f"{name}Text"]) if f"{name}Text" in raw else value
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
