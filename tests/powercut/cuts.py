"""
Cuts of the power under a living supervisor, its worker and two writers: one workspace, cut again and again, then settled.

After each cut every acknowledged message has to be there at once, before anything mends it; the next life goes on from what lies
there. What was acknowledged is kept outside the file system.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from recalld.supervisor.storage.disk import RealDisk
from tests.patience import PATIENCE_S
from tests.powercut.rig import JOURNAL, NO_JOURNAL, Rig
from tests.process import forked
from tests.process.busy import HURRY, Busy, judged

_LONGEST_S: Final = 0.6


class Cuts(Busy):
    """One workspace on *rig*; with *control* ("all", "folders") that is never fsynced, which has to be seen."""

    def __init__(self, rig: Rig, seed: int, told: Path, control: str = "") -> None:
        super().__init__(rig.point / "workspace", seed, told, HURRY | {"RECALLD_LANGUAGE": "zh"})
        self.rig = rig
        self.control = control
        self.has_archived = False

    def run(self, cuts: int) -> list[str]:
        """The violations after *cuts* cuts, and of the settled whole."""
        wrong: list[str] = []
        self.rig.mount()
        shutil.rmtree(self.root, ignore_errors=True)
        self.init()
        for number in range(cuts):
            flag = self.random.choice((JOURNAL, NO_JOURNAL))
            wrong += [f"life {number}: {one}" for one in self._live(flag)]
            self.rig.unmount()
            self.rig.mount()
            wrong += [f"cut {number} (flag {flag}): {one}" for one in self._judge(calm=False)]
        wrong += [*self.settle(), *self._judge(calm=True)]
        self.rig.unmount()
        return wrong

    def _live(self, flag: int) -> list[str]:
        """Let everybody work for a moment, and pull the plug; what is wrong unless something was archived before the first."""
        self.supervisor = self.start("run")
        until = time.monotonic() + self.random.uniform(0.05, _LONGEST_S)
        latest = time.monotonic() + PATIENCE_S
        while (now := time.monotonic()) < until or (not self.has_archived and now < latest):
            self.has_archived = self.has_archived or self.archived > 0
            self.feed(0.3)
            time.sleep(0.003)
        code = self.supervisor.poll()
        wrong = [] if code is None else [f"the supervisor had ended by itself with {code}"]
        wrong += [] if self.has_archived else ["no archive run was told of"]
        self.rig.cut(flag)
        self.supervisor.kill()
        for feeder in self.feeders:
            if feeder.process:
                feeder.process.kill()
            feeder.end()
        self.supervisor.wait()
        forked.end_orphans()
        return wrong

    def fork(self, run: Callable[[], int], files: Sequence[int] = (-1, -1)) -> forked.Child:
        return super().fork(_careless(run, self.control) if self.control else run, files)

    def _judge(self, **given: Any) -> list[str]:
        if not self.root.is_dir():
            return ["the workspace is gone"]
        return judged(self.root, self.acked, by_writer=True, offered=self.offered, **given)


def _careless(run: Callable[[], int], what: str) -> Callable[[], int]:
    """The control: recalld as it would be if it trusted the disk to write things down by itself."""

    def life() -> int:
        RealDisk.sync_folder = lambda *_: None  # type: ignore[method-assign]
        if what == "all":
            RealDisk.sync = lambda *_: None  # type: ignore[method-assign]
        return run()

    return life
