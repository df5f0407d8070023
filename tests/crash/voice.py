"""
What a seed makes different in a workload: the words, who else speaks, the time zone, how much the worker is given at once.

Seed 0 changes nothing, so that a failure in CI reads as the workload does. Equal seeds say the same.
"""

from __future__ import annotations

import random
from functools import lru_cache

from recalld.supervisor.protocol.config import Config, load

ZONE = "Asia/Shanghai"
_ZONES = (
    ZONE, "UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "Pacific/Kiritimati",
    "Pacific/Honolulu", "Europe/Berlin",
)  # fmt: skip
#: Words that break what is careless about them: fences, heads, comments, line ends, halves of characters.
_WRAPS = (
    "{}\n\n```\n没有结尾的栅栏",
    "---\nrecalld: 1\nkind: day\n---\n{}",
    '<!-- {{"id": "假的"}} -->\n**09:00 user**\n\n{}',
    "{}\r\n下一行\r",
    "\ufeff{}\u202e反过来",
    "空\0字节 {}",
    "半个字 \ud83d {}",
    "  {} \n\n",
    "````json\n{}\n````",
    "𠮷野家：{}",
    "<!-- recalld: made from -->\n- {} · 1 · 0123456789abcdef",
)


@lru_cache
def config(*pairs: tuple[str, str], zone: str = ZONE) -> Config:
    """The configuration that these variables make; every day has a summary, however short, unless they say otherwise."""
    return load(None, {"RECALLD_ARCHIVE_TIMEZONE": zone, "RECALLD_SUMMARIZE_LEAST": "0", **dict(pairs)})


class Voice:
    """How the people and programs of one trial speak; *zone* is where they live."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        rng = random.Random(f"zone {seed}")
        self.zone = rng.choice(_ZONES) if seed else ZONE
        self._queued = str(rng.choice((1, 2, 8))) if seed else "8"
        self.said: set[str] = set()  # every text, whether or not anybody came to promise that it is kept

    def config(self, *pairs: tuple[str, str]) -> Config:
        return config(("RECALLD_ARCHIVE_MAX_QUEUED", self._queued), *pairs, zone=self.zone)

    def words(self, identity: str, text: str) -> str:
        """What is said under this id in place of *text*."""
        text = self._words(identity, text)
        self.said.add(text)
        return text

    def _words(self, identity: str, text: str) -> str:
        if not self.seed:
            return text
        rng = random.Random(f"{self.seed} {identity} {text}")
        text = "，".join([text, *(f"第{rng.randrange(1000)}件事" for _ in range(rng.choice((0, 1, 3, 40))))])
        return rng.choice(_WRAPS).format(text) if rng.random() < 0.7 else text

    def also(self, identity: str) -> bool:
        """Tell whether somebody else says something at the same time."""
        return bool(self.seed) and random.Random(f"{self.seed} also {identity}").random() < 0.4
