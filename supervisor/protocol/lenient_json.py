"""
JSON as programs really write it: read so that nothing in it is lost, written so that every reader takes it.

Of bytes that are cut off or damaged somewhere, `salvage` gives the elements before that place (docs/protocol.md, 5).
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

#: Levels of arrays and objects that a history may have: what can be read a little deeper could, by who stands elsewhere in the
#: program, not be written again.
DEEPEST: Final = 500

_BLANK: Final = re.compile(r"[ \t\r\n]*")


def parse_json(data: bytes) -> Any:
    """
    Return the JSON value in *data*: UTF-8, with or without BOM; ValueError with a reason when there is none.

    Nothing in it is lost, though standard JSON can't say it: NaN, infinities and numbers too large for a float become
    strings of that spelling, and an earlier value of a key that stands twice is kept beside as ``key~1``.
    """
    if not data.strip(b" \t\r\n\0"):
        raise ValueError("it is empty" if not data else "it holds nothing but blanks")
    try:
        return _DECODER.decode(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("its nesting is too deep") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON at line {error.lineno}, column {error.colno}") from None


def is_deeper(value: object, levels: int) -> bool:
    """Tell whether arrays and objects stand in each other in *value* more than so many *levels* deep; however deep it is."""
    layer = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        inner = (one for outer in layer for one in (outer.values() if isinstance(outer, dict) else outer))
        layer = [one for one in inner if isinstance(one, (dict, list))]
        if not layer:
            return False
    return bool(layer)


def recover_prefix(data: bytes) -> list[Any]:
    """Return the elements of a JSON array that stand whole before the place where *data* is damaged; never raises."""
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
    """Return where the next thing stands that is no blank."""
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
    return int(text) if len(text) <= 4000 else text  # Python refuses to read or print longer ones


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=str, parse_float=_float, parse_int=_int)


def render_json(value: object) -> bytes:
    """Return compact, valid JSON in UTF-8 on one line; lone surrogates are escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False).encode()
