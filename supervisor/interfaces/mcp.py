"""
`recalld mcp`: the tools over MCP, for one client at standard input and output.

The official SDK implements the protocol. Schemas and the check of arguments come from the tools' own definitions, so that every
interface answers with the same sentence: the SDK's own messages have many lines, and it accepts unknown arguments silently.
"""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from ..storage.control import acting
from ..text.lazy_re import lazy_re
from .locate import version
from .tools.definitions import Definition
from .tools.memory_tools import MemoryTools
from .tools.registry import Reply, ToolRegistry

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.context import ServerRequestContext

_NO_MESSAGE: Final = "this line is no JSON-RPC message; send one object a line."
#: Seconds that requests have to be answered once the input has ended, and between two looks whether they are.
_LAST_S: Final = 30.0
_LOOK_S: Final = 0.02
#: Asks the supervisor for the answer to a call of a tool; None if it has to be answered here.
Asks: TypeAlias = Callable[[dict[str, Any]], dict[str, Any] | None]
#: Half an emoji, sent by a client that cuts a text anywhere.
_HALF: Final = lazy_re("[\ud800-\udfff]")


class MemoryServer(Server[Any]):
    """
    An MCP server for the tools of *registry*, which offers nothing else and answers one call at a time.

    A running supervisor is *ask*ed first, so that this process loads no index; without one the tools answer here.
    """

    def __init__(self, registry: ToolRegistry, tools: MemoryTools, ask: Asks = lambda _: None) -> None:
        super().__init__(
            "recalld",
            title="recalld",
            version=version().rpartition(" ")[2],
            instructions=registry.guidance(),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self._registry = registry
        self._tools = tools
        self._ask = ask
        self._limiter = anyio.CapacityLimiter(1)

    async def _list_tools(self, _context: Any, _parameters: Any) -> ListToolsResult:
        return ListToolsResult(tools=[self._tool(definition) for definition in self._registry.definitions])

    async def _call_tool(self, context: ServerRequestContext[Any], call: CallToolRequestParams) -> CallToolResult:
        client = _client_of(context)
        reply = await anyio.to_thread.run_sync(self._call, call.name, call.arguments or {}, client, limiter=self._limiter)
        text = TextContent(type="text", text=reply.text)
        return CallToolResult(content=[text], structured_content=reply.data, is_error=reply.is_error)

    def _tool(self, definition: Definition) -> Tool:
        language = self._registry.language
        return Tool(
            name=definition.name,
            description=definition.description(language),
            input_schema=definition.schema(language, self._registry.dialect),
            annotations=ToolAnnotations(
                read_only_hint=not definition.writes,
                destructive_hint=definition.deletes,
                # the same words are not written twice, except in a group that can't see the first
                idempotent_hint=definition.deletes or not definition.writes or self._tools.audience.sees_all,
                open_world_hint=False,
            ),
        )

    def _call(self, name: str, arguments: dict[str, Any], client: str) -> Reply:
        request = {"name": name, "arguments": arguments, "channel": self._tools.channel, **self._registry.limits}
        if answer := self._ask({**request, "client": client}):
            return Reply(**answer["answer"])
        with acting("tool", client):
            return self._registry.call(name, arguments)

    # ── the wire ─────────────────────────────────────────────────────────────

    async def run_stdio_async(self) -> None:
        """
        Serve the client at standard input until it goes; a line that is no JSON-RPC message is answered with an error.

        What was asked before the input ended is answered, for a client that sends its requests and closes the pipe.
        """
        async with stdio_server() as (messages, answers):
            sender, receiver = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            replies, replied = anyio.create_memory_object_stream[SessionMessage](0)
            unanswered: set[int | str] = set()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_relay, messages, sender, answers, unanswered)
                tasks.start_soon(_relay_answers, replied, answers, unanswered)
                await self.run(receiver, replies, self.create_initialization_options())


def _client_of(context: ServerRequestContext[Any]) -> str:
    """Return the name that the client gave itself, with its version."""
    params = context.session.client_params
    return f"{params.client_info.name} {params.client_info.version}" if params else ""


async def _relay(
    messages: Any, sender: MemoryObjectSendStream[SessionMessage | Exception], answers: Any, unanswered: set[int | str]
) -> None:
    """
    Pass on each message, and then wait for the answers: the SDK drops what is *unanswered* once the input has ended.

    It also silently drops a line that it can't read, and the client would wait for ever.
    """
    async with sender:
        async for message in messages:
            sent = message if isinstance(message, SessionMessage) else _reread(message)
            match sent.message:
                case JSONRPCError():
                    await answers.send(sent)
                    continue
                case JSONRPCRequest(id=identity):
                    unanswered.add(identity)
                case JSONRPCNotification(method="notifications/cancelled", params={"requestId": identity}):
                    unanswered.discard(identity)
            await sender.send(sent)
        with anyio.move_on_after(_LAST_S):
            while unanswered:  # noqa: ASYNC110 - which of many answers is the last one, no event tells
                await anyio.sleep(_LOOK_S)


async def _relay_answers(replied: MemoryObjectReceiveStream[SessionMessage], answers: Any, unanswered: set[int | str]) -> None:
    async with answers, replied:
        async for reply in replied:
            await answers.send(reply)
            if isinstance(reply.message, JSONRPCResponse | JSONRPCError):
                unanswered.discard(reply.message.id)


def _reread(error: Exception) -> SessionMessage:
    """Return the message of a line that the SDK could not read, or the error that answers it."""
    inputs = [entry["input"] for entry in error.errors()] if isinstance(error, ValidationError) else [None]
    data: Any = next((value for value in inputs if isinstance(value, dict) and "jsonrpc" in value), inputs[0])
    if isinstance(data, str):  # the line itself, which is no JSON or has half an emoji
        line, data = data, None
        with contextlib.suppress(ValueError, RecursionError):
            data = json.loads(line)
            whole = _HALF.sub("\ufffd", json.dumps(data, ensure_ascii=False))
            return SessionMessage(jsonrpc_message_adapter.validate_json(whole, by_name=False))
    code = PARSE_ERROR if data is None else INVALID_REQUEST
    identity = data.get("id") if isinstance(data, dict) else None
    fault = ErrorData(code=code, message=_NO_MESSAGE)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=identity if isinstance(identity, (int, str)) else None, error=fault))


def serve(registry: ToolRegistry, tools: MemoryTools, ask: Asks = lambda _: None) -> None:
    """Serve the client at standard input and output until it goes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # else the SDK waits for a thread that waits for standard input
    try:
        anyio.run(MemoryServer(registry, tools, ask).run_stdio_async)
    except* (BrokenPipeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # the client has gone; every write that was confirmed to it is on disk
