"""
Cuts of the power under a living supervisor, its worker and two writers: one workspace, cut again and again, then settled.

After each cut every acknowledged message has to be there at once, before anything mends it; the next life goes on from what lies
there. What was acknowledged is kept outside the file system.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from recalld.supervisor.storage.disk import RealDisk
from tests.checker.checker import Acked, Given, check
from tests.checker.reading import read_folder
from tests.patience import PATIENCE_S
from tests.powercut.rig import JOURNAL, NO_JOURNAL, Rig
from tests.process import forked
from tests.process.feeder import Feeder
from tests.process.storm import HURRY, archived_in

ENVIRON: Final = forked.plain_environ(**HURRY, RECALLD_LANGUAGE="zh")
_ZONE: Final = HURRY["RECALLD_ARCHIVE_TIMEZONE"]
_LONGEST_S: Final = 0.6


class Cuts:
    """One workspace on *rig*; with *control* ("all", "folders") that is never fsynced, which has to be seen."""

    def __init__(self, rig: Rig, seed: int, told: Path, control: str = "") -> None:
        self.rig = rig
        self.root = rig.point / "workspace"
        self.random = random.Random(seed)
        self.control = control
        self.told = told
        self._lives = 0
        self.archived = 0
        self.calm_s = 0.0
        self._offered: set[str] = set()
        self._before: list[Acked] = []
        self.feeders: list[Feeder] = []

    @property
    def acked(self) -> list[Acked]:
        return [*self._before, *(one for feeder in self.feeders for one in feeder.acked)]

    def run(self, cuts: int) -> list[str]:
        """The violations after *cuts* cuts, and of the settled whole."""
        wrong: list[str] = []
        self.told.write_bytes(b"")
        self.rig.mount()
        shutil.rmtree(self.root, ignore_errors=True)
        forked.run(self.root, "init", environ=ENVIRON)
        for number in range(cuts):
            flag = self.random.choice((JOURNAL, NO_JOURNAL))
            wrong += [f"life {number}: {one}" for one in self._live(flag)]
            self.rig.unmount()
            self.rig.mount()
            wrong += [f"cut {number} (flag {flag}): {one}" for one in self._judge(calm=False)]
        wrong += self._settle()
        self.rig.unmount()
        if "Traceback" in (told := self.told.read_text(errors="replace")):
            wrong.append(told[-2000:])
        return wrong

    # ── a life and its end ───────────────────────────────────────────────────

    def _live(self, flag: int) -> list[str]:
        """Let everybody work for a moment, and pull the plug; what is wrong unless something was archived before the first."""
        self._lives += 1
        self._before = self.acked
        self.feeders = [
            Feeder(f"cut-{self._lives}-{n}", random.Random(self.random.random()), partial(self._start, ("append", "--jsonl")))
            for n in range(2)
        ]
        supervisor = self._start(("run",))
        until = time.monotonic() + self.random.uniform(0.05, _LONGEST_S)
        latest = time.monotonic() + PATIENCE_S
        while (now := time.monotonic()) < until or (not self.archived and now < latest):
            self.archived = self.archived or archived_in(self.root)
            for feeder in self.feeders:
                if self.random.random() < 0.3:
                    feeder.feed()
                feeder.collect()
            time.sleep(0.003)
        code = supervisor.poll()
        wrong = [] if code is None else [f"the supervisor had ended by itself with {code}"]
        wrong += [] if self.archived else ["no archive run was told of"]
        self.rig.cut(flag)
        supervisor.kill()
        for feeder in self.feeders:
            if feeder.process:
                feeder.process.kill()
            feeder.end()
            self._offered |= feeder.offered
        supervisor.wait()
        forked.end_orphans()
        return wrong

    def _start(self, words: Sequence[str], files: Sequence[int] = ()) -> forked.Child:
        err = os.open(self.told, os.O_WRONLY | os.O_APPEND)
        null = os.open(os.devnull, os.O_RDWR)
        run = forked.command(self.root, *words)
        try:
            return forked.Child(_careless(run, self.control) if self.control else run, ENVIRON, [*(files or (null, null)), err])
        finally:
            os.close(err)
            os.close(null)

    # ── judging ──────────────────────────────────────────────────────────────

    def _judge(self, *, calm: bool) -> list[str]:
        if not self.root.is_dir():
            return ["the workspace is gone"]
        files, modes, wrong = read_folder(self.root)
        given = Given.of_writers(datetime.now(UTC), _ZONE, calm=calm, by_writer=True, offered=self._offered)
        return [*wrong, *check(files, self.acked, given, modes)]

    def _settle(self) -> list[str]:
        began = time.monotonic()
        code, _, err = forked.run(self.root, "run", "--until-settled", environ=ENVIRON)
        self.calm_s = time.monotonic() - began
        wrong = [f"the calm run ended with {code}: {err[-2000:]}"] if code or err else []
        return [*wrong, *self._judge(calm=True)]


def _careless(run: Callable[[], int], what: str) -> Callable[[], int]:
    """The control: recalld as it would be if it trusted the disk to write things down by itself."""

    def life() -> int:
        RealDisk.sync_folder = lambda *_: None  # type: ignore[method-assign]
        if what == "all":
            RealDisk.sync = lambda *_: None  # type: ignore[method-assign]
        return run()

    return life
