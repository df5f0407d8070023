"""
How long a search takes, compared with the same words searched exhaustively by rank-bm25, by bm25s and by SQLite FTS5.

    python -m bench.speed                                  1,000, 10,000 and 100,000 messages, about two minutes
    python -m bench.speed 1000000 --beside FTS5            a million; rank-bm25 would want some 10 GB
    python -m bench.speed --json speed.json                and bench/plot.py draws it

Made-up talk (talk.py) in dated files, 55 messages a day. Medians of warm searches for words of messages that are there, in
milliseconds. The others are given the tokens of our own tokeniser, held in memory, and return the best 100; "search" and "inject"
are the product's own, from the question as text to hits with their words, or to the memory block and its receipt on disk, asked
one after the other as in a supervisor, after two hundred others, no question twice; "asked" is the same through the socket of one that has come to rest, with everything the
command does. Then the others are asked in turn with ours, so that a busy machine, and a processor's caches that each of them
fills again, slow all alike: of that come "× as long" and "search, in turn". --cpu takes this process's processor time. Beside it:
making the index, looking at it unchanged and after one changed file, opening it, and what the process holds (RssAnon) before the
others are loaded. bm25s is an extra: pip install -e '.[bench]'.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bench.recall import input_of
from bench.served import served
from bench.talk import talk
from recalld.supervisor.context.build import inject
from recalld.supervisor.context.turns import ReceiptStore, save_receipt
from recalld.supervisor.protocol.dated_file import block_of, render_dated
from recalld.supervisor.protocol.message import Message, read_message
from recalld.supervisor.recall.search import LIMIT
from recalld.supervisor.storage.clock import fixed_clock
from recalld.supervisor.text.tokenizer import tokens
from recalld.supervisor.workspace import open_workspace

A_DAY = 55
ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 10, 1, tzinfo=UTC)
SEARCHES = {"six words": 6, "a sentence": 20}
ASKED = 31
#: Other questions of each kind that are asked before.
BEFORE = 100
#: What is slower than this is asked no more than five times for each kind of search. In milliseconds.
SLOW = 300.0


def write(root: Path, count: int) -> None:
    """Write the talk as dated files, a day at a time."""
    (root / "memory").mkdir()
    (root / "history.json").write_text("[]\n")
    (root / "recalld.toml").write_text('[archive]\ntimezone = "Asia/Shanghai"\n')
    for day, said in groupby(_messages(count), lambda one: one.created_at.astimezone(ZONE).date()):  # type: ignore[union-attr]
        data = render_dated(day, ZONE.key, ZONE, datetime.now(UTC), [block_of(one) for one in said])
        (root / "memory" / f"{day}-talk.md").write_bytes(data)


def _messages(count: int) -> Iterator[Message]:
    for raw in talk(count, max(1, count // A_DAY)):
        message = read_message(raw, ZONE)
        assert isinstance(message, Message)
        yield message


def once_ms(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return (time.perf_counter() - began) * 1000


def rss_mb() -> float:
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon")), 0.0)


# ── those beside it: tokens in, the best 100 out ─────────────────────────────


def exhaustive(corpus: list[list[str]]) -> Callable[[list[str]], object]:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi(corpus, k1=1.2, b=0.75)
    return lambda words: index.get_scores(words).argsort()[::-1][:LIMIT]


def bm25s(corpus: list[list[str]]) -> Callable[[list[str]], object]:
    import bm25s as library

    index = library.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(corpus, show_progress=False)
    most = min(LIMIT, len(corpus))
    return lambda words: index.retrieve([words], k=most, show_progress=False, n_threads=0)


def fts5(corpus: list[list[str]]) -> Callable[[list[str]], object]:
    base = sqlite3.connect(":memory:")
    base.execute("create virtual table said using fts5(words, tokenize=\"unicode61 tokenchars '.-_/+#'\")")
    base.executemany("insert into said values (?)", ((" ".join(words),) for words in corpus))

    def search(words: list[str]) -> object:
        asked = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
        return base.execute("select rowid, rank from said where said match ? order by rank limit ?", (asked, LIMIT)).fetchall()

    return search


BESIDE = {"rank-bm25": exhaustive, "bm25s": bm25s, "FTS5": fts5}


# ── one size ─────────────────────────────────────────────────────────────────


def medians(
    ways: dict[str, Callable[[list[str]], object]], questions: list[list[str]], clock: Callable[[], float]
) -> dict[str, float]:
    """Return each way's median in milliseconds, asked in turn; the first question warms them up."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way(questions[0])
    for words in questions:
        for name, way in ways.items():
            if len(took[name]) < 5 or statistics.median(took[name]) < SLOW:
                began = clock()
                way(words)
                took[name].append((clock() - began) * 1000)
    return {name: statistics.median(times) for name, times in took.items()}


