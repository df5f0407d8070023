"""
The application that a supervisor serves over HTTP: its own routes, the proxy, and the page where the wheel has one.

`/events` says what has changed, for open pages: a stream of server-sent events with kinds, and never a word of a message. The
files are looked at once a second for each listener.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from ...storage.disk import Stat
from ...storage.errors import InternalError, SupervisorError, as_supervisor_error
from ...storage.texts import Text, render
from ...text.language import Language
from ..proxy.endpoint import Proxy, protocol_error
from .api_routes import memory_routes, operation_routes, problem
from .gate import NO_TOKEN, Gate
from .site import FORM_HEADER, PROXY, Site, form_fields, json_object, media_type, query

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp

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
        Route(f"{PROXY}{{path:path}}", proxy),
        *memory_routes(site),
        *operation_routes(site),
        *(page.routes(site) if page else ()),
    ]
    handlers: Any = dict.fromkeys((HTTPException, SupervisorError, Exception), answer_error)
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Gate(app, site, answer_error, is_remote=is_remote)


# ── what is answered where there is no answer ───────────────────────────────────

#: What the router itself refuses.
_SENTENCES: Final = {
    404: Text("there is nothing at this address; `/openapi.json` has the addresses for programs, `/` is the page."),
    405: Text("this address does not take that method; the header Allow names those that it takes."),
}
#: Seconds after which a client may try again what was refused for now.
_RETRY_AFTER: Final = 5


def _response(site: Site, page: Any, request: Request, error: Exception) -> Response:
    """Return the answer to an error: for a browser the page's, else a problem in JSON; a bug becomes an event."""
    ws = site.workspace
    if not isinstance(error, (HTTPException, SupervisorError, OSError, ClientDisconnect)):
        ws.events.report("http", [InternalError.of("a request over HTTP", error)])
    status, sentence, headers, more = _refusal(error, site.language(request), str(ws.paths.root))
    if request.url.path.startswith(PROXY):
        return protocol_error(request.url.path, status, sentence, headers)
    is_browser = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")
    if page and is_browser:
        shown: Response = page.problem(site, request, status, sentence)
        shown.headers.update(headers)
        return shown
    return problem(status, sentence, headers, **more)


def _refusal(error: Exception, language: Language, root: str) -> tuple[int, str, dict[str, str], dict[str, Any]]:
    """
    Return the status, the sentence, the headers and further fields for what a request raised.

    The sentence names files by their path from the workspace at *root*, never by that on the machine.
    """
    if isinstance(error, HTTPException):
        of_router = _SENTENCES.get(error.status_code, Text("this is no valid HTTP request."))
        why = error.detail if isinstance(error.detail, Text) else of_router
        return error.status_code, render(why, language), dict(error.headers or {}), {}
    error = as_supervisor_error(error, "a request", root)
    if isinstance(error, InternalError):
        return 500, render(Text("this failed; the event `error` in log.jsonl says where."), language), {}, {}
    sentence = error.in_language(language).replace(f"{root}/", "").replace(root, ".")
    headers = {"Retry-After": str(_RETRY_AFTER)} if error.http_status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return error.http_status, sentence, headers, {"code": error.code, "field": getattr(error, "field", None)}


# ── its own routes ──────────────────────────────────────────────────────────────


def _own_routes(site: Site) -> list[BaseRoute]:
    return [
        Route("/healthz", _health),
        Route("/openapi.json", partial(_describe, site)),
        Route("/session", partial(_session, site), methods=["POST", "DELETE"]),
        Route("/events", partial(_events, site)),
    ]


async def _health(_: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _describe(site: Site, request: Request) -> Response:
    from .openapi import description

    query(request)
    return JSONResponse(await site.run(description))


async def _session(site: Site, request: Request) -> Response:
    """Give the cookie for the token, in JSON or a form, and to a script that *keeps* it the form token; or take it back."""
    if request.method == "DELETE":
        answer = Response(status_code=204)
        answer.delete_cookie(site.cookie_name, httponly=True, samesite="strict", path="/")
        return answer
    is_form = media_type(request) == "application/x-www-form-urlencoded"
    given = await (form_fields if is_form else json_object)(request)
    if not await site.run(site.access.is_token, str(given.get("token", "")).strip()):
        raise HTTPException(401, Text(NO_TOKEN), {"WWW-Authenticate": "Bearer"})
    response: Response = RedirectResponse("/", 303) if is_form else Response(status_code=204)
    is_kept = given.get("keeps") is True
    cookie = await site.run(partial(site.access.new_cookie, site.clock(), is_kept=is_kept))
    if is_kept:
        response.headers[FORM_HEADER] = await site.run(site.access.form_token, cookie)
    response.set_cookie(site.cookie_name, cookie, httponly=True, samesite="strict", path="/")
    return response


async def _events(site: Site, request: Request) -> Response:
    is_browser = site.has_cookie(request)
    changes = _stream(site, lambda: not is_browser or site.has_cookie(request))
    return StreamingResponse(changes, media_type="text/event-stream")


# ── what has changed ────────────────────────────────────────────────────────────

#: Seconds between two looks at the files, and the looks between two signs of life.
_LOOK_S: Final = 1.0
_SIGN: Final = 10


async def _stream(site: Site, stays: Callable[[], bool]) -> AsyncIterator[str]:
    """Yield what changes as server-sent events until the service has ended, or who listens no longer *stays*."""
    seen, looks = await site.run(_versions, site), 0
    yield ": recalld\n\n"
    while stays():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(site.ended.wait(), _LOOK_S)
            return
        present, looks = await site.run(_versions, site), looks + 1
        for kind, version in present.items():
            if version != seen.get(kind, version):
                yield f"event: change\ndata: {json.dumps({'kind': kind})}\n\n"
        seen |= present
        if looks % _SIGN == 0:
            yield ":\n\n"


def _versions(site: Site) -> dict[str, tuple[Stat | None, ...]]:
    """Return for each kind of thing what changes when one does; nothing where the disk fails, which the supervisor reports."""
    try:
        ws = site.workspace
        paths, stat = ws.paths, ws.files.disk.stat
        places = {
            "message": (paths.history, paths.drop_box),
            "input": (paths.inbox,),
            "day": (paths.memory, paths.originals),
            "summary": (paths.summaries,),
            "long-term": (paths.root / ws.long_term.path,),
            "turn": (paths.turns,),
            "queue": tuple(paths.worker / name for name in ("queue", "running", "results", "failed")),
            "event": (paths.log,),
        }
        return {kind: tuple(map(stat, of_kind)) for kind, of_kind in places.items()}
    except (SupervisorError, OSError):
        return {}
