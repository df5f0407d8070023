"""A web server on loopback that serves from a thread of its own: the ground of the servers that stand in for models."""

import contextlib
import secrets
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


def free_port() -> int:
    """A port at which nobody listens, below those that the system gives to whoever asks for any: nobody gets it meanwhile."""
    while True:
        port = 10_000 + secrets.randbelow(22_768)
        with socket.socket() as line, contextlib.suppress(OSError):
            line.bind(("127.0.0.1", port))
            return port


class Loopback(ThreadingHTTPServer):
    """Serves between `with` and its end; a handler that waits, waits for *ended*."""

    daemon_threads = True
    request_queue_size = 128  # the five of the library are too few for forty clients that come at once
    handler: type[BaseHTTPRequestHandler]

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), self.handler)
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """A client that goes away is no error of the server's."""


class Handler(BaseHTTPRequestHandler):
    """Answers one request; it logs nothing."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def send_body(self, status: int, data: bytes, *headers: tuple[str, str]) -> None:
        """Send a whole answer: JSON, unless *headers* say what it is."""
        self.send_response(status)
        for name, value in headers or (("Content-Type", "application/json"),):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
