"""
The REST service of 000 (CountBot): its paths, bodies and texts, so that the client code of a user of it runs unchanged.

`PUT` takes an `If-Match` besides, with the ETag that `GET` has sent: then a text that somebody changed meanwhile is not
replaced, and the answer (412) has both.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import JSONResponse
from starlette.routing import Route

from recalld.supervisor.interfaces.http.json_body import json_object
from recalld.supervisor.interfaces.http.problem import problem
from recalld.supervisor.longterm.lines import parse_entry
from recalld.supervisor.operations.codec import refuse_unknown, to_json
from recalld.supervisor.operations.long_term import ReadRequest, StatsRequest, SummarizeRequest, read, stats, summarize
from recalld.supervisor.operations.long_term_text import (
    LinesRequest,
    ReplaceRequest,
    TextRequest,
    long_term_text,
    replace_long_term,
    search_lines,
)
from recalld.supervisor.storage.catalogue import Text, render
from recalld.supervisor.storage.errors import BadRequest, StaleText, refuse_no_text
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    from recalld.supervisor.interfaces.http.site import Site

#: The most lines of `recent`.
_MOST_RECENT: Final = 10_000
#: What 000's routes say, they say in its language.
_ITS_LANGUAGE: Final = "zh"


@record
class Content:
    """The long-term memory, or lines of it."""

    content: str


@record
class Saved:
    """What a change of the long-term memory answers."""

    success: bool
    message: str


@record
class Summed:
    """What summing up a session answers: *summary* is its line, "" where there was nothing to record."""

    success: bool
    summary: str
    message: str


def memory_routes(site: Site) -> list[BaseRoute]:
    """Return the routes of 000."""

    def route(path: str, answer: Any, method: str = "GET") -> BaseRoute:
        return Route(path, partial(answer, site), methods=[method])

    return [
        Route("/api/memory/long-term", partial(_text, site), methods=["GET", "PUT"]),
        route("/api/memory/stats", _get_stats),
        route("/api/memory/recent", _get_recent),
        route("/api/memory/search", _search, "POST"),
        route("/api/chat/sessions/{session_id:path}/summarize", _sum_up, "POST"),
    ]


async def _text(site: Site, request: Request) -> Response:
    return await (_put_text if request.method == "PUT" else _get_text)(site, request)


async def _get_text(site: Site, request: Request) -> Response:
    query(request)
    found = await site.perform(request, long_term_text, TextRequest())
    return JSONResponse(to_json(Content(found.text)), headers={"ETag": f'"{found.etag}"'})


async def _put_text(site: Site, request: Request) -> Response:
    query(request)
    content = body_of(request, await request.body(), "content").get("content")
    refuse_no_text("content", content)
    return await _saved(site, request, str(content))


async def _get_stats(site: Site, request: Request) -> Response:
    query(request)
    return JSONResponse(await site.perform(request, stats, StatsRequest()))


async def _get_recent(site: Site, request: Request) -> Response:
    count = whole_number("count", query(request, "count").get("count", "10"), _MOST_RECENT)
    found = await site.perform(request, read, ReadRequest(recent=count))
    return JSONResponse(to_json(Content(str(found))))


async def _search(site: Site, request: Request) -> Response:
    query(request)
    given = body_of(request, await request.body(), "keywords", "max_results", "match_mode")
    asked = LinesRequest(**{"keywords": None, **given})
    caller = replace(await site.run(site.caller, request), language=_ITS_LANGUAGE)
    found = await site.perform(request, search_lines, asked, caller)
    return JSONResponse(to_json(found))


async def _sum_up(site: Site, request: Request) -> Response:
    query(request)
    body_of(request, await request.body())
    written = await site.perform(request, summarize, SummarizeRequest(session=request.path_params["session_id"]))
    if written is None:
        return JSONResponse(to_json(Summed(True, "", render(Text("longterm.nothing_to_record"), _ITS_LANGUAGE))))
    entry = parse_entry(written.text)
    message = render(written.told("longterm.saved"), _ITS_LANGUAGE)
    return JSONResponse(to_json(Summed(True, entry.content if entry else written.text, message)))


async def _saved(site: Site, request: Request, content: str) -> Response:
    """Save the text and return the answer of 000; 412, with both texts, if it replaces another one than the client read."""
    tags = [one.strip() for one in request.headers.get("if-match", "*").split(",")]
    etag = None if "*" in tags else tags[0].strip('"')
    try:
        done = await site.perform(request, replace_long_term, ReplaceRequest(content=content, etag=etag))
    except StaleText as stale:
        sentence = stale.in_language(await site.run(site.language, request))
        more = {"code": stale.code, "content": stale.text, "yours": content}
        return problem(stale.http_status, sentence, {"ETag": f'"{stale.etag}"'}, **more)
    return JSONResponse(to_json(Saved(True, "Memory updated")), headers={"ETag": f'"{done.etag}"'})


def query(request: Request, *names: str) -> dict[str, str]:
    """Return the parameters of the address; BadRequest for one that is not among *names*, or is there twice."""
    found: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        refuse_unknown([name], names)
        if name in found:
            raise BadRequest(name, Text("http.field_twice"))
        found[name] = value
    return found


def body_of(request: Request, body: bytes, *names: str) -> dict[str, Any]:
    """Return the object in the body; BadRequest for a field that is not among *names*."""
    found = json_object(request, body)
    refuse_unknown(found, names)
    return found


def whole_number(name: str, value: str, most: int) -> int:
    """Return the number that a parameter has; BadRequest if it is none from 1 to *most*."""
    number = int(value) if value.isascii() and value.isdigit() and len(value) < len(str(most)) + 1 else 0
    if not 1 <= number <= most:
        allowed = Text("allowed.whole_between", least=1, most=most)
        raise BadRequest(name, Text("argument.not_allowed", value=repr(value[:40]), allowed=allowed))
    return number
