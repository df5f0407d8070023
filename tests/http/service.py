"""The HTTP service over a workspace of tests: real uvicorn on loopback, in a thread of this process."""

import contextlib
import json
import socket
import threading
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx2

from recalld.supervisor.interfaces.http.server import HttpThread, Place
from recalld.supervisor.interfaces.serve import Answers
from tests.patience import PATIENCE_S
from tests.world import WITHOUT_MODEL, World, at

NOW = "2026-02-15T10:00"


class Raw(NamedTuple):
    """An answer as it came over the line."""

    status: int
    head: str
    body: str


class Service:
    """The service of *world* between `with` and its end; requests carry the token unless told otherwise."""

    def __init__(self, root: Path, toml: str = WITHOUT_MODEL) -> None:
        self.world = World(root, at(NOW), toml)
        self.reports: list[str] = []
        self._open = threading.Event()
        self._thread = HttpThread(Place("127.0.0.1", 0, False), Answers(lambda: self.world.ws), self.world.clock, self._report)

    def _report(self, why: str) -> None:
        self.reports.append(why)
        self._open.set()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._open.wait(PATIENCE_S), "it does not answer"
        self.client = httpx2.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.token}"}, timeout=PATIENCE_S)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self._thread.end()

    @property
    def port(self) -> int:
        return self._thread.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return self.world.paths.token.read_text().strip()

    def log(self, event: str) -> None:
        """An event comes into log.jsonl."""
        with self.world.paths.log.open("a", encoding="utf-8") as log:
            log.write(f"{json.dumps({'ts': '2026-02-15T10:00:00.000Z', 'event': event})}\n")

    def stranger(self, **headers: str) -> httpx2.Client:
        """A client without the token."""
        return httpx2.Client(base_url=self.url, headers=headers, timeout=PATIENCE_S)

    def ask(self, method: str, path: str, body: Any = None, **headers: Any) -> httpx2.Response:
        """The answer to a request whose body, if there is one, is JSON."""
        content = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        kind = {} if content is None else {"Content-Type": "application/json"}
        return self.client.request(method, path, content=content, headers={**kind, **headers})

    def problem(self, status: int, method: str, path: str, body: Any = None, **headers: str) -> dict[str, Any]:
        """The problem with which the request is refused, which has that status and names neither path nor traceback."""
        answer = self.ask(method, path, body, **headers)
        assert answer.status_code == status, (answer.status_code, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert str(self.world.root) not in answer.text
        assert "Traceback" not in answer.text
        found: dict[str, Any] = answer.json()
        assert found["status"] == status
        return found

    def raw(self, data: bytes) -> Raw:
        """What the service answers to these bytes until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as line:
            line.sendall(data)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while part := line.recv(1 << 16):
                    answer += part
        head, _, body = answer.decode("utf-8", "replace").partition("\r\n\r\n")
        return Raw(int(head.split(" ")[1]) if head else 0, head, body)