def measure(count: int, beside: list[str], clock: Callable[[], float]) -> dict[str, Any]:
    """Return the figures of one size; the folder is gone afterwards."""
    root = Path(tempfile.mkdtemp(prefix="speed-"))
    try:
        write(root, count)
        figures = {"messages": count, "files": len(list((root / "memory").glob("*.md"))), **index_figures(root)}
        corpus = [tokens(message.text) for message in _messages(count)] if beside else []
        pick = random.Random(1)
        texts = corpus or [tokens(message.text) for message in _messages(1000)]

        def drawn(count: int) -> dict[str, list[list[str]]]:
            """Questions that nobody has asked yet."""
            return {name: [_question(pick, texts, most) for _ in range(count)] for name, most in SEARCHES.items()}

        ws = open_workspace(root, {}, fixed_clock(NOW))

        def injected(words: list[str]) -> None:
            asked = input_of(ws, " ".join(words), NOW)
            found = ws.searcher.search(asked.question, NOW, asked.before)
            turn = inject(asked, NOW, found, config=ws.config, events=ws.events)
            save_receipt(turn, receipts=ReceiptStore(ws.files, ws.paths), events=ws.events)

        def searched(words: list[str]) -> None:
            ws.searcher.search(" ".join(words), NOW)

        for words in itertools.chain.from_iterable(drawn(BEFORE).values()):
            searched(words)
        beside_ours = {"search, in turn": searched, **{name: BESIDE[name](corpus) for name in beside}}
        figures["ms"] = {name: {} for name in SEARCHES}

        def ask(ways: dict[str, Callable[[list[str]], object]], clock: Callable[[], float] = clock) -> None:
            for name, asked in drawn(ASKED).items():
                figures["ms"][name] |= medians(ways, asked, clock)

        ask({"search": searched})
        ask({"inject": injected})
        ask(beside_ours)
        with served(root) as supervisor:
            supervisor.await_rest()
            theirs = supervisor.cpu_s if clock is time.process_time else clock
            ask({"search, asked": lambda words: supervisor.ask("search", "--limit", str(LIMIT), "--", " ".join(words))}, theirs)
            ask({"inject, asked": lambda words: supervisor.ask("inject", "--query", " ".join(words))}, theirs)
            figures["supervisor MB"] = supervisor.memory_mb()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return figures


def _question(pick: random.Random, texts: list[list[str]], most: int) -> list[str]:
    return list(dict.fromkeys(pick.choice(texts)))[:most]


def index_figures(root: Path) -> dict[str, float]:
    """Make the index and return what that and its upkeep cost."""
    ws = open_workspace(root, {}, fixed_clock(NOW))
    made = once_ms(ws.searcher.refresh)
    again = once_ms(ws.searcher.refresh)
    path = max((root / "memory").glob("*.md"))
    changes = []
    for n in range(5):
        text = path.read_text(encoding="utf-8")
        path.write_text(f"{text.rstrip()} 第 {n} 次改动\n", encoding="utf-8")
        changes.append(once_ms(ws.searcher.refresh))
    other = open_workspace(root, {}, fixed_clock(NOW))
    opened = once_ms(lambda: other.searcher.search("备份", NOW))
    return {"made": made, "again": again, "changed": statistics.median(changes), "opened": opened, "RssAnon": rss_mb()}


def show(figures: dict[str, Any]) -> None:
    """Print the figures of one size as Markdown."""
    print(
        f"\n{figures['messages']:,} messages in {figures['files']:,} files: index made in {figures['made'] / 1000:.1f} s; looked at unchanged in "
        f"{figures['again']:.1f} ms,\nafter one changed file in {figures['changed']:.1f} ms; opened and searched in {figures['opened']:.1f} ms; "
        f"RssAnon {figures['RssAnon']:.0f} MB,\nof a supervisor beside it {figures['supervisor MB']:.0f} MB\n"
    )
    names = list(next(iter(figures["ms"].values())))
    print(f"| ms | {' | '.join(names)} |\n{'|---' * (len(names) + 1)}|")
    for kind, ms in figures["ms"].items():
        others = {name: f"{ms[name]:.1f} ({ms[name] / ms['search, in turn']:.1f} × as long)" for name in BESIDE if name in ms}
        print(f"| {kind} | {' | '.join(others.get(name, f'{ms[name]:.1f}') for name in names)} |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("messages", nargs="*", type=int, default=[1_000, 10_000, 100_000])
    options.add_argument("--beside", nargs="*", choices=list(BESIDE), default=list(BESIDE), help="what it is compared with")
    options.add_argument("--cpu", action="store_true", help="processor time, on a machine that is busy with other things")
    options.add_argument("--json", type=Path, help="write the figures there as well")
    found = options.parse_args()
    beside = list(found.beside)
    if "bm25s" in beside:
        try:
            import bm25s as _  # noqa: F401
        except ImportError:
            beside.remove("bm25s")
            print("bm25s is left out: it is not installed (pip install -e '.[bench]')", file=sys.stderr)
    all_figures = []
    for count in found.messages:
        all_figures.append(measure(count, beside, time.process_time if found.cpu else time.perf_counter))
        show(all_figures[-1])
    if found.json:
        found.json.write_text(json.dumps(all_figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
