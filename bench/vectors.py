"""
What meaning costs beside the words alone: the time of a search, memory and bytes on disk.

    python -m bench.vectors                            20,000 messages
    python -m bench.vectors --messages 100000          about ten minutes

Made-up talk (talk.py) in dated files. The vectors are drawn by chance, 512 numbers each, so that no model's own time is measured:
what it takes for a question comes on top. Each text is near to a few others. The ways are asked in turn; beside the median of the
clock stands that of the processor, for a busy machine.

    python -m bench.vectors --model                    the memory of a process before the model, with it, and after it was given back
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from bench.speed import NOW, _messages, once_ms, rss_mb, write
from recalld.supervisor.host.jobs import make_vectors
from recalld.supervisor.recall.embedders import USE, InProcess
from recalld.supervisor.recall.vectors import VectorStore
from recalld.supervisor.storage.clock import fixed_clock, within
from recalld.supervisor.workspace import open_workspace

SIZE = 512
SUBJECTS = 500
ASKED = 200
SETTINGS = {"RECALLD_RECALL_TIMEOUT_MS": "5000"}


@cache
def subject(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=SIZE)


class Chance:
    """A model that draws."""

    name = "chance"

    def load(self) -> None:
        """It is there."""

    def unload(self) -> None:
        """It stays."""

    def vectors(self, texts: Sequence[str], _within_s: float, *, asks: bool = False) -> np.ndarray:
        del asks
        numbers = [zlib.crc32(text.encode()) for text in texts]
        rows = np.array([subject(one % SUBJECTS) + np.random.default_rng(one).normal(size=SIZE) for one in numbers], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


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


def model() -> None:
    with tempfile.TemporaryDirectory(prefix="vectors-") as folder:
        ws = open_workspace(Path(folder), {}, fixed_clock(NOW))
        ws.searcher.search("anything", NOW)
        before, made = rss_mb(), InProcess(USE, ws.config.privacy)
        loading = once_ms(made.load)
        made.vectors(["I changed my phone number"] * 8, 1.0)
        held = rss_mb()
        took = statistics.median(
            once_ms(lambda: made.vectors(["what was my number again?"], 1.0, asks=True)) for _ in range(50)
        )
        made.unload()
        print(f"RssAnon {before:.0f} MB, with the model {held:.0f} MB, after it was given back {rss_mb():.0f} MB")
        print(f"loaded in {loading:.0f} ms, a question in {took:.1f} ms")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=20_000)
    options.add_argument("--model", action="store_true")
    found = options.parse_args()
    if found.model:
        model()
        return
    clock = fixed_clock(NOW)
    with tempfile.TemporaryDirectory(prefix="vectors-") as folder:
        root = Path(folder)
        write(root, found.messages)
        words, both = open_workspace(root, SETTINGS, clock), open_workspace(root, SETTINGS, clock, lasting=True)
        meaning, chance = both.meaning, Chance()
        assert meaning is not None
        store = VectorStore(both.files, both.paths.vectors, both.paths.state / "vectors.lock", chance.name)
        meaning.embedder = chance, store
        words.searcher.refresh()
        pick = random.Random(2)
        texts = [one.text.split(" ") for one in itertools.islice(_messages(found.messages), ASKED)]
        asked = [" ".join(pick.sample(text, min(6, len(text)))) for text in texts]
        words.searcher.search(asked[0], NOW)
        before = rss_mb()
        made = once_ms(lambda: make_vectors(both, clock))
        ways = {
            "search, words": lambda one: words.searcher.search(one, NOW),
            "search, meaning too": lambda one: both.searcher.search(one, NOW),
            "of it, all vectors": lambda one: meaning.ask(one, within(5))(None),
        }
        medians(ways, asked[:5])
        figures = medians(ways, asked)
        size = sum(path.stat().st_size for path in both.paths.vectors.iterdir())
        held = store.table()
        assert held is not None
        print(f"{found.messages:,} messages, {len(held.units):,} vectors, {size / 1e6:.0f} MB\n")
        print("| | median ms | 95 % | processor ms |\n|---|---|---|---|")
        for name, (median, most, processor) in figures.items():
            print(f"| {name} | {median:.1f} | {most:.1f} | {processor:.1f} |")
        print(f"\nmade in {made / 1000:.0f} s beside the model's own time")
        print(f"RssAnon {rss_mb():.0f} MB, before the vectors {before:.0f} MB; the files are mapped")


if __name__ == "__main__":
    main()
