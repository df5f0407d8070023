"""
The description of the service, OpenAPI 3.1, which pydantic makes from the types of operations.

An answer is described as `to_json` writes it. It is loaded for the first request for the description.
"""

from __future__ import annotations

from typing import Any, Final, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from ...checks.fsck import Ledger, Repairs
from ...context.build import Injection, Replay
from ...index.hit import SearchResult
from ...index.manifest import Changes
from ...index.view import Inventory
from ...longterm.long_term_file import Deleted, Ended, LongTermLines, Written
from ...operations.codec import camel, schema
from ...operations.long_term import LinesFound, LinesRequest
from ...operations.operation import NAMES, find
from ...protocol.turn import Receipt
from ...recall.lines import Lines
from ..locate import version
from .api_routes import Content, Problem, Saved, Summed

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
#: The answers that operations import when they run, so that a command loads no other.
_ANSWERS: Final = {
    kind.__name__: kind
    for kind in (
        *(Changes, Deleted, Ended, Injection, Inventory, Ledger, Lines, LongTermLines, Receipt, Repairs, Replay),
        *(SearchResult, Written),
    )
}
DEFINITIONS: Final = "#/components/schemas/"


class _Written(GenerateJsonSchema):
    """The schemas of what `to_json` writes: names are in camelCase, and a field without a value is left out."""

    def dataclass_args_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a dataclass."""
        shapes: dict[str, Any] = super().dataclass_args_schema(schema).get("properties", {})
        needed = [camel(name) for name, shape in shapes.items() if {"type": "null"} not in shape.get("anyOf", ())]
        return {"type": "object", "properties": {camel(name): shape for name, shape in shapes.items()}, "required": needed}

    def default_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a field without its default: an answer has the value itself."""
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, _schema: Any) -> bool:
        """Return False: the name of a field says what a title would."""
        return False


def description() -> dict[str, Any]:
    """Return the description of all that is served as JSON."""
    kinds: dict[str, Any] = {name: _answer_of(name) for name in NAMES}
    kinds |= {kind.__name__: kind for kind in (Problem, Content, Saved, Summed, LinesFound)}
    answers, definitions = TypeAdapter.json_schemas(
        [(name, "serialization", TypeAdapter(kind)) for name, kind in kinds.items()],
        ref_template=f"{DEFINITIONS}{{model}}",
        schema_generator=_Written,
    )
    of = {name: shape for (name, _), shape in answers.items()}
    operations = {f"/api/{name}": {"post": _operation(name, of[name])} for name in NAMES}
    return {
        "openapi": "3.1.0",
        "info": {"title": "recalld", "version": version().rpartition(" ")[2], "summary": "The memory of an assistant."},
        "security": [{"token": []}],
        "paths": {**_countbot(of), **operations},
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "What `.recalld/token` has."}},
        },
    }


def _answer_of(name: str) -> Any:
    """Return the type of the answer of an operation; an answer with fields for Python alone is any object."""
    kind = get_type_hints(find(name).run, localns=_ANSWERS)["return"]
    return dict[str, Any] if hasattr(kind, "json_fields") else kind


def _operation(name: str, answer: dict[str, Any]) -> dict[str, Any]:
    operation = find(name)
    request_schema = _closed(schema(operation.request))
    body = {"required": bool(request_schema.get("required")), "content": {"application/json": {"schema": request_schema}}}
    who = None if operation.owner else WHO  # a group would be refused
    return _route(name, (operation.run.__doc__ or "").strip().partition("\n")[0], answer, body=body, parameters=who)


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a request without what pydantic names by itself; no other field is taken."""
    kept = {key: value for key, value in schema.items() if key in ("type", "properties", "required")}
    for shape in kept["properties"].values():
        shape.pop("title", None)
    return {**kept, "additionalProperties": False}


def _countbot(of: dict[str, Any]) -> dict[str, Any]:
    lines = schema(LinesRequest)["properties"]
    words = {"keywords": lines["keywords"], "max_results": lines["maxResults"], "match_mode": lines["matchMode"]}
    search = {"type": "object", "required": ["keywords"], "properties": words, "additionalProperties": False}
    content = {"type": "object", "required": ["content"], "properties": {"content": _TEXT}, "additionalProperties": False}
    count = {"name": "count", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 10}}
    named = {"name": "session_id", "in": "path", "required": True, "schema": _TEXT}
    match = {"name": "If-Match", "in": "header", "schema": _TEXT, "description": "The ETag of the text that this one replaces."}
    stats = {"total": {"type": "integer"}, "sources": {"type": "object"}, "date_range": _TEXT}
    replace = "Replace the whole long-term memory; the old text is kept."
    lines_with = "Return the lines with the keywords; `total` counts all lines."
    return {
        "/api/memory/long-term": {
            "get": _route("getLongTerm", "Return the whole long-term memory, with its ETag.", of["Content"]),
            "put": _route("putLongTerm", replace, of["Saved"], body=_body(content), parameters=[match]),
        },
        "/api/memory/stats": {"get": _route("getStats", "Count the lines by source.", {"type": "object", "properties": stats})},
        "/api/memory/recent": {"get": _route("getRecent", "Return the last lines.", of["Content"], parameters=[count])},
        "/api/memory/search": {"post": _route("searchMemory", lines_with, of["LinesFound"], body=_body(search))},
        "/api/chat/sessions/{session_id}/summarize": {
            "post": _route("summarizeSession", "Write a session as one line.", of["Summed"], parameters=[named])
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
            **{status: {"description": why, "content": problem} for status, why in REFUSED.items()},
        },
    }
