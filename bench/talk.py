"""
Made-up talk of any length for the benchmarks: Chinese and English, numbers and paths, the same for the same seed.

Words are drawn as often as the languages use them: English by Zipf's law from the list of common words that recalld ships, Chinese
by the counts of jieba's dictionary. So a few words stand everywhere, most in few messages, as in talk that people have.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from itertools import accumulate
from pathlib import Path

import jieba

#: Chinese words that are drawn from, the commonest; as many as people use.
_CHINESE = 20_000
_DAY_US = 86_400_000_000


@cache
def _english() -> tuple[list[str], list[float]]:
    """Return words, the commonest first, and their shares added up."""
    words = resources.files("recalld.supervisor.text").joinpath("data/english.txt").read_text(encoding="ascii").split()
    return words, list(accumulate(1 / rank for rank in range(1, len(words) + 1)))


@cache
def _chinese() -> tuple[list[str], list[float]]:
    with jieba.get_dict_file() as file:
        counted = [line.decode().split(" ")[:2] for line in file]
    counted.sort(key=lambda one: (-int(one[1]), one[0]))
    counted = [one for one in counted if not one[0].isascii()][:_CHINESE]
    return [word for word, _ in counted], list(accumulate(float(count) for _, count in counted))


def talk(count: int, days: int, seed: int = 1) -> Iterator[dict[str, object]]:
    """Yield *count* messages spread evenly over *days*, as history.json holds them."""
    pick = random.Random(seed)
    start = datetime(2024, 11, 1, 1, tzinfo=UTC)
    for n in range(count):
        at = start + timedelta(microseconds=days * _DAY_US * n // count)
        is_chinese = pick.random() < 0.5
        vocabulary, shares = _chinese() if is_chinese else _english()
        words = pick.choices(vocabulary, cum_weights=shares, k=pick.randint(8, 40))
        text = ("" if is_chinese else " ").join(words) + f" /srv/data/{pick.randint(0, 9999)}"
        yield {
            "id": f"talk-{n:07d}",
            "role": "assistant" if n % 2 else "user",
            "text": text,
            "createdAt": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "archived": False,
        }


def write_history(path: Path, count: int, days: int) -> datetime:
    """Write a first history.json; return the moment a day after its last message."""
    messages = list(talk(count, days))
    path.write_text(json.dumps(messages, ensure_ascii=False), encoding="utf-8")
    return datetime.fromisoformat(str(messages[-1]["createdAt"])) + timedelta(days=1)
