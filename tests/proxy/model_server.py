"""A model's server on loopback that answers with bytes of the test, and keeps what it was sent, to the byte."""

from __future__ import annotations

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


class ModelServer(Loopback):
    """Gives the *replies* one after another, the last of them for ever."""

    def __init__(self, *replies: Reply) -> None:
        self.handler = _Answering
        self.replies = list(replies)
        self.got: list[Got] = []
        self.gone = threading.Event()  # a client has hung up while it waited
        super().__init__()

    def next(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class _Answering(Handler):
    server: ModelServer

    def do_POST(self) -> None:  # noqa: N802 - the name of http.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.got.append(Got(self.command, self.path, headers, body))
        reply = self.server.next()
        if reply is MUTE:
            self._wait()
            return
        self.send_response_only(reply.status)
        for name, value in (*reply.headers, ("Transfer-Encoding", "chunked")):
            self.send_header(name, value)
        self.end_headers()
        for piece in reply.pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        if reply.waits:
            self._wait()
        if reply.breaks or reply.waits:
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST  # noqa: N815 - the names of http.server
    do_DELETE = do_POST  # noqa: N815

    def _wait(self) -> None:
        """Wait until the client hangs up, or the test ends."""
        self.connection.settimeout(0.02)
        while not self.server.ended.is_set():
            with contextlib.suppress(TimeoutError):
                if not self.connection.recv(1):
                    self.server.gone.set()
                    return


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
