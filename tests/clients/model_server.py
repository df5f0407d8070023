"""A model for clients: it answers `/v1/messages` (Claude Code) and `/v1/responses` (Codex) with what the script says."""

from __future__ import annotations

import json
import threading
from typing import Any

from tests.loopback import Handler, Loopback
from tests.proxy.model_server import message_stream


class _Handler(Handler):
    server: ScriptedModel

    def do_GET(self) -> None:  # noqa: N802 - http.server calls it
        self.send_body(200, b'{"data": []}')

    do_HEAD = do_GET  # noqa: N815 - as above

    def do_POST(self) -> None:  # noqa: N802 - as above
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.partition("?")[0]
        answer = self.server.asked(path, body.decode("utf-8", "replace"))
        if path.endswith("/messages"):
            lines = b"".join(message_stream(answer).pieces)
        elif path.endswith("/responses"):
            lines = responses_stream(answer, self.server.used)
        else:
            self.send_body(404, b"{}")
            return
        self.send_body(200, lines, ("Content-Type", "text/event-stream"))


class ScriptedModel(Loopback):
    """Keeps each request; *answers* has the present answer to each client, by the end of the path that it asks."""

    handler = _Handler

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[str] = []
        self.answers: dict[str, str] = {}
        self.on_request: Any = None
        #: The tokens of its window that Codex is told are used.
        self.used = 1
        self._lock = threading.Lock()

    def asked(self, path: str, body: str) -> str:
        text = json.dumps(json.loads(body), ensure_ascii=False)
        with self._lock:
            self.requests.append(text)
        if self.on_request:
            self.on_request()
        return next((answer for end, answer in self.answers.items() if path.endswith(end)), f"ok {path}")


def responses_stream(answer: str, used: int) -> bytes:
    """OpenAI's stream of responses for a text; so many tokens of the window are *used*."""
    part = {"type": "output_text", "text": answer, "annotations": []}
    item = {"type": "message", "role": "assistant", "id": "m1", "status": "completed", "content": [part]}
    none = {"input_tokens_details": None, "output_tokens_details": None}
    usage = {"input_tokens": used, "output_tokens": 1, "total_tokens": used + 1, **none}
    events = [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
