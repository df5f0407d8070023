"""
What the backend `hybrid` costs beside the words alone: the time of a search, of a calibration, memory and bytes on disk.

    python -m bench.vectors                            20,000 messages
    python -m bench.vectors --messages 100000          about ten minutes

Made-up talk (talk.py) in dated files. The vectors are those of a server on loopback that draws them by chance, 384 numbers each, so
that no model's own time is measured: what it takes for a question comes on top. Each text is near to a few others, so that questions
pass the gate. The ways are asked in turn; beside the median of the clock stands that of the processor, for a busy machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import random
import statistics
import tempfile
import time
import zlib
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.speed import NOW, _messages, once_ms, rss_mb, write
from recalld.supervisor.host.background import prepare_backend
from recalld.supervisor.recall.hybrid import Hybrid
from recalld.supervisor.recall.meaning import calibrate
from recalld.supervisor.storage.clock import fixed_clock
from recalld.supervisor.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 384
SUBJECTS = 500
ASKED = 200


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        rows = [{"index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
        body = json.dumps({"data": rows}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@cache
def subject(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=SIZE)


def vector(text: str) -> list[float]:
    number = zlib.crc32(text.encode())
    return (subject(number % SUBJECTS) + np.random.default_rng(number).normal(size=SIZE)).round(3).tolist()


def medians(ways: dict[str, Callable[[str], object]], questions: list[str]) -> dict[str, tuple[float, float, float]]:
    """Return each way's median and 95th percentile by the clock, and its median by the processor, in milliseconds."""
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for question in questions:
        for name, way in ways.items():
            before = time.perf_counter(), time.process_time()
            way(question)
            took[name].append(((time.perf_counter() - before[0]) * 1000, (time.process_time() - before[1]) * 1000))
    figures = {}
    for name, times in took.items():
        wall = sorted(one for one, _ in times)
        figures[name] = statistics.median(wall), wall[int(len(wall) * 0.95)], statistics.median(one for _, one in times)
    return figures


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=20_000)
    found = options.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    multiprocessing.get_context("fork").Process(target=server.serve_forever, daemon=True).start()
    settings = {
        "RECALLD_RECALL_BACKEND": "hybrid", "RECALLD_RECALL_TIMEOUT_MS": "5000", "RECALLD_EMBEDDINGS_MODEL": "chance",
        "RECALLD_EMBEDDINGS_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}/v1",
    }  # fmt: skip
    clock = fixed_clock(NOW)
    with tempfile.TemporaryDirectory(prefix="vectors-") as folder:
        root = Path(folder)
        write(root, found.messages)
        words, both = open_workspace(root, {}, clock), open_workspace(root, settings, clock)
        words.searcher.refresh()
        pick = random.Random(2)
        texts = [one.text.split(" ") for one in itertools.islice(_messages(found.messages), ASKED)]
        asked = [" ".join(pick.sample(text, min(6, len(text)))) for text in texts]
        words.searcher.search(asked[0], NOW)
        before = rss_mb()
        made = once_ms(lambda: prepare_backend(both, clock))
        backend = both.reranker.backend()
        assert isinstance(backend, Hybrid)
        held, foreign = backend._store.segments(), backend._foreign  # noqa: SLF001
        assert foreign is not None
        calibrated = once_ms(lambda: calibrate(held, foreign))
        opened = once_ms(open_workspace(root, settings, clock).reranker.backend)
        calibration = backend._calibration()  # noqa: SLF001
        assert calibration is not None
        ways = {
            "search, words": lambda one: words.searcher.search(one, NOW),
            "search, hybrid": lambda one: both.searcher.search(one, NOW),
            "of it, all vectors": lambda one: [calibration.nearness(one, foreign[0], segment) for segment in held],
        }
        medians(ways, asked[:5])
        figures = medians(ways, asked)
        size = sum(path.stat().st_size for path in both.paths.vectors.iterdir())
        print(
            f"{found.messages:,} messages, {sum(len(one.names) for one in held):,} vectors in {len(held)} files, {size / 1e6:.0f} MB\n"
        )
        print("| | median ms | 95 % | processor ms |\n|---|---|---|---|")
        for name, (median, most, processor) in figures.items():
            print(f"| {name} | {median:.1f} | {most:.1f} | {processor:.1f} |")
        print(
            f"\nmade in {made / 1000:.0f} s beside the model's own time, calibrated in {calibrated:.0f} ms, opened in {opened:.0f} ms"
        )
        print(
            f"RssAnon {rss_mb():.0f} MB, before the vectors {before:.0f} MB; the files are mapped, and given back where memory is short"
        )


if __name__ == "__main__":
    main()
