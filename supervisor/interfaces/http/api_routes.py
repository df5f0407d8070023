"""
What programs ask: every operation at `POST /api/NAME`, with its arguments as JSON, and the REST service of 000 (CountBot).

The conversation that reads the answer of an operation, if it is not the owner alone, is in the parameters `session` and `chat`.
Paths, bodies and texts of 000 are as they were, so that the client code of a user of it runs unchanged.

`PUT` takes an `If-Match` besides, with the ETag that `GET` has sent: then a text that somebody changed meanwhile is not
replaced, and the answer (412) has both. What is wrong with a request is one sentence that names the field, as
`application/problem+json` (RFC 9457).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...longterm.lines import parse_entry
from ...operations.codec import checked, from_json, refuse_unknown, to_json
from ...operations.operation import NAMES, find, parameters
from ...storage.errors import BadRequest, StaleText, refuse_no_text
from ...storage.texts import Text, msgid, render
from .site import Site, json_object, query

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

#: The most lines of `recent`.
_MOST_RECENT: Final = 10_000
#: What 000's routes say, they say in its language.
_ITS_LANGUAGE: Final = "zh"


def problem(status: int, sentence: str, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    """
    Return a refusal (RFC 9457): *sentence* says what was wrong and what to do, *field* the parameter or field that is wrong.

    With 412 *content* is the text that is there now, *yours* the text that was sent. What is None is left out.
    """
    given = {name: value for name, value in more.items() if value is not None}
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": sentence, **given}
    return Response(json.dumps(to_json(body), ensure_ascii=False), status, dict(headers or {}), "application/problem+json")


# ── the service of 000 ───────────────────────────────────────────────────────


def memory_routes(site: Site) -> list[BaseRoute]:
    """Return the routes of 000."""
    return [
        Route("/api/memory/long-term", partial(_text, site), methods=["GET", "PUT"]),
        Route("/api/memory/stats", partial(_get_stats, site)),
        Route("/api/memory/recent", partial(_get_recent, site)),
        Route("/api/memory/search", partial(_search, site), methods=["POST"]),
        Route("/api/chat/sessions/{session_id:path}/summarize", partial(_sum_up, site), methods=["POST"]),
    ]


async def _text(site: Site, request: Request) -> Response:
    query(request)
    if request.method == "PUT":
        return await _put_text(site, request)
    answer = await site.ask(request, "long_term_text")
    return JSONResponse(to_json({"content": answer.text}), headers={"ETag": f'"{answer.etag}"'})


async def _put_text(site: Site, request: Request) -> Response:
    """Save the text and return the answer of 000; 412, with both texts, if it replaces another one than the client read."""
    content = (await _body(request, "content")).get("content")
    refuse_no_text("content", content)
    tags = [tag.strip() for tag in request.headers.get("if-match", "*").split(",")]
    etag = None if "*" in tags else tags[0].strip('"')
    try:
        done = await site.ask(request, "replace_long_term", content=str(content), etag=etag)
    except StaleText as stale:
        sentence = stale.in_language(site.language(request))
        more = {"code": stale.code, "content": stale.text, "yours": content}
        return problem(stale.http_status, sentence, {"ETag": f'"{stale.etag}"'}, **more)
    return JSONResponse({"success": True, "message": "Memory updated"}, headers={"ETag": f'"{done.etag}"'})


async def _get_stats(site: Site, request: Request) -> Response:
    query(request)
    return JSONResponse(await site.ask(request, "stats"))


async def _get_recent(site: Site, request: Request) -> Response:
    text = query(request, "count").get("count", "10")
    count = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(_MOST_RECENT)) else 0
    if not 1 <= count <= _MOST_RECENT:
        allowed = Text("a whole number from {least} to {most}", least=1, most=_MOST_RECENT)
        raise BadRequest("count", Text("{value} is not allowed, give {allowed}", value=repr(text[:40]), allowed=allowed))
    lines = await site.ask(request, "read", recent=count)
    return JSONResponse(to_json({"content": str(lines)}))


async def _search(site: Site, request: Request) -> Response:
    query(request)
    body = await _body(request, "keywords", "max_results", "match_mode")
    known = parameters(find("search_lines"))
    given = await site.run(lambda: {name: checked(name, known[name], value) for name, value in body.items()})
    caller = replace(site.caller(request), language=_ITS_LANGUAGE)
    result = await site.perform(request, "search_lines", {"keywords": None, **given}, caller)
    return JSONResponse(to_json(result))


async def _sum_up(site: Site, request: Request) -> Response:
    query(request)
    await _body(request)
    written = await site.ask(request, "summarize", session=request.path_params["session_id"])
    entry = parse_entry(written.text) if written else None
    summary = entry.content if entry else written.text if written else ""
    nothing = Text("nothing in this session is worth a line.")
    message = written.sentence(msgid("saved to memory, line {line} (entries: {total})")) if written else nothing
    return JSONResponse(to_json({"success": True, "summary": summary, "message": render(message, _ITS_LANGUAGE)}))


async def _body(request: Request, *names: str) -> dict[str, Any]:
    given = await json_object(request)
    refuse_unknown(given, names)
    return given


# ── operations ───────────────────────────────────────────────────────────────


def operation_routes(site: Site) -> list[BaseRoute]:
    """Return a route for each operation."""
    return [Route(f"/api/{name}", partial(_answer, site, name), methods=["POST"]) for name in NAMES]


async def _answer(site: Site, name: str, request: Request) -> Response:
    who = query(request, "session", "chat")
    given = await json_object(request)
    arguments = await site.run(lambda: from_json(find(name), given))
    answer = await site.perform(request, name, arguments, site.caller(request, **who))
    return JSONResponse(await site.run(to_json, answer))
