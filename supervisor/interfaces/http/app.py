"""
The application that a supervisor serves over HTTP: its own routes, MCP, and the page where the wheel has one.

`/events` says what has changed, for open pages: a stream of server-sent events with kinds and names, and never a word of a
message. The files are looked at once a second for each listener; the events of the log are read from its end on.

`/mcp` is the server of `recalld mcp` over streamable HTTP, for any number of clients. Its address says who reads what a client
shows, as the options of `recalld mcp` do: `session`, `chat`, `channel`, `read_only`, `allow_delete`. The SDK is loaded for the
first request.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from ...events import priority
from ...longterm.lines import DEFAULT_SOURCE
from ...storage.disk import Stat, open_regular
from ...storage.errors import BadRequest, InternalError, SupervisorError, as_supervisor_error
from ...storage.texts import Text, render
from ...text.language import Language
from ...workspace import Workspace
from ..proxy.endpoint import Proxy, protocol_error
from .api_routes import memory_routes, operation_routes, problem
from .gate import NO_TOKEN, Gate
from .site import FORM_HEADER, PROXY, Site, form_fields, json_object, media_type, query

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
    if not isinstance(error, (HTTPException, SupervisorError, OSError)):
        ws.events.report("http", [InternalError.of("a request over HTTP", error)])
    status, sentence, headers, more = _refusal(error, site.language(request), str(ws.paths.root))
    if request.url.path.startswith(PROXY):
        return protocol_error(request.url.path, status, sentence, headers)
    is_browser = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(("/api/", "/mcp"))
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
#: The priority of an event that is no fault.
_NOTICE: Final = 6
#: The changes of one look, and the newest bytes of the log that it reads.
_MOST: Final = 100
_MOST_BYTES: Final = 100_000
#: A change, {kind, id}; the id of an event is its name.
_Change: TypeAlias = "dict[str, str]"
#: What changes when something of that kind does.
_Signatures: TypeAlias = "dict[str, tuple[Stat | None, ...]]"


async def _stream(site: Site, stays: Callable[[], bool]) -> AsyncIterator[str]:
    """Yield the changes as server-sent events until the service has ended, or who listens no longer *stays*."""
    with contextlib.closing(_Look(lambda: site.workspace)) as look:
        await site.run(look.changes)
        yield ": recalld\n\n"
        looks = 0
        while stays():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(site.ended.wait(), _LOOK_S)
                return
            changes, looks = await site.run(look.changes), looks + 1
            for change in changes:
                yield f"event: change\ndata: {json.dumps(change)}\n\n"
            if looks % _SIGN == 0:
                yield ":\n\n"


class _Look:
    """What a listener has seen of the workspace that is *served*."""

    def __init__(self, served: Callable[[], Workspace]) -> None:
        self._served = served
        self._seen: _Signatures | None = None
        self._log: FileIO | None = None

    def close(self) -> None:
        """Close the log."""
        if self._log:
            self._log.close()

    def changes(self) -> list[_Change]:
        """Return what has changed since the last call; nothing where the disk fails, which the supervisor reports."""
        try:
            ws = self._served()
            before, self._seen = self._seen, _signatures(ws)
        except (SupervisorError, OSError):
            return []
        changes = [*_logged(self._lines(ws))]
        if before is None:
            return []
        kinds = [{"kind": kind, "id": ""} for kind, version in self._seen.items() if before[kind] != version]
        return [*changes, *kinds][-_MOST:]

    def _lines(self, ws: Workspace) -> Iterator[bytes]:
        """Yield the lines that have come to the log; a file that was rotated meanwhile is read to its end before the next."""
        with contextlib.suppress(OSError):
            stat = ws.files.disk.stat(ws.paths.log)
            if self._log:
                yield from _rest(self._log)
            if stat and not (self._log and os.fstat(self._log.fileno()).st_ino == stat.inode):
                log = FileIO(open_regular(ws.paths.log, os.O_RDONLY))
                self.close()
                self._log = log
                yield from _rest(log)


def _rest(log: FileIO) -> list[bytes]:
    size = os.fstat(log.fileno()).st_size
    log.seek(max(min(log.tell(), size), size - _MOST_BYTES))
    return log.read().splitlines()


def _logged(lines: Iterable[bytes]) -> Iterator[_Change]:
    for line in lines:
        with contextlib.suppress(ValueError, LookupError, TypeError, RecursionError):
            name = json.loads(line)["event"]
            if isinstance(name, str):
                yield {"kind": "fault" if priority(name) < _NOTICE else "event", "id": name}


def _signatures(ws: Workspace) -> _Signatures:
    """Return what changes in the workspace when something of a kind does; costs a few stats."""
    paths, stat = ws.paths, ws.files.disk.stat

    def of(*places: Path) -> tuple[Stat | None, ...]:
        return tuple(map(stat, places))

    return {
        "message": of(paths.history, paths.drop_box),
        "input": of(paths.inbox),
        "day": of(paths.memory, paths.originals),
        "summary": of(paths.summaries),
        "long-term": of(paths.root / ws.long_term.path),
        "turn": of(paths.turns),
        "queue": of(paths.worker / "queue", paths.worker / "running", paths.worker / "results", paths.worker / "failed"),
    }


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
