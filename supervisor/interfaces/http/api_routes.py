"""
What programs ask: every operation at `POST /api/NAME`, with the typed request as JSON, and the REST service of 000 (CountBot).

The conversation that reads the answer of an operation, if it is not the owner alone, is in the parameters `session` and `chat`.
Paths, bodies and texts of 000 are as they were, so that the client code of a user of it runs unchanged.

`PUT` takes an `If-Match` besides, with the ETag that `GET` has sent: then a text that somebody changed meanwhile is not
replaced, and the answer (412) has both.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Route

from ...longterm.lines import parse_entry
from ...operations import long_term
from ...operations.codec import from_json, to_json
from ...operations.operation import LEFT, NAMES, NoArguments, find
from ...storage.errors import StaleText, refuse_no_text
from ...storage.texts import Text, msgid, render
from ...text.record import record
from .reading import body_of, json_object, problem, query, whole_number
from .site import Site

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

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
    answer = await site.perform(request, long_term.long_term_text, NoArguments())
    return JSONResponse(to_json(Content(answer.text)), headers={"ETag": f'"{answer.etag}"'})


async def _put_text(site: Site, request: Request) -> Response:
    """Save the text and return the answer of 000; 412, with both texts, if it replaces another one than the client read."""
    content = body_of(request, await request.body(), "content").get("content")
    refuse_no_text("content", content)
    tags = [tag.strip() for tag in request.headers.get("if-match", "*").split(",")]
    etag = None if "*" in tags else tags[0].strip('"')
    replacement = long_term.ReplaceRequest(content=str(content), etag=etag)
    try:
        done = await site.perform(request, long_term.replace_long_term, replacement)
    except StaleText as stale:
        sentence = stale.in_language(site.language(request))
        more = {"code": stale.code, "content": stale.text, "yours": content}
        return problem(stale.http_status, sentence, {"ETag": f'"{stale.etag}"'}, **more)
    return JSONResponse(to_json(Saved(True, "Memory updated")), headers={"ETag": f'"{done.etag}"'})


async def _get_stats(site: Site, request: Request) -> Response:
    query(request)
    return JSONResponse(await site.perform(request, long_term.stats, NoArguments()))


async def _get_recent(site: Site, request: Request) -> Response:
    count = whole_number("count", query(request, "count").get("count", "10"), _MOST_RECENT)
    lines = await site.perform(request, long_term.read, long_term.ReadRequest(recent=count))
    return JSONResponse(to_json(Content(str(lines))))


async def _search(site: Site, request: Request) -> Response:
    query(request)
    given = body_of(request, await request.body(), "keywords", "max_results", "match_mode")
    lines_request = long_term.LinesRequest(**{"keywords": None, **given})
    caller = replace(site.caller(request), language=_ITS_LANGUAGE)
    result = await site.perform(request, long_term.search_lines, lines_request, caller)
    return JSONResponse(to_json(result))


async def _sum_up(site: Site, request: Request) -> Response:
    query(request)
    body_of(request, await request.body())
    written = await site.perform(
        request, long_term.summarize, long_term.SummarizeRequest(session=request.path_params["session_id"])
    )
    if written is None:
        return JSONResponse(to_json(Summed(True, "", render(Text("nothing in this session is worth a line."), _ITS_LANGUAGE))))
    entry = parse_entry(written.text)
    message = render(written.sentence(msgid("saved to memory, line {line} ({total} in all)")), _ITS_LANGUAGE)
    return JSONResponse(to_json(Summed(True, entry.content if entry else written.text, message)))


# ── operations ───────────────────────────────────────────────────────────────


def operation_routes(site: Site) -> list[BaseRoute]:
    """Return a route for each operation, and for those that have left, which say what does their work now."""
    left = [Route(f"/api/{name}", partial(_answer, site, name), methods=["GET", "POST"]) for name in LEFT]
    return [*left, *(Route(f"/api/{name}", partial(_answer, site, name), methods=["POST"]) for name in NAMES)]


async def _answer(site: Site, name: str, request: Request) -> Response:
    if name in LEFT:
        raise HTTPException(404, Text("{field}: {why}.", field=f"/api/{name}", why=LEFT[name]))
    who = query(request, "session", "chat")
    given = json_object(request, await request.body())
    operation = await site.run(find, name)
    typed = await site.run(from_json, operation, given)
    answer = await site.perform(request, operation, typed, site.caller(request, **who))
    return JSONResponse(await site.run(to_json, answer))
