"""
How long a search takes, beside the same words searched exhaustively by rank-bm25 and by SQLite FTS5.

    python bench/speed.py [1000 10000 100000]

Made-up talk (talk.py) in dated files, 55 messages a day. Medians of warm searches in one process, in milliseconds; what is
searched for are words of messages that are there. Beside it: making the index, looking at it unchanged, after one changed
file, opening it, and the memory that the process holds (RssAnon).
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from talk import talk

from supervisor.policy.query import ask
from supervisor.protocol.clock import frozen
from supervisor.protocol.dated import block_of, render_dated
from supervisor.protocol.message import Message, read_message
from supervisor.recall import LIMIT, recall, refresh
from supervisor.text.words import tokens
from supervisor.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable

A_DAY = 55
ZONE = ZoneInfo("Asia/Shanghai")
SEARCHES = {"six words": 6, "a sentence": 20}


def write(root: Path, count: int) -> list[str]:
    """Write the talk as dated files; return its texts."""
    (root / "memory").mkdir()
    (root / "recalld.toml").write_text('[archive]\ntimezone = "Asia/Shanghai"\n')
    days: dict[Any, list[Message]] = {}
    for raw in talk(count, max(1, count // A_DAY)):
        message = read_message(raw, ZONE)
        assert isinstance(message, Message)
        assert message.created_at
        days.setdefault(message.created_at.astimezone(ZONE).date(), []).append(message)
    for day, said in days.items():
        data = render_dated(day, ZONE.key, ZONE, datetime.now(UTC), [block_of(one) for one in said])
        (root / "memory" / f"{day}-talk.md").write_bytes(data)
    return [one.text for said in days.values() for one in said]


def median_ms(run: Callable[[Any], object], asked: list[Any]) -> float:
    took = []
    for one in asked:
        began = time.perf_counter()
        run(one)
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def once_ms(run: Callable[[], object]) -> float:
    return median_ms(lambda _: run(), [None])


def rss_mb() -> float:
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon")), 0.0)


def exhaustive(corpus: list[list[str]]) -> Callable[[list[str]], object]:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi(corpus, k1=1.2, b=0.75)
    return lambda words: index.get_scores(words).argsort()[::-1][:LIMIT]


def fts5(corpus: list[list[str]]) -> Callable[[list[str]], object]:
    base = sqlite3.connect(":memory:")
    base.execute("create virtual table said using fts5(words, tokenize=\"unicode61 tokenchars '.-_/+#'\")")
    base.executemany("insert into said values (?)", [(" ".join(words),) for words in corpus])

    def search(words: list[str]) -> object:
        asked = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
        return base.execute("select rowid, rank from said where said match ? order by rank limit ?", (asked, LIMIT)).fetchall()

    return search


def measure(count: int) -> None:
    root = Path(tempfile.mkdtemp(prefix="speed-"))
    texts = write(root, count)
    now = datetime(2026, 10, 1, tzinfo=UTC)
    ws = open_workspace(root, {}, frozen(now))
    made = once_ms(lambda: refresh(ws))
    again = once_ms(lambda: refresh(ws))
    path = max((root / "memory").glob("*.md"))
    changes = []
    for n in range(5):
        text = path.read_text(encoding="utf-8")
        path.write_text(f"{text.rstrip()} 第 {n} 次改动\n", encoding="utf-8")
        changes.append(once_ms(lambda: refresh(ws)))
    other = open_workspace(root, {}, frozen(now))
    opened = once_ms(lambda: other.index.search(ask("备份", now.date()), 5))
    held = rss_mb()
    print(
        f"\n{count:,} messages in {count // A_DAY:,} days: index made in {made / 1000:.1f} s, looked at unchanged in {again:.1f} ms,"
    )
    print(
        f"after one changed file in {statistics.median(changes):.1f} ms; opened and searched in {opened:.1f} ms; RssAnon {held:.0f} MB\n"
    )
    corpus = [tokens(text) for text in texts]
    others = {"rank-bm25, exhaustive": exhaustive(corpus), "SQLite FTS5": fts5(corpus)}
    print("| search | recall, all of it | the index alone | " + " | ".join(f"{name} | times" for name in others) + " |")
    print("|---" * (3 + 2 * len(others)) + "|")
    pick = random.Random(1)
    for name, most in SEARCHES.items():
        asked = [list(dict.fromkeys(pick.choice(corpus)))[:most] for _ in range(41)]
        whole = median_ms(lambda words: recall(ws, " ".join(words), now), asked)
        ours = median_ms(lambda words: ws.index.search(ask(" ".join(words), now.date()), LIMIT), asked)
        cells = []
        for search in others.values():
            theirs = median_ms(search, asked[:11])
            cells.append(f"{theirs:.1f} | {theirs / ours:.1f}")
        print(f"| {name} | {whole:.1f} | {ours:.1f} | {' | '.join(cells)} |")
    shutil.rmtree(root)


if __name__ == "__main__":
    for size in [int(argument) for argument in sys.argv[1:]] or [1_000, 10_000, 100_000]:
        measure(size)
