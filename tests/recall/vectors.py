"""
A real embeddings server on loopback, for tests: each word has a direction of its own, and by a small thesaurus words that mean
the same have the same one, so that what means the same lies near. It fails in every way that servers do.
"""

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


def _embeddings(act: str, texts: list[str]) -> list[Any]:
    found: list[Any] = [[*vector(text, int(act == "another model"))] for text in texts]
    match act:
        case "other length":
            return [one[:7] for one in found]
        case "ragged":
            found[-1][3:] = [[1.0]]
        case "too few":
            del found[0]
        case "not a number":
            found[0][0] = math.nan
        case "nothing":
            found[0] = [0.0] * SIZE
    return found


class Server(Loopback):
    """*act* says how it answers: "well", or a fault's name. The last vector comes first, as it may."""

    def __init__(self) -> None:
        super().__init__()
        self.act = "well"
        self.asked: list[list[str]] = []


#: The answers that are none at all.
_ANSWERS = {
    "garbage": (200, b'{"data": ]\xff'),
    "list": (200, b"[1, 2]"),
    "deep": (200, b"[" * 5000),
    "fault": (500, b"{}"),
    "refuses all": (400, b"{}"),
    "huge": (200, b" " * 3_000_000),
}


class _Handler(Handler):
    server: Server

    def do_POST(self) -> None:  # noqa: N802 - http.server calls it by this name
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        self.server.asked.append(texts)
        match self.server.act:
            case "hang":
                self.server.ended.wait(PATIENCE_S)
            case "drip":
                self._drip()
            case "close":
                self.close_connection = True
            case "picky" if any("不要" in text for text in texts):
                self.send_body(400, b'{"error": {"message": "input too long"}}')
            case act if act in _ANSWERS:
                self.send_body(*_ANSWERS[act])
            case act:
                rows = [{"index": n, "embedding": one} for n, one in enumerate(_embeddings(act, texts))]
                self.send_body(200, json.dumps({"data": rows[::-1]}).encode())

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
FAULTS = (*_ANSWERS, "hang", "drip", "close", "other length", "ragged", "too few", "not a number", "nothing")
