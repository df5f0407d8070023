"""
A real embeddings server on loopback, for tests: each word has a direction of its own, and by a small thesaurus words that mean
the same have the same one, so that what means the same lies near. It fails in every way that servers do.
"""

from __future__ import annotations

import json
import math
import random
import time
from functools import cache
from typing import Any

from recalld.supervisor.text.tokenizer import tokens
from tests.loopback import Handler, Loopback
from tests.patience import PATIENCE_S

SIZE = 256
#: What the model knows to mean the same, as the tokeniser spells it.
SAME = {"汽车": "轿车", "感冒": "发烧", "生病": "发烧", "automobil": "car", "vehicl": "car", "怕": "过敏"}


@cache
def direction(word: str, seed: int) -> tuple[float, ...]:
    """The direction of a word, nearly square to all others."""
    chance = random.Random(f"{seed} {word}")
    return tuple(chance.gauss() for _ in range(SIZE))


@cache
def vector(text: str, seed: int = 0) -> tuple[float, ...]:
    """The vector of a text, by the model *seed*."""
    words = [SAME.get(word, word) for word in tokens(text)]
    found = [sum(parts) for parts in zip(direction("", seed), *(direction(word, seed) for word in words), strict=True)]
    length = math.sqrt(sum(x * x for x in found))
    return tuple(x / length for x in found)


class Server(Loopback):
    """*act* says how it answers: "well", or a fault's name."""

    def __init__(self) -> None:
        super().__init__()
        self.act = "well"
        self.asked: list[list[str]] = []
        self.headers: list[dict[str, str]] = []


class _Handler(Handler):
    server: Server

    def do_POST(self) -> None:  # noqa: N802 - http.server calls it by this name
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body["input"])
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self._act(self.server.act, body["input"])

    def _act(self, act: str, texts: list[str]) -> None:
        rows: Any = [{"index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
        match act:
            case "another model":
                rows = [{"index": n, "embedding": vector(text, 1)} for n, text in enumerate(texts)]
            case "hang":
                self.server.ended.wait(PATIENCE_S)
            case "drip":
                self._drip()
                return
            case "shuffled":
                rows.reverse()
            case "other length":
                rows = [{"index": n, "embedding": vector(text)[:7]} for n, text in enumerate(texts)]
            case "ragged":
                rows[-1]["embedding"] = [*rows[-1]["embedding"][:3], [1.0]]
            case "too few":
                rows = rows[1:]
            case "not a number":
                rows[0]["embedding"][0] = math.nan
            case "infinite":
                rows[0]["embedding"][0] = 1e39
            case "nothing":
                rows = [{"index": n, "embedding": [0.0] * SIZE} for n in range(len(texts))]
            case "words":
                rows[0]["embedding"] = ["花生"] * SIZE
            case "empty":
                rows = []
            case "picky" if any("不要" in text for text in texts):
                self.send_body(400, b'{"error": {"message": "input too long"}}')
                return
            case "close":
                self.close_connection = True
                return
        answers = {
            "page": (200, "<html>登录</html>".encode()),
            "garbage": (200, b'{"data": ]\xff'),
            "list": (200, b"[1, 2]"),
            "deep": (200, b"[" * 5000),
            "fault": (500, b"{}"),
            "bad key": (401, b"{}"),
            "no model": (404, b"{}"),
            "loading": (503, b"{}"),
            "refuses all": (400, b"{}"),
            "huge": (200, b" " * 3_000_000),
        }
        status, data = answers.get(act, (200, json.dumps({"data": rows}).encode()))
        self.send_body(status, data)

    def _drip(self) -> None:
        """Send a byte now and then: no single wait is long."""
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        until = time.monotonic() + 30
        while time.monotonic() < until and not self.server.ended.wait(0.02):
            self.wfile.write(b" ")
            self.wfile.flush()


Server.handler = _Handler
#: Every way in which an answer is none.
FAULTS = (
    *("hang", "drip", "other length", "ragged", "too few", "not a number", "infinite", "nothing", "words", "empty", "close"),
    *("page", "garbage", "list", "deep", "fault", "bad key", "no model", "loading", "refuses all", "huge"),
)
