"""
`/v1`: what a client asks its model server, with memory in it (`[serve] upstream`).

Memory is no condition of an answer: what fails, or is not there a second after `recall.timeout_ms`, is an event, and the
request goes on as it came. The answer passes piece by piece; it is read for memory when it is over. A client that hangs up ends
the request to the server.

Only the headers of a connection are each side's own. The client's key is recalld's token, and stays here; the server gets the
key from the variable that `llm.api_key_env` names, in the header in which the client sent its own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ...protocol.config import Config
from ...protocol.connections import MEMORY_LATE
from ...protocol.llm import NO_KEY, find_key, is_local, without_credentials
from ...storage.errors import as_supervisor_error
from ...storage.texts import Text
from ..http.gate import MOST_MODEL
from ..http.site import PROXY, Site
from .talk import Room, Talk, read_answer, read_talk, room, with_memory
from .turn import SESSION, Turn, is_auxiliary, keep_answer, keep_question, mark_unsent, memory_for, session_given, turn_of

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from ...protocol.turn import Receipt

    Headers = list[tuple[bytes, bytes]]

A = TypeVar("A")
#: The header with which a request is neither recorded nor given memory.
RECORD: Final = "x-recalld-record"
_NO: Final = ("no", "false", "0")
#: Turns whose block is kept for the requests in which a model gets the result of a tool.
_MOST_KEPT: Final = 64
#: Seconds until the server must have taken the connection; for its answer it has `llm.timeout`.
_CONNECT_S: Final = 10.0
#: Seconds beyond the time of the search (`recall.timeout_ms`) in which a block is made of what it found.
_BLOCK_S: Final = 1.0
#: Headers of one connection (RFC 9110, 7.6.1), and those that are made anew.
_OF_CONNECTION: Final = frozenset(
    [
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"),
        *("transfer-encoding", "upgrade"),
    ]
)
_NOT_SENT: Final = _OF_CONNECTION | {"host", "content-length", "expect", "authorization", "x-api-key", "cookie", "origin"}
_NOT_RETURNED: Final = _OF_CONNECTION | {"set-cookie"}
#: Headers for recalld begin so.
_OURS: Final = b"x-recalld-"
#: Seconds that the end waits for what is still written.
_END_S: Final = 2.0
#: What errors are called in the protocols; others are of the server.
_TYPES: Final = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error"}


@dataclass(frozen=True)
class _Asked:
    """What a client asks for a person: the *talk*, its *turn*, and the *room* that it has."""

    talk: Talk
    turn: Turn
    room: Room

    @property
    def shows(self) -> int:
        """How many messages before the question the server gets."""
        sent = self.talk.messages[self.room.begin : self.talk.at]
        return sum(1 for message in sent if message.role in ("user", "assistant") and message.words)


class Proxy:
    """The ASGI application below /v1."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._client: Any = None  # of the model server; it keeps its connections
        self._running: set[asyncio.Task[Any]] = set()
        self._blocks: dict[Turn, str] = {}
        self._keeping = asyncio.Lock()  # what was said first is kept first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back, until either side goes away."""
        request = Request(scope, receive)
        if not self._site.workspace.config.serve.upstream:
            raise HTTPException(
                404, Text("there is no model server behind this proxy: set `upstream` below `[serve]` in recalld.toml.")
            )
        if ".." in request.url.path.split("/"):
            raise HTTPException(404)  # it would leave what `upstream` names
        body = await request.body()
        answering = asyncio.create_task(self._answer(request, body, send))
        leaving = asyncio.create_task(_until_gone(receive))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            answering.cancel()
            leaving.cancel()
            await asyncio.wait({answering, leaving})
        if not answering.cancelled():
            answering.result()

    async def end(self) -> None:
        """End it: what is still written has a moment, and the connections are closed."""
        if self._running:
            await asyncio.wait(self._running, timeout=_END_S)
        if self._client:
            await self._client.aclose()

    async def _answer(self, request: Request, body: bytes, send: Send) -> None:
        ws, path = self._site.workspace, request.scope["raw_path"].decode("ascii").removeprefix(PROXY)
        session = session_given(request.headers.get(SESSION, ""))
        question = None
        if request.method == "POST" and request.headers.get(RECORD, "").strip().lower() not in _NO:
            question = await self._alone("reading the request", self._question, path, body, session)
        if question:
            try:
                body = await self._with_memory(question, body)
            finally:
                self._keep("keeping the question", keep_question, self._site, question.turn)
        headers = sent_headers(request.headers.raw, ws.config, ws.environ, is_read=question is not None)
        address = f"/{path}?{request.url.query}" if request.url.query else f"/{path}"
        response = await self._send(request.method, address, headers, body)
        data = bytearray()
        try:
            await _pass_on(response, send, data if question else None)
        finally:
            if question and response.is_success:
                is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
                read = partial(read_answer, question.talk.kind, bytes(data), is_stream=is_stream)
                self._keep("keeping the answer", keep_answer, self._site, question.turn, read)
            # subtle: a task of its own, since this one may be cancelled, and a connection has to be closed all the same
            await asyncio.shield(self._task(response.aclose()))

    def _question(self, path: str, body: bytes, session: str) -> _Asked | None:
        """Return what is asked; None for a request that is not for memory. It runs in a thread, since it may be megabytes."""
        ws, config = self._site.workspace, self._site.workspace.config
        talk = read_talk(path, body)
        if talk is None or is_auxiliary(talk, config.serve.skip):
            return None
        memory, window = config.recall.memory_tokens + config.recall.pinned_tokens, config.context.window_tokens
        space = room(talk, window, memory, keep_turns=config.conversation.keep_turns)
        return _Asked(talk, turn_of(ws, talk, session, self._site.clock()), space)

    async def _with_memory(self, question: _Asked, body: bytes) -> bytes:
        """Return the body with memory in it, and without what does not fit the window; unchanged where there is neither."""
        block = self._blocks.get(question.turn, "") if question.talk.is_continued else ""
        if not block and question.room.memory:
            block = await self._memory(question)
            self._blocks[question.turn] = block  # while tools are called, the same one, so that the server's cache holds
            if len(self._blocks) > _MOST_KEPT:
                del self._blocks[next(iter(self._blocks))]
        if not block and not question.room.begin:
            return body
        where = self._site.workspace.config.context.memory_in
        return await self._alone("memory", with_memory, question.talk, block, where, question.room.begin) or body

    async def _memory(self, question: _Asked) -> str:
        """Return memory for the question; "" where it is not there in time."""
        search = self._task(self._alone("memory", memory_for, self._site, question.turn, question.room.memory, question.shows))
        await asyncio.wait({search}, timeout=self._site.workspace.config.recall.timeout_ms / 1000 + _BLOCK_S)
        if search.done():
            return receipt.memory if (receipt := search.result()) else ""
        self._tell(MEMORY_LATE)  # the search goes on to its end
        self._task(self._unsent(search))
        return ""

    async def _unsent(self, search: asyncio.Task[Receipt | None]) -> None:
        if receipt := await search:
            await self._alone("the receipt", mark_unsent, self._site, receipt)

    def _keep(self, step: str, keep: Callable[..., None], *arguments: Any) -> None:
        async def run() -> None:
            async with self._keeping:
                await self._alone(step, keep, *arguments)

        self._task(run())

    # ── the model server ─────────────────────────────────────────────────────

    async def _send(self, method: str, path: str, headers: Headers, body: bytes) -> Any:
        """
        Return the response, whose body has not been read; it is closed by who reads it.

        HTTPException (502) if the server can't be reached, (504) if it does not answer within `llm.timeout`.
        """
        import httpx2

        config = self._site.workspace.config
        where, within = config.serve.upstream, config.llm.timeout.total_seconds()
        timeout = {"connect": min(_CONNECT_S, within), "read": within, "write": within, "pool": within}
        if self._client is None:  # to this machine no proxy of the environment is used
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
            self._client = httpx2.AsyncClient(trust_env=not is_local(where), limits=limits)
        try:
            request = httpx2.Request(
                method, f"{base_of(where)}{path}", headers=headers, content=body, extensions={"timeout": timeout}
            )
            return await self._client.send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise _refusal(error, without_credentials(where), int(within)) from None

    # ── beside the answer ────────────────────────────────────────────────────

    async def _alone(self, step: str, function: Callable[..., A], *arguments: Any) -> A | None:
        """Return what the function returns, in a thread; None if it fails: the client goes on, and an event says why."""
        try:
            return await self._site.run(function, *arguments)
        except Exception as error:  # noqa: BLE001 - a broken memory is not the client's problem
            self._tell(as_supervisor_error(error, step, self._site.workspace.paths.root).sentence)
            return None

    def _task(self, work: Coroutine[Any, Any, A]) -> asyncio.Task[A]:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def _tell(self, why: str) -> None:
        self._site.workspace.events.emit("proxy_failed", why=why)


