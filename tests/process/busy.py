"""
A workspace of real processes: a supervisor, writers that can be killed, and in the end the judge of what they have left.

It is the ground of the storms, the backups and the power cuts. The checker shares no code with the product.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.checker.checker import Acked, Given, check_folder
from tests.patience import PATIENCE_S
from tests.process import forked
from tests.process.feeder import Feeder

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
        self.supervisor.terminate()
        try:
            code = self.supervisor.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.supervisor.kill()
            return [f"SIGTERM did not end the supervisor in {PATIENCE_S:.0f} s"]
        return [f"the supervisor ended with {code}"] if code else []

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
