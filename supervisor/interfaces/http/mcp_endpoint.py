"""
`/mcp`: the server of `recalld mcp` over streamable HTTP, for any number of clients.

The address says who reads what a client shows, as the options of `recalld mcp` do: `session`, `chat`, `channel`, `read_only`,
`allow_delete`. The SDK is loaded for the first request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request

from ...longterm.lines import DEFAULT_SOURCE
from ...storage.errors import BadRequest
from ...storage.texts import Text
from .reading import query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from .site import Site

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
    """Return the SDK's manager of a server for the client, which is what the address of the request says."""
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
