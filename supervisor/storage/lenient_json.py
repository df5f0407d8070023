"""
Lenient JSON: parsing that loses nothing of what other programs write, and rendering that every parser accepts.

`recover_prefix` returns the elements before the damage in a truncated or damaged array (docs/reference/protocol.md, 5).
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from recalld.supervisor.storage.catalogue import Text

#: The most levels of arrays and objects in a history. Python's limit on nested calls would allow parsing a few more, but
#: rendering them, called from a deeper place of the program, could fail.
DEEPEST: Final = 500

_BLANK: Final = re.compile(r"[ \t\r\n]*")


def parse_json(data: bytes) -> Any:
    """
    Return the JSON value in *data*: UTF-8, with or without BOM; ValueError with a reason when it is not JSON.

    Values that standard JSON can't express are kept: NaN, infinities and numbers too large for a float become strings as they
    are spelt, and of a key that occurs twice the earlier value is kept as ``key~1``.
    """
    if not data.strip(b" \t\r\n\0"):
        raise ValueError(Text("file.empty") if not data else Text("file.blank"))
    try:
        return _DECODER.decode(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError(Text("file.nested")) from None
    except UnicodeDecodeError as error:
        raise ValueError(Text("file.not_utf8_at", at=error.start)) from None
    except json.JSONDecodeError as error:
        raise ValueError(Text("file.not_json_in_line", line=error.lineno, column=error.colno)) from None


def render_json(value: object) -> bytes:
    """Return compact, valid JSON in UTF-8 on one line; lone surrogates are escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False).encode()


def is_deeper(value: object, levels: int) -> bool:
    """Tell whether arrays and objects in *value* are nested deeper than *levels*; works for any depth."""
    layer = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        inner = (one for outer in layer for one in (outer.values() if isinstance(outer, dict) else outer))
        layer = [one for one in inner if isinstance(one, (dict, list))]
        if not layer:
            return False
    return bool(layer)


def recover_prefix(data: bytes) -> list[Any]:
    """Return the complete elements of a JSON array before the place where *data* is damaged; never raises."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = data[: error.start].decode("utf-8-sig")
    found: list[Any] = []
    at = _next(text, 0)
    while text[at : at + 1] in ((",",) if found else ("[",)):
        try:
            element, at = _DECODER.raw_decode(text, _next(text, at + 1))
        except (ValueError, RecursionError):
            break
        if is_deeper(element, DEEPEST):
            break
        found.append(element)
        at = _next(text, at)
    return found


def _next(text: str, at: int) -> int:
    """Return the position of the next character that is not a blank."""
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    found = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            found[next(f"{key}~{n}" for n in range(1, len(pairs)) if f"{key}~{n}" not in found)] = found[key]
        found[key] = value
    return found


def _float(text: str) -> float | str:
    number = float(text)
    return number if abs(number) != float("inf") else text


def _int(text: str) -> int | str:
    return int(text) if len(text) <= 4000 else text  # Python refuses to parse or print longer ones


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=str, parse_float=_float, parse_int=_int)
