"""
The routes of a supervisor for a request that `recalld gateway` has passed on over its socket: no port is needed for them.

They are those for programs: operations, MCP, the routes of 000, the metrics. The gateway has checked Host, Origin, token, size.
They are made once for all workspaces of a process, which took 0.4 of the 1.0 ms of a request.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from recalld.supervisor.interfaces.http.access import Access
from recalld.supervisor.interfaces.http.app import passed_app
from recalld.supervisor.interfaces.http.changes import Changes
from recalld.supervisor.interfaces.http.mcp_endpoint import McpEndpoint
from recalld.supervisor.interfaces.http.site import Site
from recalld.supervisor.operations.table import NAMES, find
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.files import Files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from recalld.supervisor.interfaces.http.site import Answers
    from recalld.supervisor.operations.operation import Caller, Operation
    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.workspace import Workspace

Q = TypeVar("Q")
A = TypeVar("A")
#: Seconds that a request of MCP may take besides, the first of which loads the SDK.
_MORE_S: Final = 10.0


#: What performs the operations of the request that this thread answers.
_ASKED: ContextVar[Answers] = ContextVar("asked")


class _Asked:
    """What performs the operations of whichever workspace is asked (`site.Answers`)."""

    @property
    def workspace(self) -> Workspace:
        """The workspace that is asked."""
        return _ASKED.get().workspace

    def perform(self, operation: Operation[Q, A], request: Q, caller: Caller) -> A:
        """Return the answer of an operation."""
        return _ASKED.get().perform(operation, request, caller)


class _Site(Site):
    """The workspace of a request, which has a thread of its own already."""

    def __init__(self, clock: Clock) -> None:
        nobody = Access(Files(RealDisk()), WorkspacePaths(Path()))  # the gateway has asked for the token
        super().__init__(_Asked(), nobody, Changes(), clock, "", 0)

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what the function returns."""
        return function(*arguments)


def answer_passed(answers: Answers, clock: Clock, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return {status, headers, body} for {method, path, query, headers, body}, bodies in base64; else ValueError."""
    try:
        sent = [(str(name).encode("latin-1"), str(value).encode("latin-1")) for name, value in asked["headers"]]
        method, path, query = (str(asked[name]) for name in ("method", "path", "query"))
        body = b64decode(asked["body"], validate=True)
        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": path,
            "query_string": query.encode("latin-1"),
            "headers": sent,
        }
    except (KeyError, TypeError) as error:
        raise ValueError("no request over HTTP") from error
    before = _ASKED.set(answers)
    try:
        return asyncio.run(_answered(_app(clock), scope, body))
    finally:
        _ASKED.reset(before)


@cache
def _app(clock: Clock) -> ASGIApp:
    site = _Site(clock)
    return passed_app(site, _Mcp(site))


class _Mcp:
    """The ASGI application at `/mcp`; its servers live as long as the request, as the loop does that they need."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a client."""
        endpoint = McpEndpoint(self._site)
        try:
            await endpoint(scope, receive, send)
        finally:
            await endpoint.end()


async def _answered(app: ASGIApp, scope: Scope, body: bytes) -> dict[str, Any]:
    answered: list[Message] = []
    asked: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return asked.pop() if asked else await asyncio.Future()  # the client stays

    async def send(message: Message) -> None:
        answered.append(message)

    await app(scope, receive, send)
    begun, *parts = answered
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in begun["headers"]]
    whole = b"".join(part.get("body", b"") for part in parts)
    return {"status": begun["status"], "headers": headers, "body": b64encode(whole).decode("ascii")}


def passed_within_s(config: Config, asked: object) -> float:
    """Return how many seconds the answer may take: as long as the operation; where the path names none, as the longest."""
    path = str(asked.get("path", "")) if isinstance(asked, dict) else ""
    name = path.removeprefix("/api/")
    return _MORE_S + find(name if name in NAMES else "summarize").patience_s(config)
