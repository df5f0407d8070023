"""
A scripted OpenAI-compatible server on loopback.

Every request is answered by an act: a text that streams well, or one of the ways in which servers fail. It counts calls, tokens
and requests at once, keeps what was asked, and notices when a client went away.
"""

import contextlib
import gzip
import json
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.loopback import Handler, Loopback

TEXT = (
    "## 部署\n\n决定改到凌晨 4:15 部署，端口 8443；备份放在 /srv/backup。\n\n## 待办\n\n王芳周五前续签 git.example.com 的证书。"
)


@dataclass(frozen=True)
class Act:
    """One answer. With *status* 200 *text* streams in *parts* pieces and ends as *end* says."""

    text: str = TEXT
    status: int = 200
    message: str = ""  # of an error object
    body: bytes | None = None  # sent as it is, in place of everything else
    headers: tuple[tuple[str, str], ...] = ()
    parts: int = 4
    pause_s: float = 0  # between two parts
    wait_s: float = 0  # before the first byte
    end: str = "well"  # "well", "hang" after half of the parts, "close" after half of them, "error" told in the stream
    finish: str | None = "stop"
    refusal: str = ""
    refuses: tuple[str, ...] = ()  # parameters that are refused with 400
    mute: bool = False  # a stream has no word in it, not even the error
    model: str = "qwen-test"  # what the server calls it
    flood: bytes = b""  # sent again and again, in place of everything else, until the client goes away


#: The acts by name.
ACTS = {
    "say": Act(),
    "hang": Act(end="hang"),
    "silent": Act(wait_s=3600),
    "close": Act(end="close"),
    "drip": Act(parts=len(TEXT), pause_s=0.2),
    "slow down": Act(status=429, message="Rate limit reached for requests", headers=(("Retry-After", "37"),)),
    "too long": Act(status=400, message="This model's maximum context length is 2048 tokens, however you requested 9000"),
    "bad key": Act(status=401, message="Incorrect API key provided"),
    "no model": Act(status=404, message="model 'qwen-test' not found, try pulling it first"),
    "fault": Act(status=500, message="Internal Server Error"),
    "loading": Act(status=503, message="Loading model"),
    "rejected": Act(status=422, message="messages: invalid"),
    "garbage": Act(body=b"data: {]\xff\n\ndata: 42\n\n", headers=(("Content-Type", "text/event-stream"),)),
    "page": Act(body="<html><body>登录</body></html>".encode(), headers=(("Content-Type", "text/html"),)),
    "broken": Act(end="error", message="slot unavailable"),
    "empty": Act(text=""),
    "blank": Act(text=" \n\n"),
    "refusal": Act(text="", refusal="I can't help with that."),
    "filtered": Act(finish="content_filter"),
    "only thinks": Act(text="<think>想了很久，没有结论"),
    "cut off": Act(finish="length"),
    "no end": Act(finish=None),
    "mute": Act(mute=True, status=400, message="This model's maximum context length is 2048 tokens"),
    "old": Act(refuses=("stream_options", "temperature")),
    "endless line": Act(flood=b"data: " + b"x" * 65_530),
    "endless error": Act(status=500, flood=b"x" * 65_536),
    "gzip bomb": Act(
        body=gzip.compress(b"data: " + bytes(20_000_000), 1),
        headers=(("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip")),
    ),
    "endless thinking": Act(
        flood=b'data: {"choices": [{"index": 0, "delta": {"reasoning_content": "%s"}}]}\n\n' % (b"x" * 50_000)
    ),
}

Script = Callable[[int, str], Act]


@dataclass
class Seen:
    """What the server was asked, and what became of it."""

    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    tokens: int = 0
    at_once: int = 0
    gone: int = 0  # clients that went away before the end
    flooded: int = 0  # bytes of floods

    @property
    def calls(self) -> int:
        return len(self.bodies)

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][-1]["content"] for body in self.bodies]


