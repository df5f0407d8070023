"""
Between recalld and a model's server on loopback: what is asked and answered is kept in a file, and an answer that is there is given again.

So a bench with the same prompts costs its calls once, and its figures repeat; what was refused can be read. What is asked a second time
in one run gets a second answer, as from the model itself.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

#: Seconds that an answer may take: a machine with other work writes less than a token a second.
WAIT_S: Final = 3600.0
OK: Final = 200


@dataclass(frozen=True)
class Answered:
    """A call: the *prompt*, all its turns; the *text* that came; its cost, in the server's tokens and in seconds."""

    prompt: str
    text: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float


class Recorder:
    """A server for `llm.base_url`, which asks the one at *upstream* and keeps its answers in *file*, a JSON object a line."""

    def __init__(self, upstream: str, file: Path) -> None:
        self._upstream, self._file = urlsplit(upstream), file
        self._known: dict[str, dict[str, Any]] = {}
        self._times: Counter[str] = Counter()
        self.asked: list[Answered] = []  # since it was started, those from the file among them
        self._lock = threading.Lock()
        if file.exists():
            found = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
            self._known = {one["key"]: one for one in found}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}{self._upstream.path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def complete(self, asked: dict[str, Any]) -> str:
        """Return the model's answer to a request of chat completions; ValueError where there is none."""
        one = self._answer(f"{self._upstream.path}/chat/completions", json.dumps(asked, ensure_ascii=False).encode())
        if one["status"] != OK:
            raise ValueError(f"the server answered with {one['status']}")
        return _read(one).text

    def _answer(self, path: str, body: bytes) -> dict[str, Any]:
        asked = hashlib.sha256(path.encode() + body).hexdigest()
        with self._lock:  # one at a time: a small server has one slot
            key = f"{asked}-{self._times[asked]}"
            if key not in self._known:
                began = time.monotonic()
                status, kind, answer = self._forward("POST", path, body)
                seconds = round(time.monotonic() - began, 1)
                one = {"key": key, "request": body.decode(), "status": status, "type": kind, "body": answer, "seconds": seconds}
                if status != OK:  # a fault is not an answer, and is asked again
                    return one
                self._known[key] = one
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(one, ensure_ascii=False) + "\n")
            self._times[asked] += 1
            self.asked.append(_read(self._known[key]))
            return self._known[key]

    def _forward(self, method: str, path: str, body: bytes | None = None) -> tuple[int, str, str]:
        connection = HTTPConnection(self._upstream.hostname or "", self._upstream.port, timeout=WAIT_S)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type", "application/json"), answer.read().decode()
        finally:
            connection.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                one = recorder._answer(self.path, body)
                self._send(one["status"], one["type"], one["body"])

            def do_GET(self) -> None:
                self._send(*recorder._forward("GET", self.path))

            def _send(self, status: int, kind: str, body: str) -> None:
                data = body.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        return Handler


def _read(one: dict[str, Any]) -> Answered:
    prompt = "\n".join(turn["content"] for turn in json.loads(one["request"])["messages"])
    text, usage = "", {}
    for chunk in _chunks(one["body"]):
        for choice in chunk.get("choices", [])[:1]:
            text += (choice.get("delta") or choice.get("message") or {}).get("content") or ""
        usage = chunk.get("usage") or usage
    return Answered(prompt, text, usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0), one["seconds"])


def _chunks(body: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data:").strip() for line in body.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines or [body] if line and line != "[DONE]"]
