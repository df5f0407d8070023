"""
What a request has, parameters, a body of JSON or a form, and the answer where there is none.

What is wrong with a request is one sentence that names the field, as `application/problem+json` (RFC 9457).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.responses import Response

from ...operations.codec import refuse_unknown, to_json
from ...storage.errors import BadRequest, InternalError, as_supervisor_error
from ...storage.texts import Text, render
from ...text.language import Language
from ...text.lazy_re import lazy_re
from ...text.record import record

if TYPE_CHECKING:
    from starlette.requests import Request

#: The type of a body for programs.
JSON: Final = "application/json"
#: The most fields of a form.
_MOST_FIELDS: Final = 100
#: What no text of a person has: NUL, and half an emoji, which UTF-8 can't encode.
_UNWRITABLE: Final = lazy_re("[\0\ud800-\udfff]")


def media_type(request: Request) -> str:
    """Return the type of the body, "" where the request names none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def query(request: Request, *names: str) -> dict[str, str]:
    """Return the parameters of the address; BadRequest for one that is not among *names*, or is there twice."""
    values: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        refuse_unknown([name], names)
        if name in values:
            raise BadRequest(name, Text("this field is there twice; give it once."))
        values[name] = value
    return values


def body_of(request: Request, body: bytes, *names: str) -> dict[str, Any]:
    """Return the object in the body; BadRequest for a field that is not among *names*."""
    value = json_object(request, body)
    refuse_unknown(value, names)
    return value


def whole_number(name: str, value: str, most: int) -> int:
    """Return the number that a parameter has; BadRequest if it is none from 1 to *most*."""
    number = int(value) if value.isascii() and value.isdigit() and len(value) < len(str(most)) + 1 else 0
    if not 1 <= number <= most:
        allowed = Text("a whole number from {least} to {most}", least=1, most=most)
        raise BadRequest(name, Text("{value} is not allowed, give {allowed}", value=repr(value[:40]), allowed=allowed))
    return number


def form_fields(body: bytes) -> dict[str, str]:
    """
    Return the fields of an urlencoded body; BadRequest, which names the field, if one is there twice or can't be stored.

    >>> form_fields(b"content=%E8%8A%B1%E7%94%9F&count=3")
    {'content': '花生', 'count': '3'}
    """
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise BadRequest("form", Text("this is no form.")) from None
    fields: dict[str, str] = {}
    for name, value in pairs:
        if name in fields:
            raise BadRequest(name[:40], Text("this field is there twice; give it once."))
        if _UNWRITABLE.search(value):
            raise BadRequest(name[:40], Text("a text must not have the character NUL or half an emoji; leave it out."))
        fields[name] = value
    return fields


def json_object(request: Request, body: bytes) -> dict[str, Any]:
    """
    Return the object in the body, {} for none; HTTPException (415) for another kind of body.

    BadRequest if it is no JSON object, has a key twice, a number that JSON does not have, or a text that can't be stored.
    """
    if not body:
        return {}
    if media_type(request) != JSON:
        raise HTTPException(415, Text("the body must have the type application/json."))
    try:
        parsed = json.loads(body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadRequest("body", Text("this is no JSON.")) from None
    if not isinstance(parsed, dict):
        raise BadRequest("body", Text("they are no JSON object"))
    for name, value in parsed.items():
        if _UNWRITABLE.search(name) or _is_unwritable(value):
            raise BadRequest(
                name[:40].encode("utf-8", "replace").decode(),
                Text("a text must not have the character NUL or half an emoji; leave it out."),
            )
    return {name: _whole(value) for name, value in parsed.items()}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    pairs_once: dict[str, Any] = {}
    for name, value in pairs:
        if name in pairs_once:
            raise BadRequest(name[:40].encode("utf-8", "replace").decode(), Text("this field is there twice; give it once."))
        pairs_once[name] = value
    return pairs_once


def _whole(value: Any) -> Any:
    """Return 10.0 as 10: JSON has one kind of number. What is within a list or an object is left as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _no_number(_: str) -> float:
    raise ValueError


def _is_unwritable(value: Any) -> bool:
    if isinstance(value, str):
        return bool(_UNWRITABLE.search(value))
    if isinstance(value, dict):
        return any(_is_unwritable(part) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(map(_is_unwritable, value))


# ── what is answered where there is no answer ───────────────────────────────────

#: The type of the body of every error.
PROBLEM: Final = "application/problem+json"
#: Seconds after which a client may try again what was refused for now.
RETRY_AFTER: Final = 5


@record(kw_only=True)
class Problem:
    """
    A refusal: *detail* is one sentence that says what was wrong and what to do, *field* the parameter or field that is wrong.

    With 412: *content* is the text that is there now, *yours* the text that was sent.
    """

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str | None = None
    field: str | None = None
    content: str | None = None
    yours: str | None = None


def problem(status: int, sentence: str, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    """Return the answer with that status, and the other fields of its `Problem`; one that is None is left out."""
    body = to_json(Problem(title=HTTPStatus(status).phrase, status=status, detail=sentence, **more))
    return Response(json.dumps(body, ensure_ascii=False), status, dict(headers or {}), PROBLEM)


def of_error(error: Exception, language: Language, root: str) -> tuple[int, str, dict[str, str], dict[str, Any]]:
    """
    Return the status, the sentence, the headers and further fields for what a request raised.

    The sentence names files by their path from the workspace at *root*, never by that on the machine.
    """
    if isinstance(error, HTTPException):
        return error.status_code, render(error.detail, language), dict(error.headers or {}), {}
    error = as_supervisor_error(error, "a request", root)
    if isinstance(error, InternalError):
        return 500, render(Text("this failed; the event `error` in log.jsonl says where."), language), {}, {}
    sentence = error.in_language(language).replace(f"{root}/", "").replace(root, ".")
    headers = {"Retry-After": str(RETRY_AFTER)} if error.http_status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    more: dict[str, Any] = {"code": error.code, "field": getattr(error, "field", None)}
    return error.http_status, sentence, headers, more
