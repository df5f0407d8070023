"""
A workspace of real processes: a supervisor, writers that can be killed, and in the end the judge of what they have left.

It is the ground of the storms, the backups and the power cuts. The checker shares no code with the product. Nothing here has
threads: who keeps feeders calls `feed` and `collect` now and then.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tests.checker.checker import Acked, Given, check_folder
from tests.patience import PATIENCE_S
from tests.process import forked
from tests.process.command import answers
from tests.process.forked import Acknowledged, Child

ZONE: Final = "Asia/Shanghai"
#: Everything hurries, so that whatever is done to it has something to hit.
HURRY: Final = forked.plain_environ(
    RECALLD_ARCHIVE_TIMEZONE=ZONE,
    RECALLD_ARCHIVE_UNARCHIVED_LIMIT="3",
    RECALLD_ARCHIVE_QUIET="1s",
    RECALLD_ARCHIVE_EXCHANGE_WAIT="0",
    RECALLD_ARCHIVE_KEEP_NEWEST="4",
    RECALLD_HISTORY_SOFT_CAP="20",
    RECALLD_HISTORY_HARD_CAP="30",
    RECALLD_CARE_POLL="50ms",
    RECALLD_CARE_TREE_POLL="100ms",
    RECALLD_WORKER_LEASE="2s",
)

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
    """One writer after another, which can be killed: `recalld append --jsonl`, fed a line at a time. *start* makes the process, given its standard input and output."""

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


class Busy:
    """The workspace at *root*; what its processes complain of goes into the file *told*."""

    def __init__(self, root: Path, seed: int, told: Path, environ: Mapping[str, str] = HURRY) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.environ = environ
        self.told = told.open("w+b")
        self.feeders = [
            Feeder(f"writer-{n}", random.Random(f"{seed}-{n}"), lambda files: self.start("append", "--jsonl", files=files))
            for n in range(2)
        ]
        self.supervisor: forked.Child

    def init(self) -> None:
        forked.run(self.root, "init", environ=self.environ)

    def start(self, *words: str, files: Sequence[int] = (-1, -1)) -> forked.Child:
        """Start `recalld` with these words; *files* are its standard input and output, -1 for none."""
        return self.fork(forked.command(self.root, *words), files)

    def fork(self, run: Any, files: Sequence[int] = (-1, -1)) -> forked.Child:
        return forked.Child(run, self.environ, [*files, self.told.fileno()])

    def feed(self, share: float) -> None:
        """Let each writer write if chance wills it, and note what they have said to be safe."""
        for feeder in self.feeders:
            if self.random.random() < share:
                feeder.feed()
            feeder.collect()

    @property
    def acked(self) -> list[Acked]:
        return [one for feeder in self.feeders for one in feeder.acked]

    @property
    def offered(self) -> set[str]:
        """The words of every message that was ever offered."""
        return {text for feeder in self.feeders for text in feeder.offered}

    @property
    def archived(self) -> int:
        """How many archive runs the log tells of."""
        with contextlib.suppress(OSError):
            return (self.root / "log.jsonl").read_bytes().count(b'"event": "archived"')
        return 0

    def end_supervisor(self) -> list[str]:
        """Tell it to end; what is wrong with how it does."""
        if (code := self.supervisor.poll()) is not None:
            return [f"the supervisor had ended by itself with {code}"]
        has_begun = answers(self.root / ".recalld" / "socket")
        self.supervisor.terminate()
        try:
            code = self.supervisor.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.supervisor.kill()
            return [f"SIGTERM did not end the supervisor in {PATIENCE_S:.0f} s"]
        is_right = code == 0 or (code == -signal.SIGTERM and not has_begun)  # it had no handler yet
        return [] if is_right else [f"the supervisor ended with {code}"]

    def settle(self, **environ: str) -> list[str]:
        """Settle everything once nobody lives any more; what is wrong with that, and what was complained of until then."""
        wrong = forked.settle(self.root, {**self.environ, **environ})
        with self.told:  # else a child of the next workspace would close it, and what has its number by then
            self.told.seek(0)
            told = self.told.read().decode(errors="replace")
        return [*wrong, told[-2000:]] if "Traceback" in told else wrong


def judged(root: Path, acked: Sequence[Acked], **given: Any) -> list[str]:
    """What is wrong with the workspace in which several writers have said this; *given* as for `Given.of_writers`."""
    return check_folder(root, acked, Given.of_writers(datetime.now(UTC), ZONE, **given))
