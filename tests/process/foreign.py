"""
Programs of other people that keep history.json: what they do to it, with none of recalld's code.

Run as a script it is such a program, for flock(1) to hold the lock around: ``flock LOCK python foreign.py HISTORY PREFIX FROM COUNT``.
"""

import contextlib
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any


def message(identity: str) -> dict[str, str]:
    """The message of that id, the same whoever asks."""
    return {"id": identity, "role": "user", "text": f"锁的风暴，第 {identity} 条", "createdAt": "2026-01-28T03:00:00.000Z"}


def read(history: Path) -> list[dict[str, Any]]:
    """The array, as soon as it can be read: somebody may be writing it in place."""
    while True:
        try:
            return list(json.loads(history.read_bytes()))
        except (ValueError, FileNotFoundError):
            time.sleep(0.002)


def add(history: Path, identities: list[str]) -> None:
    """Read, add and write by rename, as a program does that holds the lock."""
    found = [*read(history), *({**message(one), "archived": False} for one in identities)]
    other = history.with_name(f".{history.name}.{os.getpid()}.swp")
    other.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    other.chmod(0o600)
    os.rename(other, history)


def ignore_the_lock(history: Path, stop: Path, seed: int) -> int:
    """
    Rewrite history.json again and again as it was a moment ago, and with a message more; nobody is asked.

    Prints the ids of the un-written messages that each rewrite took away, as far as a last look shows them.
    """
    chance = random.Random(seed)
    count = 0
    while not stop.exists():
        time.sleep(chance.uniform(0.02, 0.2))
        count += 1
        found = read(history)[-250:]
        time.sleep(chance.uniform(0.001, 0.02))
        gone = {one["id"] for one in read(history) if not one.get("archived")} - {one["id"] for one in found}
        os.write(1, "".join(f"{identity}\n" for identity in sorted(gone)).encode())
        data = json.dumps([*found, {**message(f"rogue-{count}"), "archived": False}], ensure_ascii=False)
        if chance.random() < 0.3:
            with contextlib.suppress(FileNotFoundError), history.open("r+", encoding="utf-8") as file:
                file.truncate(0)
                file.write(data)
        else:
            other = history.with_name(f".{history.name}.rogue.swp")
            other.write_text(data, encoding="utf-8")
            other.chmod(0o600)
            os.rename(other, history)
    return 0


if __name__ == "__main__":
    path, prefix, first, number = sys.argv[1:]
    add(Path(path), [f"{prefix}-{int(first) + n}" for n in range(int(number))])
