"""
What a running supervisor holds in memory while files change: RssAnon, with the index open and jieba's dictionary loaded.

    python -m bench.memory                                   20,000 messages, 200 updates: a minute or two
    python -m bench.memory --messages 100000 --updates 1000

Made-up talk (talk.py) in dated files. An update is one file saved with a new line, and the wait until the supervisor finds that
line; beside it a Chinese and an English injection each tenth time, as turns would ask. The latency from the save to the first
answer that has it is reported as well.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from bench.served import served
from bench.speed import write

STEPS = 10
LIMIT_MB = 250


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=20_000)
    options.add_argument("--updates", type=int, default=200)
    options.add_argument("--json", type=Path, help="write the figures there as well")
    found = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="memory-") as folder:
        root = Path(folder)
        write(root, found.messages)
        paths = sorted((root / "memory").glob("*.md"))
        with served(root) as supervisor:
            supervisor.ask("inject", "--query", "服务器 备份 失败 because the server backup failed")
            held = [(0, supervisor.memory_mb(), supervisor.memory_mb("VmRSS"))]
            print(f"{found.messages:,} messages in {len(paths):,} files\n\n| updates | RssAnon MB | VmRSS MB |\n|---|---|---|")
            print(f"| 0 | {held[0][1]:.0f} | {held[0][2]:.0f} |", flush=True)
            took = []
            for n in range(1, found.updates + 1):
                path = paths[n * 7 % len(paths)]
                word = f"update{n:05d}x"
                with path.open("a", encoding="utf-8") as file:
                    file.write(f"\n第 {n} 次改动 {word}\n")
                took.append(supervisor.await_found(word, str(path.relative_to(root))))
                if n % 10 == 0:
                    supervisor.ask("inject", "--query", f"备份 {word} 花生")
                    supervisor.ask("inject", "--query", f"peanut allergy {word}")
                if n % max(1, found.updates // STEPS) == 0:
                    held.append((n, supervisor.memory_mb(), supervisor.memory_mb("VmRSS")))
                    print(f"| {n} | {held[-1][1]:.0f} | {held[-1][2]:.0f} |", flush=True)
            used = supervisor.cpu_s()
    half = [mb for n, mb, _ in held if n >= found.updates // 2]
    print(
        f"\nhighest {max(mb for _, mb, _ in held):.0f} MB (aim: {LIMIT_MB}); over the second half {half[-1] - half[0]:+.1f} MB"
    )
    print(
        f"found after a median of {statistics.median(took) * 1000:.0f} ms, at most {max(took) * 1000:.0f} ms; {used:.0f} s of processor"
    )
    if found.json:
        found.json.write_text(json.dumps(held) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
