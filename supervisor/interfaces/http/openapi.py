"""
The description of the service, OpenAPI 3.1, made from the types of operations; and the page docs/reference/rest.md of it.

    python -m recalld.supervisor.interfaces.http.openapi > docs/reference/rest.md
"""

from __future__ import annotations

import sys
from typing import Any, Final

from recalld.supervisor.interfaces.http.answer_schema import answer_schema
from recalld.supervisor.operations.codec import schema
from recalld.supervisor.operations.long_term_text import LinesRequest
from recalld.supervisor.operations.table import NAMES, find

#: What every request may be refused with.
_REFUSED: Final = {
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
_PROBLEM: Final = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "One sentence that says what was wrong and what to do."},
        "code": {"type": "string", "description": "The code of the error."},
        "field": {"type": "string", "description": "The parameter or field that is wrong."},
        "content": {"type": "string", "description": "With 412: the text that is there now."},
        "yours": {"type": "string", "description": "With 412: the text that was sent."},
    },
}
_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer"}
_CONTENT: Final = {"type": "object", "required": ["content"], "properties": {"content": _TEXT}}
_SAVED: Final = {
    "type": "object",
    "required": ["success", "message"],
    "properties": {"success": {"type": "boolean"}, "message": _TEXT},
}
_WHO: Final = [
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
    from recalld.supervisor.interfaces.locate import version

    return {
        "openapi": "3.1.0",
        "info": {"title": "recalld", "version": version().rpartition(" ")[2], "summary": "The memory of an assistant."},
        "security": [{"token": []}],
        "paths": {**_countbot(), **{f"/api/{name}": {"post": _operation(name)} for name in NAMES}},
        "components": {
            "schemas": {"Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "What `.recalld/token` has."}},
        },
    }


def _operation(name: str) -> dict[str, Any]:
    operation = find(name)
    asked = _closed(schema(operation.request))
    answer = answer_schema(operation.run)
    body = {"required": bool(asked.get("required")), "content": {"application/json": {"schema": asked}}}
    who = None if operation.owner else _WHO  # a group would be refused
    return _route(name, _first_line(operation.run.__doc__), answer, body=body, parameters=who)


def _closed(found: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a request without what pydantic names by itself; no other field is taken."""
    kept = {key: value for key, value in found.items() if key in ("type", "properties", "required", "$defs")}
    for one in kept["properties"].values():
        one.pop("title", None)
    return {**kept, "additionalProperties": False}


def _countbot() -> dict[str, Any]:
    """Return the paths of 000."""
    lines = schema(LinesRequest)["properties"]
    words = {"keywords": lines["keywords"], "max_results": lines["maxResults"], "match_mode": lines["matchMode"]}
    search = _body({"type": "object", "required": ["keywords"], "properties": words, "additionalProperties": False})
    found = {"type": "object", "required": ["results", "total"], "properties": {"results": _TEXT, "total": _WHOLE}}
    count = {"name": "count", "in": "query", "schema": {**_WHOLE, "minimum": 1, "maximum": 10_000, "default": 10}}
    named = {"name": "session_id", "in": "path", "required": True, "schema": _TEXT}
    match = {"name": "If-Match", "in": "header", "schema": _TEXT, "description": "The ETag of the text that this one replaces."}
    summed = {**_SAVED, "properties": {**_SAVED["properties"], "summary": _TEXT}}  # type: ignore[dict-item]
    stats = {"total": _WHOLE, "sources": {"type": "object"}, "date_range": _TEXT}
    return {
        "/api/memory/long-term": {
            "get": _route("getLongTerm", "Return the whole long-term memory, with its ETag.", _CONTENT),
            "put": _route(
                "putLongTerm",
                "Replace the whole long-term memory; the old text is kept.",
                _SAVED,
                body=_body({**_CONTENT, "additionalProperties": False}),
                parameters=[match],
            ),
        },
        "/api/memory/stats": {"get": _route("getStats", "Count the lines by source.", {"type": "object", "properties": stats})},
        "/api/memory/recent": {"get": _route("getRecent", "Return the last lines.", _CONTENT, parameters=[count])},
        "/api/memory/search": {
            "post": _route("searchMemory", "Return the lines with the keywords; `total` counts all lines.", found, body=search)
        },
        "/api/chat/sessions/{session_id}/summarize": {
            "post": _route("summarizeSession", "Write a session as one line.", summed, parameters=[named])
        },
    }


def _body(kind: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": kind}}}


def _route(
    name: str,
    summary: str,
    answer: dict[str, Any],
    *,
    body: dict[str, Any] | None = None,
    parameters: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        "operationId": name,
        "summary": summary,
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": body} if body else {}),
        "responses": {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": answer}}},
            **{status: {"description": why, "content": problem} for status, why in _REFUSED.items()},
        },
    }


def _first_line(text: str | None) -> str:
    return next(line.strip() for line in (text or "").splitlines() if line.strip())


# ── the page ─────────────────────────────────────────────────────────────────

_INTRODUCTION: Final = """# REST

This page is generated from the source: `python -m recalld.supervisor.interfaces.http.openapi > docs/reference/rest.md`.

With `[serve] port` a running supervisor answers over HTTP on 127.0.0.1 ([cli.md](cli.md#http)). Every request carries the
token of the workspace, `Authorization: Bearer TOKEN`, which `.recalld/token` has; the cookie of the page opens nothing here.
Bodies and answers are JSON; `/openapi.json` describes them for programs. A refusal is `application/problem+json` with one
sentence in `detail`."""
_OPERATIONS: Final = """
## Every operation

`POST /api/NAME` performs the operation of that name, with its request as the body; what has to be given is in bold. The
parameters `session` and `chat` of the address say which conversation reads the answer, if it is not the owner alone
([who listens](api.md#who-listens)). The answers are those of [Python](api.md), in camelCase.

| request | body | answer |
|---|---|---|"""


def main() -> None:
    """Print docs/reference/rest.md."""
    found = description()
    print(_INTRODUCTION)
    print("\n## Refusals\n\n| status | when |\n|---|---|")
    print("\n".join(f"| {status} | {why} |" for status, why in _REFUSED.items()))
    print(
        "\n## The memory of CountBot\n\nPaths, bodies and texts are those of CountBot.\n\n"
        "| request | body | answer |\n|---|---|---|"
    )
    rows = [(path, method, route) for path, methods in found["paths"].items() for method, route in methods.items()]
    theirs = [row for row in rows if row[0].startswith(("/api/memory/", "/api/chat/"))]
    print("\n".join(_row(*row) for row in theirs))
    print(_OPERATIONS)
    sys.stdout.write("".join(f"{_row(*row)}\n" for row in rows if row not in theirs))


def _row(path: str, method: str, route: dict[str, Any]) -> str:
    asked = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    answer = route["responses"]["200"]["content"]["application/json"]["schema"]
    query = [one["name"] for one in route.get("parameters", ()) if one["in"] == "query" and one not in _WHO]
    address = f"`{method.upper()} {path}{'?' + '='.join([*query, '']) if query else ''}`"
    return f"| {address} | {_fields(asked)} | {route['summary']} {_fields(answer)} |"


def _fields(kind: dict[str, Any]) -> str:
    needed = kind.get("required", ()) if kind.get("additionalProperties") is False else ()
    names = (f"**`{name}`**" if name in needed else f"`{name}`" for name in kind.get("properties", ()))
    return ", ".join(names) or "–"


if __name__ == "__main__":
    main()