async def _pass_on(response: Any, send: Send, data: bytearray | None) -> None:
    """Send the response, each piece as it comes; *data* gets what is read. One that breaks off is left without its end."""
    import httpx2

    await send(
        {"type": "http.response.start", "status": response.status_code, "headers": returned_headers(response.headers.raw)}
    )
    try:
        async for piece in response.aiter_raw():
            if data is not None and len(data) < MOST_MODEL:
                data += piece  # first: a client may hang up with the last piece in its hands
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except (httpx2.HTTPError, httpx2.StreamError):
        return
    await send({"type": "http.response.body", "body": b""})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def protocol_error(path: str, status: int, sentence: str, headers: Mapping[str, str]) -> Response:
    """Return an error as a client of the protocol reads it: Anthropic's for messages, else OpenAI's."""
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
    error: dict[str, Any] = {"type": kind, "message": sentence}
    if path.startswith(f"{PROXY}messages"):
        shown: dict[str, Any] = {"type": "error", "error": error}
    else:
        shown = {"error": {**error, "param": None, "code": str(status)}}
    return Response(json.dumps(shown, ensure_ascii=False), status, dict(headers), "application/json")


# ── the model server ─────────────────────────────────────────────────────────


def base_of(upstream: str) -> str:
    """
    Return the address to which the path below /v1 is added.

    >>> base_of("http://127.0.0.1:11434"), base_of("https://api.example.org/openai/v1/")
    ('http://127.0.0.1:11434/v1', 'https://api.example.org/openai/v1')
    """
    base = upstream.rstrip("/")
    return base if "/" in base.partition("://")[2] else f"{base}/v1"


