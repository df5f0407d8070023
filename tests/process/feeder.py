"""
Writers that can be killed: each is `recalld append --jsonl`, fed a line at a time, and what it says is safe is noted.

Nothing here has threads: who keeps feeders calls `feed` and `collect` now and then.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from tests.checker.checker import Acked
from tests.process.forked import Acknowledged, Child

TALK = (
    "备份脚本上传失败，改到凌晨 4:15，端口 8443。",
    "We decided to move the demo to Aug 28, room 305.",
    "我对花生过敏，榛子也不能吃。",
    "好的",
    "TODO: renew the certificate for git.example.com before Friday",
    '```\nTraceback\n  File "x.py"\n```\n然后就挂了',
    "预算 5350 元，押一付三",
)
#: Ages of messages in days: most are of today, some fall into days and months that are closed.
AGES = (0, 0, 0, 1, 3, 7, 9, 40, 100)


def say(chance: random.Random, identity: str) -> tuple[Acked, bytes]:
    """A message of a random day, and the line that `append --jsonl` takes."""
    when = datetime.now(UTC) - timedelta(days=chance.choice(AGES))
    text = f"{chance.choice(TALK)} #{identity}"
    message = {
        "id": identity,
        "role": chance.choice(("user", "assistant")),
        "text": text,
        "createdAt": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    return Acked(identity, text, message["createdAt"], message["role"]), json.dumps(
        message, ensure_ascii=False
    ).encode() + b"\n"


class Feeder:
    """One writer after another; *start* makes the process, given its standard input and output."""

    def __init__(self, name: str, chance: random.Random, start: Callable[[Sequence[int]], Child]) -> None:
        self.name = name
        self.acked: list[Acked] = []
        self.codes: list[int] = []
        self.process: Child | None = None
        self._chance = chance
        self._start = start
        self._offered: dict[str, Acked] = {}
        self._count = 0
        self._input = -1
        self._said: Acknowledged

    @property
    def offered(self) -> set[str]:
        """The words of every message that was ever offered."""
        return {one.text for one in (*self.acked, *self._offered.values())}

    def feed(self) -> None:
        """Offer one more message; a writer that is dead is followed by another."""
        if self.process is None or self.process.poll() is not None:
            self._next()
        self._count += 1
        acked, line = say(self._chance, f"{self.name}-{self._count:07d}")
        self._offered[acked.id] = acked
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(self._input, line)

    def collect(self) -> None:
        """Note what the writer has said to be safe; a line that is cut off says nothing."""
        if self.process:
            self._said.read()

    def end(self) -> None:
        """Let the writer finish what it was given."""
        if self.process is None:
            return
        os.close(self._input)
        self.codes.append(self.process.wait())
        self._said.end()
        self.process = None

    def _next(self) -> None:
        self.end()
        given, self._input = os.pipe()
        os.set_blocking(self._input, False)
        self._said = Acknowledged(lambda lines: self.acked.extend(map(self._offered.pop, lines)))
        self.process = self._start((given, self._said.out))
        os.close(given)
