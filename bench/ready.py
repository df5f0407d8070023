"""
How soon recall is ready in a running supervisor: the context of a new input in turns/, and a saved file in a search.

    python -m bench.ready                       20,000 messages, about a minute
    python -m bench.ready --messages 100000

From the rename of inbox.json until turns/<id>.json bears its digest, with 20 messages of talk before it; from the rename of a note
until a search over the socket finds it. "first index" is the first of these while the index is being made from nothing, "quiet"
when it is made. In milliseconds; the one who waits looks every millisecond, or asks every ten.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.served import served
from bench.speed import write
from bench.talk import talk

_LOOK_S = 0.001
_LONGEST_S = 60.0


def context_ms(root: Path, n: int, text: str) -> float:
    """Put an input into the inbox, and wait for its context."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    one = {"id": f"输入-{n}", "text": text, "createdAt": now}
    data = json.dumps([one], ensure_ascii=False).encode()
    stamp = now.replace("-", "").replace(":", "").replace(".", "")
    path = root / "turns" / f"{stamp}-{hashlib.sha256(one['id'].encode()).hexdigest()[:12]}.json"
    (root / ".inbox.tmp").write_bytes(data)
    began = time.perf_counter()
    os.rename(root / ".inbox.tmp", root / "inbox.json")
    while not path.exists():
        assert time.perf_counter() - began < _LONGEST_S, f"{path.name} does not come"
        time.sleep(_LOOK_S)
    took = (time.perf_counter() - began) * 1000
    assert json.loads(path.read_bytes())["inbox"] == hashlib.sha256(data).hexdigest()
    return took


def questions(messages: int, count: int) -> list[str]:
    """Return what is asked: six words and whole messages in turn, of messages that are there."""
    every = max(1, messages // count)
    texts = [str(one["text"]) for one in islice(talk(messages, max(1, messages // 55)), 0, messages, every)][:count]
    return [" ".join(text.replace("，", " ").split()[:6]) if n % 2 else text for n, text in enumerate(texts)]


def show(what: str, took: list[float]) -> None:
    tenth = sorted(took)[int(len(took) * 0.9)]
    print(f"| {what} | {len(took)} | {statistics.median(took):.0f} | {tenth:.0f} | {max(took):.0f} |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=20_000)
    options.add_argument("--turns", type=int, default=200)
    options.add_argument("--notes", type=int, default=30)
    found = options.parse_args()
    root = Path(tempfile.mkdtemp(prefix="ready-"))
    asked = questions(found.messages, found.turns)
    try:
        write(root, found.messages)
        recent = [{**one, "id": f"刚才-{one['id']}", "archived": True} for one in talk(20, 1)]
        (root / "history.json").write_text(json.dumps(recent, ensure_ascii=False), encoding="utf-8")
        print("| | times | median | 9 of 10 | longest |\n|---|---|---|---|---|")
        with served(root) as supervisor:
            early: list[float] = []
            deadline = time.monotonic() + 600
            while not json.loads(supervisor.ask("search", "--json", "backup")):
                assert time.monotonic() < deadline
                early.append(context_ms(root, len(early), asked[len(early) % len(asked)]))
            if early:
                show("context, first index", early)
            show("context, quiet", [context_ms(root, 1000 + n, text) for n, text in enumerate(asked)])
            notes = []
            for n in range(found.notes):
                (root / "memory" / ".note.tmp").write_text(f"# 备忘 {n}\n\n新书架的编号是 shelf{n:05d}x。\n", encoding="utf-8")
                os.rename(root / "memory" / ".note.tmp", root / "memory" / f"备忘 {n}.md")
                notes.append(supervisor.await_found(f"shelf{n:05d}x", f"memory/备忘 {n}.md") * 1000)
            show("a saved note, found", notes)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
