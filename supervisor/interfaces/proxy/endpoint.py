"""
`/v1`: what a client asks its model server, with memory in it (`[serve] upstream`).

Memory is no condition of an answer: what fails, or takes longer than `recall.timeout_ms`, is an event, and the request goes on
as it came. The answer passes piece by piece; it is read for memory when it is over. A client that hangs up ends the request to
the server.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from ...storage.os_errors import as_supervisor_error
from ...storage.texts import Text, render
from ...text.language import language_of
from ..http.gate import MOST_MODEL, PROXY
from ..http.problem import Refused
from .answers import read_answer
from .auxiliary import is_auxiliary
from .changed import Window, room, with_memory
from .talk import read_talk
from .turn import SESSION, keep_answer, keep_question, memory_for, session_given, turn_of
from .upstream import Upstream, returned_headers, sent_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from starlette.types import Receive, Scope, Send

    from ..http.site import Site
    from .changed import Room
    from .talk import Talk
    from .turn import Turn

A = TypeVar("A")
#: The header with which a request is neither recorded nor given memory.
RECORD: Final = "x-recalld-record"
_NO: Final = ("no", "false", "0")
#: The characters of a question that show its language.
_MOST_READ: Final = 1_000
#: Turns whose block is kept for the requests in which a model gets the result of a tool.
_MOST_KEPT: Final = 64
#: Searches that are made at once: many more take as long one by one. A question waits for its turn so many times as long as
#: `recall.timeout_ms`, at most.
_SEARCHES: Final = 4
_TURNS: Final = 20
#: Seconds that the end waits for what is still written.
_END_S: Final = 2.0
#: What errors are called in the protocols; others are of the server.
_TYPES: Final = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error"}


class _Asked(NamedTuple):
    """What a client asks for a person: the *talk*, its *turn*, and the *room* that it has."""

    talk: Talk
    turn: Turn
    room: Room

    @property
    def shows(self) -> int:
        """How many messages before the question the server gets."""
        sent = self.talk.said[self.room.begin : self.talk.at]
        return sum(1 for message in sent if message.role in ("user", "assistant") and message.words)


class Proxy:
    """The ASGI application below /v1."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._upstream = Upstream()
        self._running: set[asyncio.Task[Any]] = set()
        self._blocks: dict[Turn, str] = {}
        self._kept: dict[str, asyncio.Task[None]] = {}
        self._searching = asyncio.Semaphore(_SEARCHES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back, until either side goes away."""
        request = Request(scope, receive)
        if not self._site.workspace.config.serve.upstream:
            raise Refused(
                404, Text("there is no model server behind this proxy: set `upstream` below `[serve]` in recalld.toml.")
            )
        if ".." in request.url.path.split("/"):
            raise Refused(
                404, Text("there is nothing at this address; `/openapi.json` has the addresses for programs, `/` is the page.")
            )  # it would leave what `upstream` names
        body = await request.body()
        answering = asyncio.create_task(self._answer(request, body, send))
        leaving = asyncio.create_task(_until_gone(receive))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (answering, leaving):
                task.cancel() if not task.done() else None
            await asyncio.wait({answering, leaving})
        if not answering.cancelled():
            answering.result()

    async def begin(self) -> None:
        """Load what the first request would wait for, if there is a server behind."""
        if where := self._site.workspace.config.serve.upstream:
            await self._site.run(self._upstream.load, where)

    async def end(self) -> None:
        """End it: what is still written has a moment, and the connections are closed."""
        if self._running:
            await asyncio.wait(self._running, timeout=_END_S)
        await self._upstream.close()

    async def _answer(self, request: Request, body: bytes, send: Send) -> None:
        ws, path = self._site.workspace, request.scope["raw_path"].decode("ascii").removeprefix(PROXY)
        session = session_given(request.headers.get(SESSION, ""))
        question = None
        if _is_for_memory(request):
            question = await self._alone("reading the request", self._asked, path, body, session)
        if question:
            try:
                body = await self._with_memory(question, body)
            finally:
                self._keep_question(question)
        headers = sent_headers(request.headers.raw, ws.config, ws.environ, is_read=question is not None)
        address = f"/{path}?{request.url.query}" if request.url.query else f"/{path}"
        try:
            response = await self._upstream.send(ws.config, request.method, address, headers, body)
        except Refused as refused:
            raise (_in_language_of(question.turn.question, refused) if question else refused) from None
        data = bytearray()
        try:
            await _pass_on(response, send, data if question else None)
        finally:
            if question and response.is_success:
                is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
                self._keep_answer(question, bytes(data), is_stream=is_stream)
            # subtle: a task of its own, since this one may be cancelled, and a connection has to be closed all the same
            await asyncio.shield(self._task(response.aclose()))

    # ── memory ───────────────────────────────────────────────────────────────

    def _asked(self, path: str, body: bytes, session: str) -> _Asked | None:
        """Return what is asked; None for a request that is not for memory. It runs in a thread, since it may be megabytes."""
        ws = self._site.workspace
        talk = read_talk(path, body)
        if talk is None or is_auxiliary(talk, ws.config.serve.skip):
            return None
        config = ws.config
        memory = config.recall.memory_tokens + config.recall.pinned_tokens
        window = Window(config.context.window_tokens, memory, config.tokens.cjk_weight, config.conversation.keep_turns)
        return _Asked(talk, turn_of(ws, talk, session, self._site.clock()), room(talk, window))

    async def _with_memory(self, request: _Asked, body: bytes) -> bytes:
        """Return the body with memory in it, and without what does not fit the window; unchanged where there is neither."""
        config, key = self._site.workspace.config, request.turn
        block = self._blocks.get(key, "") if request.talk.is_continued else ""
        if not block and request.room.memory:
            block = await self._memory(request)
            self._keep_block(key, block)  # while tools are called, the same one, so that the server's cache holds
        if not block and not request.room.begin:
            return body
        made = await self._alone("memory", with_memory, request.talk, block, config.context.memory_in, request.room.begin)
        return body if made is None else made

    async def _memory(self, request: _Asked) -> str:
        """
        Return memory for the question; "" where it is not there in time.

        Its time begins when its turn has come: of many questions at once each gets it, one after another.
        """
        within = self._site.workspace.config.recall.timeout_ms / 1000
        try:
            await asyncio.wait_for(self._searching.acquire(), within * _TURNS)
        except TimeoutError:
            self._tell("too many questions at once")
            return ""
        searching = self._task(self._alone("memory", memory_for, self._site, request.turn, request.room.memory, request.shows))
        searching.add_done_callback(lambda _: self._searching.release())  # one that takes too long goes on to its end
        await asyncio.wait({searching}, timeout=within)
        if not searching.done():
            self._tell("memory took too long")
        return (searching.result() or "") if searching.done() else ""

    def _keep_block(self, turn: Turn, block: str) -> None:
        """Keep the block of the turn, and of all no more than the newest."""
        self._blocks.pop(turn, None)
        self._blocks[turn] = block
        for key in [*self._blocks][:-_MOST_KEPT]:
            del self._blocks[key]

    # ── what is kept ─────────────────────────────────────────────────────────

    def _keep_question(self, request: _Asked) -> None:
        self._keep(request.turn.session, "keeping the question", partial(keep_question, self._site, request.turn))

    def _keep_answer(self, request: _Asked, data: bytes, *, is_stream: bool) -> None:
        def keep() -> None:
            keep_answer(self._site, request.turn, read_answer(request.talk.kind, data, is_stream=is_stream))

        self._keep(request.turn.session, "keeping the answer", keep)

    def _keep(self, session: str, step: str, keep: Callable[[], None]) -> None:
        """Keep something while the client goes on, behind what was said in the session before."""
        before = self._kept.get(session)

        async def run() -> None:
            if before:
                await asyncio.wait({before})
            await self._alone(step, keep)
            if self._kept.get(session) is task:
                del self._kept[session]

        task = self._kept[session] = self._task(run())

    # ── beside the answer ────────────────────────────────────────────────────

    async def _alone(self, step: str, function: Callable[..., A], *arguments: Any) -> A | None:
        """Return what the function returns, in a thread; None if it fails: the client goes on, and an event says why."""
        try:
            return await self._site.run(function, *arguments)
        except Exception as error:  # noqa: BLE001 - a broken memory is not the client's problem
            self._tell(as_supervisor_error(error, step, self._site.workspace.paths.root).sentence)
            return None

    def _task(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # who waits for it gets it; else nobody asks

    def _tell(self, why: str) -> None:
        self._site.workspace.events.emit("proxy_failed", why=why)


def _is_for_memory(request: Request) -> bool:
    return request.method == "POST" and request.headers.get(RECORD, "").strip().lower() not in _NO


def _in_language_of(question: str, refused: Refused) -> Refused:
    """Return the refusal in the language of the question: it stands where its answer would."""
    return Refused(refused.status, render(refused.sentence, language_of(question[:_MOST_READ])), refused.headers)


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
    """Return when the client has gone away."""
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
