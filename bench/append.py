"""
How fast messages are taken in: `recalld append --jsonl`, each id printed only once its message is durable.

    python -m bench.append --messages 20000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.talk import talk


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, default=20_000)
    found = options.parse_args()
    lines = "".join(json.dumps(message, ensure_ascii=False) + "\n" for message in talk(found.messages, 30))
    with tempfile.TemporaryDirectory(prefix="append-") as root:
        command = [sys.executable, "-m", "recalld", "-w", root, "append"]
        began = time.monotonic()
        done = subprocess.run([*command, "--jsonl"], input=lines.encode(), capture_output=True, check=True)
        took_s = time.monotonic() - began
        ids = done.stdout.split()
        print(f"--jsonl: {len(ids)} acknowledged in {took_s:.1f} s, {len(ids) / took_s:.0f} a second")
        began = time.monotonic()
        for n in range(10):
            subprocess.run([*command, "--role", "user", "--text", f"第 {n} 句"], check=True, stdout=subprocess.DEVNULL)
        print(
            f"one command each: {(time.monotonic() - began) / 10 * 1000:.0f} ms, beside a history of {found.messages} messages"
        )


if __name__ == "__main__":
    main()