def sent_headers(
    headers: Iterable[tuple[bytes, bytes]], config: Config, environ: Mapping[str, str], *, is_read: bool
) -> Headers:
    """Return the headers for the server, in their order; an answer that *is_read* here has to come uncompressed."""
    given = [*headers]
    key_in = next((name for name, _ in given if name in (b"authorization", b"x-api-key")), b"")
    sent = [(name, value) for name, value in _passed(given, _NOT_SENT) if not name.startswith(_OURS)]
    if is_read:
        sent = [*(header for header in sent if header[0] != b"accept-encoding"), (b"accept-encoding", b"identity")]
    key = find_key(config.llm.api_key_env, environ)
    if key != NO_KEY:
        sent.append((b"x-api-key", key.encode()) if key_in == b"x-api-key" else (b"authorization", f"Bearer {key}".encode()))
    return sent


def returned_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers for the client, in their order; a cookie of the server would be one of recalld's own page."""
    return _passed([(name.lower(), value) for name, value in headers], _NOT_RETURNED)


def _passed(headers: Headers, stay: frozenset[str]) -> Headers:
    named = b",".join(value for name, value in headers if name == b"connection").decode("latin-1").lower()
    left_out = stay | {name.strip() for name in named.split(",")}
    return [(name, value) for name, value in headers if name.decode("latin-1") not in left_out]


def _refusal(error: Exception, where: str, seconds: int) -> HTTPException:
    import httpx2

    if isinstance(error, (httpx2.ReadTimeout, httpx2.WriteTimeout)):
        why = Text(
            "the model server at {where} has not answered within {seconds} s; try again, or raise `llm.timeout` in recalld.toml.",
            where=where,
            seconds=seconds,
        )
        return HTTPException(504, why)
    why = Text(
        "the model server at {where} gave no answer ({kind}): see whether it runs, and what its log says; its address is `upstream` below `[serve]` in recalld.toml.",
        where=where,
        kind=type(error).__name__,
    )
    return HTTPException(502, why)
