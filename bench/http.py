"""
What the HTTP service costs a supervisor: memory with the port and without, a request, and a turn beside others.

    python -m bench.http                                     5,000 messages, 2,000 requests: two minutes

Made-up talk (talk.py) in dated files. Memory is what the process holds for itself (RssAnon) once it rests: without a port, with
one, after the first request, after so many. A request is one of a client with one connection; processor time is the
supervisor's. "inject" goes to the socket, as a hook asks, alone and while a client sends 50 requests a second over HTTP.
"""

from __future__ import annotations

import argparse
import itertools
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx2

from bench.served import Served, processor_s, served
from bench.speed import write

A_SECOND = 50
TURNS = 60
WORDS = ("花生 过敏", "deploy timeout", "上次 备份", "weekend plan")


def client_of(here: Served, port: int) -> httpx2.Client:
    token = (here.root / ".recalld" / "token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}", "Accept-Language": "en"}
    return httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60)


def timed(here: Served, ask: Callable[[], object], times: int) -> tuple[float, float]:
    """Return the median milliseconds of a request, and the milliseconds of processor that each costs the supervisor."""
    took, before = [], processor_s(here.process.pid)
    for _ in range(times):
        began = time.perf_counter()
        ask()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took), (processor_s(here.process.pid) - before) * 1000 / times


def turns(here: Served) -> float:
    """Return the median milliseconds of `inject` at the socket."""
    questions = itertools.cycle(WORDS)
    return timed(here, lambda: here.ask("inject", "--query", next(questions)), TURNS)[0]


def beside(client: httpx2.Client, ask: Callable[[], float]) -> float:
    """Return what *ask* returns while the client sends A_SECOND requests a second."""
    over = threading.Event()

    def send() -> None:
        due = time.monotonic()
        while not over.is_set():
            client.get("/api/memory/stats")
            due += 1 / A_SECOND
            over.wait(max(0.0, due - time.monotonic()))

    sender = threading.Thread(target=send)
    sender.start()
    try:
        return ask()
    finally:
        over.set()
        sender.join()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=5_000)
    options.add_argument("--requests", type=int, default=2_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, given.messages)
        with served(root) as here:  # which makes the index
            here.await_rest()
        with served(root) as here:
            here.ask("search", "--json", "--", WORDS[0])
            here.await_rest()
            print(f"memory without a port: {here.memory_mb():.0f} MB")
        with socket.socket() as line:
            line.bind(("127.0.0.1", 0))
            port = line.getsockname()[1]
        with served(root, RECALLD_SERVE_PORT=str(port)) as here:
            here.ask("search", "--json", "--", WORDS[0])
            here.await_rest()
            print(f"memory with a port, not asked yet: {here.memory_mb():.0f} MB")
            measure(here, port, given.requests)


def measure(here: Served, port: int, requests: int) -> None:
    with client_of(here, port) as client, client_of(here, port) as other:
        client.get("/api/memory/stats").raise_for_status()
        print(f"after the first request: {here.memory_mb():.0f} MB")
        words = itertools.cycle(WORDS)
        asks: dict[str, tuple[Callable[[], object], int]] = {
            "GET /healthz": (lambda: client.get("/healthz"), 300),
            "GET /api/memory/stats": (lambda: client.get("/api/memory/stats"), 300),
            "POST /api/search": (lambda: client.post("/api/search", json={"query": next(words)}), 100),
            "search at the socket": (lambda: here.ask("search", "--json", "--", next(words)), 100),
        }
        for name, (ask, times) in asks.items():
            took, cpu = timed(here, ask, times)
            print(f"{name}: {took:.1f} ms, {cpu:.1f} ms of processor")
        alone = turns(here)
        print(f"inject: {alone:.1f} ms alone, {beside(other, lambda: turns(here)):.1f} ms beside {A_SECOND} requests a second")
        print(f"after searches and turns: {here.memory_mb():.0f} MB")
        timed(here, lambda: client.get("/api/memory/stats"), requests)
        print(f"after {requests:,} requests more: {here.memory_mb():.0f} MB")


if __name__ == "__main__":
    main()
