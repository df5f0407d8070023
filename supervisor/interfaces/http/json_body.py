"""A body of JSON as a typed object: what is wrong with it is one sentence that names the field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from recalld.supervisor.interfaces.http.problem import Refused
from recalld.supervisor.interfaces.http.site import UNWRITABLE
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest

if TYPE_CHECKING:
    from starlette.requests import Request


def json_object(request: Request, body: bytes) -> dict[str, Any]:
    """
    Return the object in the body, {} for none; Refused (415) for another kind of body.

    BadRequest if it is no JSON object, has a key twice, a number that JSON does not have, or a text that can't be stored.
    """
    if not body:
        return {}
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, Text("http.no_json_body"))
    try:
        found = json.loads(body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadRequest("body", Text("http.no_json")) from None
    if not isinstance(found, dict):
        raise BadRequest("body", Text("argument.no_json_object"))
    for name, value in found.items():
        if UNWRITABLE.search(name) or _is_unwritable(value):
            raise BadRequest(name[:40].encode("utf-8", "replace").decode(), Text("http.unwritable"))
    return {name: _whole(value) for name, value in found.items()}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise BadRequest(name[:40].encode("utf-8", "replace").decode(), Text("http.field_twice"))
        found[name] = value
    return found


def _whole(value: Any) -> Any:
    """Return 10.0 as 10: JSON has one kind of number. What is within a list or an object is left as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _no_number(_: str) -> float:
    raise ValueError


def _is_unwritable(value: Any) -> bool:
    if isinstance(value, str):
        return bool(UNWRITABLE.search(value))
    if isinstance(value, dict):
        return any(_is_unwritable(one) for pair in value.items() for one in pair)
    return isinstance(value, list) and any(map(_is_unwritable, value))
