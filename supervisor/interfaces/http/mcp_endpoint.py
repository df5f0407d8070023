"""
`/mcp`: the server of `recalld mcp` over streamable HTTP, for any number of clients.

The address says who reads what a client shows, as the options of `recalld mcp` do: `session`, `chat`, `channel`, `read_only`,
`allow_delete`. For each such caller there is a server while it is asked; the SDK is loaded for the first of them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from starlette.requests import Request

from ...longterm.lines import DEFAULT_SOURCE
from ...storage.errors import BadRequest
from ...storage.texts import Text
from .reading import query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from ...text.language import Language
    from ...workspace import Workspace
    from .site import Site

#: Servers that are kept at once; the one that was asked longest ago ends for another.
_MOST_SERVERS: Final = 8
#: Calls that one server answers at once.
_AT_ONCE: Final = 8
_FLAGS: Final = {"": False, "false": False, "true": True}


class Client(NamedTuple):
    """Who reads what a client of MCP shows, and what it may do."""

    session: str
    chat: str
    channel: str
    read_only: bool
    allow_delete: bool
    language: Language

    @classmethod
    def of(cls, site: Site, request: Request) -> Client:
        """Return what the address of the request says; BadRequest for a parameter that is unknown or wrong."""
        given = query(request, "session", "chat", "channel", "read_only", "allow_delete")
        site.caller(request, given.get("session", ""), given.get("chat", ""))  # which refuses what is no kind of chat
        return cls(
            session=given.get("session", ""),
            chat=given.get("chat", ""),
            channel=given.get("channel") or DEFAULT_SOURCE,
            read_only=_flag(given, "read_only"),
            allow_delete=_flag(given, "allow_delete"),
            language=site.language(request),
        )


def _flag(given: Mapping[str, str], name: str) -> bool:
    value = given.get(name, "")
    if value not in _FLAGS:
        raise BadRequest(
            name, Text("{value} is not allowed, give {allowed}", value=repr(value[:40]), allowed=Text("true or false"))
        )
    return _FLAGS[value]


class McpEndpoint:
    """The ASGI application at `/mcp`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._servers: dict[Client, _Server] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a client."""
        client = await self._site.run(Client.of, self._site, Request(scope))
        await (await self._server(client)).manager.handle_request(scope, receive, send)

    async def end(self) -> None:
        """End all servers."""
        for server in self._servers.values():
            await server.end()
        self._servers.clear()

    async def _server(self, client: Client) -> _Server:
        ws = self._site.workspace
        server = self._servers.pop(client, None)
        if server and server.ws is not ws:  # the configuration has changed
            await server.end()
            server = None
        if server is None:
            server = _Server(ws, await self._site.run(_manager, self._site, ws, client))
            await server.start()
        self._servers[client] = server  # the last in order
        while len(self._servers) > _MOST_SERVERS:
            await self._servers.pop(next(iter(self._servers))).end()
        return server


class _Server:
    """A server over the workspace *ws*, in a task of its own, in which the SDK's scopes begin and end."""

    def __init__(self, ws: Workspace, manager: Any) -> None:
        self.ws, self.manager = ws, manager
        self._started, self._ending = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())
        await self._started.wait()

    async def end(self) -> None:
        self._ending.set()
        if self._task:
            await self._task

    async def _run(self) -> None:
        async with self.manager.run():
            self._started.set()
            await self._ending.wait()


def _manager(site: Site, ws: Workspace, client: Client) -> Any:
    """Return the SDK's manager of a server for this client; each request stands alone, so that no client is kept."""
    from ..api import Memory
    from ..mcp import MemoryServer
    from ..tools.registry import register_all_tools

    memory = Memory(ws, clock=site.clock, keep_fresh=False)
    registry = register_all_tools(memory, **client._asdict())
    tools: Any = registry.tools  # there are some, since there is a memory
    return MemoryServer(registry, tools, at_once=_AT_ONCE).http_manager()