class Server(Loopback):
    """Answers as *script* says, which may be set at any time."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.script: Script = lambda _number, _prompt: Act()
        self.seen = Seen()
        self.guard = threading.Lock()

    def play(self, *acts: Act | str) -> None:
        """Answer with these acts in turn, and from then on with the last."""
        found = [ACTS[act] if isinstance(act, str) else act for act in acts]
        before = self.seen.calls
        self.script = lambda number, _prompt: found[min(number - before, len(found)) - 1]


class _Handler(Handler):
    server: Server

    def do_POST(self) -> None:  # noqa: N802 - http.server calls it by this name
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seen = self.server.seen
        with self.server.guard:
            seen.bodies.append(body)
            seen.headers.append({name.lower(): value for name, value in self.headers.items()})
            seen.at_once += 1
            number = seen.calls
        try:
            self._act(self.server.script(number, body["messages"][-1]["content"]), body)
        except (OSError, TimeoutError):
            with self.server.guard:
                seen.gone += 1
            self.close_connection = True
        finally:
            with self.server.guard:
                seen.at_once -= 1

    def do_GET(self) -> None:  # noqa: N802 - http.server calls it by this name
        self._act(Act(body=json.dumps({"object": "list", "data": [{"id": "qwen-test", "object": "model"}]}).encode()), {})

    def _act(self, act: Act, body: dict[str, Any]) -> None:
        self._rest(act.wait_s)
        refused = next((name for name in act.refuses if name in body), "")
        if refused:
            act = replace(act, status=400, message=f"Unsupported parameter: '{refused}'")
        if act.mute and body.get("stream"):
            act = replace(act, status=200, body=b"", headers=(("Content-Type", "text/event-stream"),))
        if act.status == 200 and not body.get("stream") and act.body is None:
            act = replace(act, body=_whole(act, body))
        if act.flood:
            self._flood(act)
            return
        if act.body is not None or act.status != 200:
            error = {"error": {"message": act.message, "type": "error", "code": None}}
            data = json.dumps(error).encode() if act.body is None else act.body
            self.send_body(act.status, data, *act.headers)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._stream(act, body)

    def _flood(self, act: Act) -> None:
        self.close_connection = True
        self.send_response(act.status)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        while not self.server.ended.is_set():
            self.wfile.write(act.flood)
            self.server.seen.flooded += len(act.flood)

    def _stream(self, act: Act, body: dict[str, Any]) -> None:
        size = max(1, -(-len(act.text) // act.parts))
        parts = [act.text[at : at + size] for at in range(0, len(act.text), size)]
        for n, part in enumerate(parts):
            if act.end != "well" and n == len(parts) // 2:
                break
            self._chunk(act, {"content": part})
            self._rest(act.pause_s)
        if act.end == "hang":
            self._rest(3600)
        if act.end == "close":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if act.end == "error":
            self._send(json.dumps({"error": {"message": act.message, "code": 500}}))
            self._end()
            return
        if act.refusal:
            self._chunk(act, {"refusal": act.refusal})
        if act.finish is not None:
            self._chunk(act, {}, act.finish)
        told = {"prompt_tokens": len(body["messages"][-1]["content"]), "completion_tokens": len(act.text)}
        with self.server.guard:
            self.server.seen.tokens += sum(told.values())
        if body.get("stream_options", {}).get("include_usage"):
            usage = {**told, "total_tokens": sum(told.values())}
            self._send(json.dumps({**_CHUNK, "model": act.model, "choices": [], "usage": usage}))
        self._send("[DONE]")
        self._end()

    def _chunk(self, act: Act, delta: dict[str, str], finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        self._send(json.dumps({**_CHUNK, "model": act.model, "choices": [choice]}, ensure_ascii=False))

    def _send(self, data: str) -> None:
        event = f"data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.flush()

    def _end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _rest(self, seconds: float) -> None:
        """Wait, until the server ends; TimeoutError once the client is gone."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.server.ended.is_set():
            if select.select([self.connection], [], [], min(left, 0.02))[0]:
                with contextlib.suppress(OSError):
                    if self.connection.recv(1, socket.MSG_PEEK):
                        continue
                raise TimeoutError


Server.handler = _Handler
_CHUNK = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0}


def _whole(act: Act, body: dict[str, Any]) -> bytes:
    """The answer to a request that asks for no stream."""
    choice = {"index": 0, "message": {"role": "assistant", "content": act.text}, "finish_reason": act.finish}
    usage = {"prompt_tokens": len(body["messages"][-1]["content"]), "completion_tokens": len(act.text)}
    return json.dumps({**_CHUNK, "model": act.model, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
