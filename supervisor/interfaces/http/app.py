"""
The application that a supervisor serves over HTTP: its own routes, MCP, and the page where the wheel has one.

`/mcp` is the server of `recalld mcp` over streamable HTTP, for any number of clients. Its address says who reads what a client
shows, as the options of `recalld mcp` do: `session`, `chat`, `channel`, `read_only`, `allow_delete`. The SDK is loaded for the
first request.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from ...longterm.lines import DEFAULT_SOURCE
from ...storage.errors import BadRequest, InternalError, SupervisorError
from ...storage.texts import Text
from ..proxy.endpoint import Proxy, protocol_error
from .api_routes import memory_routes, operation_routes
from .changes import stream
from .gate import NO_TOKEN, Gate
from .reading import form_fields, json_object, media_type, of_error, problem, query
from .site import FORM_HEADER, PROXY, Site

if TYPE_CHECKING:
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Receive, Scope, Send

#: The page, which may be left out of an installation.
_PAGE: Final = "recalld.supervisor.interfaces.page"


def make_app(site: Site, *, is_remote: bool) -> ASGIApp:
    """Return the application for *site*; *is_remote*: other machines may ask."""
    page: Any = import_module(_PAGE) if find_spec(_PAGE) else None

    async def answer_error(request: Request, error: Exception) -> Response:
        return await site.run(_response, site, page, request, error)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await proxy.end()

    proxy = Proxy(site)
    routes = [
        *_own_routes(site),
        Route("/mcp", McpEndpoint(site)),
        Route(f"{PROXY}{{path:path}}", proxy),
        *memory_routes(site),
        *operation_routes(site),
        *(page.routes(site) if page else ()),
    ]
    handlers: Any = dict.fromkeys((HTTPException, SupervisorError, Exception), answer_error)
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Gate(app, site, answer_error, is_remote=is_remote)


#: What the router itself refuses.
_SENTENCES: Final = {
    404: Text("there is nothing at this address; `/openapi.json` has the addresses for programs, `/` is the page."),
    405: Text("this address does not take that method; the header Allow names those that it takes."),
}


def _response(site: Site, page: Any, request: Request, error: Exception) -> Response:
    """Return the answer to an error: for a browser the page's, else a problem in JSON; a bug becomes an event."""
    if isinstance(error, HTTPException) and not isinstance(error.detail, Text):  # the router's
        why = _SENTENCES.get(error.status_code, Text("this is no valid HTTP request."))
        error = HTTPException(error.status_code, why, error.headers)
    ws = site.workspace
    if not isinstance(error, (HTTPException, SupervisorError, OSError)):
        ws.events.report("http", [InternalError.of("a request over HTTP", error)])
    status, sentence, headers, more = of_error(error, site.language(request), str(ws.paths.root))
    if request.url.path.startswith(PROXY):
        return protocol_error(request.url.path, status, sentence, headers)
    is_browser = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(("/api/", "/mcp"))
    if page and is_browser:
        shown: Response = page.problem(site, request, status, sentence)
        shown.headers.update(headers)
        return shown
    return problem(status, sentence, headers, **more)


def _own_routes(site: Site) -> list[BaseRoute]:
    async def health(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def enter(request: Request) -> Response:
        """Return the cookie for the token, which comes as JSON or as a form, and to a script that *keeps* it the form token."""
        is_form = media_type(request) == "application/x-www-form-urlencoded"
        body = await request.body()
        given = form_fields(body) if is_form else json_object(request, body)
        if not await site.run(site.access.is_token, str(given.get("token", "")).strip()):
            raise HTTPException(401, Text(NO_TOKEN), {"WWW-Authenticate": "Bearer"})
        response: Response = RedirectResponse("/", 303) if is_form else Response(status_code=204)
        is_kept = given.get("keeps") is True
        cookie = await site.run(partial(site.access.new_cookie, site.clock(), is_kept=is_kept))
        if is_kept:
            response.headers[FORM_HEADER] = await site.run(site.access.form_token, cookie)
        response.set_cookie(site.cookie_name, cookie, httponly=True, samesite="strict", path="/")
        return response

    async def session(request: Request) -> Response:
        if request.method == "POST":
            return await enter(request)
        answer = Response(status_code=204)
        answer.delete_cookie(site.cookie_name, httponly=True, samesite="strict", path="/")
        return answer

    async def events(request: Request) -> Response:
        is_browser = site.has_cookie(request)
        changes = stream(lambda: site.workspace, site.run, site.ended, lambda: not is_browser or site.has_cookie(request))
        return StreamingResponse(changes, media_type="text/event-stream")

    return [
        Route("/healthz", health),
        Route("/openapi.json", partial(_describe, site)),
        Route("/session", session, methods=["POST", "DELETE"]),
        Route("/events", events),
    ]


async def _describe(site: Site, request: Request) -> Response:
    from .openapi import description

    query(request)
    return JSONResponse(await site.run(description))


# ── MCP ─────────────────────────────────────────────────────────────────────────

_FLAGS: Final = {"": False, "false": False, "true": True}


class McpEndpoint:
    """The ASGI application at `/mcp`; each request has a server of its own, so that nothing is kept of a client."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a client; BadRequest for a parameter of the address that is unknown or wrong."""
        manager = await self._site.run(_manager, self._site, Request(scope))
        async with manager.run():
            await manager.handle_request(scope, receive, send)


def _manager(site: Site, request: Request) -> Any:
    given = query(request, "session", "chat", "channel", "read_only", "allow_delete")
    session, chat = given.get("session", ""), given.get("chat", "")
    site.caller(request, session, chat)  # which refuses what is no kind of chat
    read_only, allow_delete = _flag(given, "read_only"), _flag(given, "allow_delete")

    from ..api import Memory
    from ..mcp import MemoryServer
    from ..tools.registry import register_all_tools

    memory, channel = Memory(site.workspace, clock=site.clock, keep_fresh=False), given.get("channel") or DEFAULT_SOURCE
    who: Any = {"session": session, "chat": chat, "channel": channel, "language": site.language(request)}
    registry = register_all_tools(memory, **who, read_only=read_only, allow_delete=allow_delete)
    tools: Any = registry.tools  # there are some, since there is a memory
    return MemoryServer(registry, tools).http_manager()


def _flag(given: Mapping[str, str], name: str) -> bool:
    value = given.get(name, "")
    if value not in _FLAGS:
        raise BadRequest(
            name, Text("{value} is not allowed, give {allowed}", value=repr(value[:40]), allowed=Text("true or false"))
        )
    return _FLAGS[value]
