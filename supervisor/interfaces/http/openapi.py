"""
The description of the service, OpenAPI 3.1: its addresses, what each takes, and what it refuses.

The requests of operations are those of their types; their answers are those of Python (docs/reference/api.md), in camelCase. It
is loaded for the first request for the description.
"""

from typing import Any, Final

from ...operations.codec import schema
from ...operations.operation import NAMES, find
from ..locate import version

#: What every request may be refused with.
REFUSED: Final = {
    "400": "A parameter or a field of the body is wrong; `field` names it.",
    "401": "The token is missing or wrong.",
    "403": "Not allowed: another site asks, or the file is read-only.",
    "404": "There is no such thing.",
    "409": "It has changed since it was read, or a running supervisor does it.",
    "412": "The text is no longer the one that was read; the answer has both.",
    "413": "The body is too large.",
    "415": "The body is no JSON.",
    "422": "A file can't be read as what it should be.",
    "431": "The headers are too large.",
    "500": "recalld failed; the event `error` says where.",
    "503": "A lock is held, or the model can't be reached: try again after `Retry-After` seconds.",
    "507": "The disk is full, gone or broken.",
}
_TEXT: Final = {"type": "string"}
WHO: Final = [
    {"name": "session", "in": "query", "schema": _TEXT, "description": "The key of the conversation that reads the answer."},
    {
        "name": "chat",
        "in": "query",
        "schema": {"enum": ["", "direct", "group", "channel"]},
        "description": "Its kind; else that in the key.",
    },
]


def description() -> dict[str, Any]:
    """Return the description of all that is served as JSON."""
    token = {"type": "http", "scheme": "bearer", "description": "What `.recalld/token` has."}
    return {
        "openapi": "3.1.0",
        "info": {"title": "recalld", "version": version().rpartition(" ")[2], "summary": "The memory of an assistant."},
        "security": [{"token": []}],
        "paths": {**_countbot(), **{f"/api/{name}": {"post": _operation(name)} for name in NAMES}},
        "components": {"securitySchemes": {"token": token}},
    }


def _operation(name: str) -> dict[str, Any]:
    operation = find(name)
    shape = schema(operation)
    body = _object(shape["properties"], shape["required"])
    summary = (operation.run.__doc__ or "").strip().partition("\n")[0]
    # of what is the owner's alone no other conversation reads the answer
    return _route(name, summary, {}, body=body, parameters=None if operation.owner else WHO)


def _countbot() -> dict[str, Any]:
    lines = schema(find("search_lines"))["properties"]
    words = {"keywords": lines["keywords"], "max_results": lines["maxResults"], "match_mode": lines["matchMode"]}
    count = {"name": "count", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 10}}
    named = {"name": "session_id", "in": "path", "required": True, "schema": _TEXT}
    match = {"name": "If-Match", "in": "header", "schema": _TEXT, "description": "The ETag of the text that this one replaces."}
    number, yes = {"type": "integer"}, {"type": "boolean"}
    content = _object({"content": _TEXT}, ["content"])
    stats = _object({"total": number, "sources": {"type": "object"}, "date_range": _TEXT})
    saved, summed = {"success": yes, "message": _TEXT}, {"success": yes, "summary": _TEXT, "message": _TEXT}
    replace = "Replace the whole long-term memory; the old text is kept."
    matches, search = _object({"results": _TEXT, "total": number}), _object(words, ["keywords"])
    lines_with = "Return the lines with the keywords; `total` counts all lines."
    return {
        "/api/memory/long-term": {
            "get": _route("getLongTerm", "Return the whole long-term memory, with its ETag.", content),
            "put": _route("putLongTerm", replace, _object(saved), body=content, parameters=[match]),
        },
        "/api/memory/stats": {"get": _route("getStats", "Count the lines by source.", stats)},
        "/api/memory/recent": {"get": _route("getRecent", "Return the last lines.", content, parameters=[count])},
        "/api/memory/search": {"post": _route("searchMemory", lines_with, matches, body=search)},
        "/api/chat/sessions/{session_id}/summarize": {
            "post": _route("summarizeSession", "Write a session as one line.", _object(summed), parameters=[named])
        },
    }


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    """Return the schema of an object with these properties alone; all of them are *required* if no others are named."""
    needed = [*properties] if required is None else required
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _route(
    name: str,
    summary: str,
    answer: dict[str, Any],
    *,
    body: dict[str, Any] | None = None,
    parameters: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    sent = {"required": bool((body or {}).get("required")), "content": {"application/json": {"schema": body}}}
    return {
        "operationId": name,
        "summary": summary,
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": sent} if body else {}),
        "responses": {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": answer}}},
            **{status: {"description": why, "content": {"application/problem+json": {}}} for status, why in REFUSED.items()},
        },
    }
