"""A model's server on loopback that answers with bytes of the test, and keeps what it was sent, to the byte."""

import contextlib
import json
import threading
from typing import Any, NamedTuple

from tests.loopback import Handler, Loopback

EVENTS = ("Content-Type", "text/event-stream")


class Got(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Reply(NamedTuple):
    """An answer: its *pieces* are sent one by one; one that *breaks* ends without its end, one that *waits* sends no more."""

    pieces: tuple[bytes, ...]
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    breaks: bool = False
    waits: bool = False


#: A server that takes a request, and says nothing.
MUTE = Reply(())
#: One that closes the connection instead.
DROPS = Reply((), breaks=True)


class ModelServer(Loopback):
    """Gives the *replies* one after another, the last of them for ever."""

    def __init__(self, *replies: Reply) -> None:
        self.handler = _Answering
        self.replies = list(replies)
        self.got: list[Got] = []
        self.gone = 0  # clients that have hung up before the end
        self.open = 0  # requests that are being answered
        self.guard = threading.Lock()
        super().__init__()

    def next(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class _Answering(Handler):
    server: ModelServer

    def do_POST(self) -> None:  # noqa: N802 - the name of http.server
        with self.server.guard:
            self.server.open += 1
        is_gone = True
        with contextlib.suppress(ConnectionError):
            is_gone = self._answer()
        with self.server.guard:
            self.server.open -= 1
            self.server.gone += is_gone

    def _answer(self) -> bool:
        """Answer, and return whether the client has hung up before the end."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.got.append(Got(self.command, self.path, headers, body))
        reply = self.server.next()
        if reply is MUTE:
            return self._wait()
        if reply is DROPS:
            self.close_connection = True
            return False
        self.send_response_only(reply.status)
        for name, value in (*reply.headers, ("Transfer-Encoding", "chunked")):
            self.send_header(name, value)
        self.end_headers()
        for piece in reply.pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.close_connection = reply.breaks or reply.waits
        if reply.waits:
            return self._wait()
        if not reply.breaks:
            self.wfile.write(b"0\r\n\r\n")
        return False

    do_GET = do_POST  # noqa: N815 - the names of http.server
    do_DELETE = do_POST  # noqa: N815

    def _wait(self) -> bool:
        """Wait until the client hangs up, and return True, or until the test ends."""
        self.connection.settimeout(0.02)
        while not self.server.ended.is_set():
            with contextlib.suppress(TimeoutError):
                if not self._received():
                    return True
        return False

    def _received(self) -> bytes:
        """Return what the client sends, b"" once it has closed or reset the connection."""
        with contextlib.suppress(ConnectionError):
            return self.connection.recv(1)
        return b""


def chat(*words: str, **message: Any) -> Reply:
    """A whole chat completion."""
    made = {"role": "assistant", "content": "".join(words) or None, **message}
    ended = "tool_calls" if "tool_calls" in message else "stop"
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": made, "finish_reason": ended}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return Reply((json.dumps(body).encode(),))


def chat_stream(*words: str, end: bool = True, **more: Any) -> Reply:
    """A streamed chat completion, a piece a word."""
    made = [_chunk({"content": one}, None) for one in words] + ([_chunk({}, "stop"), b"data: [DONE]\n\n"] if end else [])
    return Reply(tuple(made), headers=(EVENTS,), **more)


def _chunk(delta: dict[str, Any], ended: str | None) -> bytes:
    body = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    body |= {"choices": [{"index": 0, "delta": delta, "finish_reason": ended}]}
    return b"data: %s\n\n" % json.dumps(body, ensure_ascii=False).encode()


def message_stream(*words: str) -> Reply:
    """A streamed message of Anthropic's, a piece a word."""
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**head, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": one}} for one in words),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    return Reply(tuple(map(_event, events)), headers=(EVENTS,))


def message(*blocks: dict[str, Any], ended: str = "end_turn") -> Reply:
    """A whole message of Anthropic's."""
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(blocks)}
    body |= {"stop_reason": ended, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    return Reply((json.dumps(body).encode(),))


def response(words: str, identity: str = "resp_1", *calls: dict[str, Any]) -> Reply:
    """A whole response of OpenAI's `responses`."""
    return Reply((json.dumps(_response(words, identity, *calls)).encode(),))


def response_stream(*words: str, identity: str = "resp_1") -> Reply:
    """A streamed response, a piece a word."""
    empty = {**_response("", identity), "status": "in_progress", "output": []}
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "logprobs": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": empty},
        *({"type": "response.output_text.delta", "delta": one, **where} for one in words),
        {"type": "response.completed", "response": _response("".join(words), identity)},
    ]
    return Reply(tuple(_event({**one, "sequence_number": n}) for n, one in enumerate(events)), headers=(EVENTS,))


def _response(words: str, identity: str, *calls: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "output_text", "text": words, "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    body = {"id": identity, "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    more = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {**body, **more, "output": [*([said] if words else ()), *calls]}


def _event(body: dict[str, Any]) -> bytes:
    return f"event: {body['type']}\ndata: {json.dumps(body, ensure_ascii=False)}\n\n".encode()
