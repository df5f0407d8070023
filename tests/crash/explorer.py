"""
The adversary: a workload is killed at every operation, every disk that may be left is recovered and judged.

A recovery is itself killed on the way, once more, where `nested` says so. Disks already judged with the same promises are
skipped. What fails is reported by its shortest case, with the log of what was done and what was lost.
"""

from __future__ import annotations

import random
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from tests.crash.loss import MODES, Mode, Outcome, outcomes
from tests.crash.model_disk import ModelDisk
from tests.crash.state import State, fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.crash.ledger import Snapshot


#: The log of a run, how many of its operations were done, and how it ended.
Run: TypeAlias = tuple[list[str], int, str]


@dataclass(frozen=True, slots=True)
class Case:
    """A failure: what was done, what was left, what recovery did (to its own crash, where it had one), what is wrong."""

    steps: tuple[str, ...]
    violations: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((*self.steps, *(f"  WRONG: {violation}" for violation in self.violations)))


@dataclass(slots=True)
class Report:
    """What was explored: *points* crash points, *states* disks judged, *seen* skipped as equal; the shortest failure."""

    name: str = ""
    points: int = 0
    states: int = 0
    seen: int = 0
    failures: int = 0
    shortest: Case | None = None

    def add(self, case: Case) -> None:
        self.failures += 1
        if self.shortest is None or len(case.steps) < len(self.shortest.steps):
            self.shortest = case

    def __str__(self) -> str:
        head = f"{self.name}: {self.points} crash points, {self.states} states, {self.seen} equal ones skipped, {self.failures} failures"
        return f"{head}\n{self.shortest}" if self.shortest else head


@dataclass(slots=True)
class Explorer:
    """
    How to explore. *before* judges what a crash left as it lies; *nested*: crash points tried inside each recovery, -1 for all; *limit*: disks a crash point and mode;
    *stop*: end at the first failure; *most*: end after that many states.
    """

    recover: Callable[[ModelDisk], None]
    check: Callable[[ModelDisk, Sequence[object]], list[str]]
    before: Callable[[ModelDisk, Sequence[object]], list[str]] | None = None
    modes: Sequence[Mode] = MODES
    nested: int = 0
    limit: int = 24
    seed: int = 0
    stop: bool = False
    most: int = 10**9
    _known: dict[tuple[int, int], int] = field(default_factory=dict)  # disk and promises -> the depth they were judged to

    def explore(self, workload: Callable[[ModelDisk], None], start: State | None = None, name: str = "") -> Report:
        """Run the workload once, then every crash of it."""
        report = Report(name)
        disk = ModelDisk(start, record=True)
        wrong = _run(workload, disk)
        if wrong:
            report.add(_case(((disk.log, disk.operations, "the run itself"),), wrong))
            return report
        for snapshot in (*disk.snapshots, disk.end()):
            report.points += 1
            acks = disk.acks[: snapshot.acks]
            for outcome in self._outcomes(snapshot, self.limit):
                self._judge(outcome, acks, ((disk.log, snapshot.number, outcome.story),), self.nested, report)
                if (self.stop and report.failures) or report.states >= self.most:
                    return report
        return report

    def _outcomes(self, snapshot: Snapshot, limit: int) -> Iterator[Outcome]:
        for mode in self.modes:
            yield from outcomes(snapshot, mode, limit, self.seed)

    def _judge(self, outcome: Outcome, acks: Sequence[object], runs: tuple[Run, ...], nested: int, report: Report) -> None:
        key = (fingerprint(outcome.state), len(acks))
        if self._known.get(key, -1) >= bool(nested):
            report.seen += 1
            return
        report.states += key not in self._known
        self._known[key] = bool(nested)
        disk = ModelDisk(outcome.state, record=bool(nested))
        wrong = [f"before recovery: {line}" for line in self.before(disk, acks)] if self.before else []
        wrong += _run(self.recover, disk)
        wrong += self.check(disk, acks)
        if wrong:
            report.add(_case((*runs, (disk.log, disk.operations, "recovered")), wrong))
        for snapshot in self._inside(disk, nested):
            for again in self._outcomes(snapshot, 4):
                self._judge(again, acks, (*runs, (disk.log, snapshot.number, again.story)), 0, report)

    def _inside(self, disk: ModelDisk, nested: int) -> list[Snapshot]:
        """The crash points tried inside this recovery."""
        if not nested or not disk.snapshots:
            return []
        if nested < 0 or nested >= len(disk.snapshots):
            return disk.snapshots
        return random.Random(f"{self.seed} {len(self._known)}").sample(disk.snapshots, nested)


def explore(
    workload: Callable[[ModelDisk], None],
    recover: Callable[[ModelDisk], None],
    check: Callable[[ModelDisk, Sequence[object]], list[str]],
    *,
    modes: Sequence[Mode] = MODES,
    nested: int = 0,
    start: State | None = None,
    stop: bool = False,
) -> Report:
    """Kill *workload* everywhere, *recover*, *check* against the promises made before the crash; see Explorer."""
    return Explorer(recover, check, modes=modes, nested=nested, stop=stop).explore(workload, start)


def _run(program: Callable[[ModelDisk], None], disk: ModelDisk) -> list[str]:
    """Run it; what it raised and which rule of locks it broke."""
    try:
        program(disk)
    except Exception:
        return [f"raised: {traceback.format_exc(limit=-4)}", *disk.locks.breaches]
    return list(disk.locks.breaches)


def _case(runs: Sequence[Run], wrong: Sequence[str]) -> Case:
    steps: list[str] = []
    for log, count, end in runs:
        steps += [f"  {number:3} {text}" for number, text in enumerate(log[:count])]
        steps.append(f"--- {end}")
    return Case(tuple(steps), tuple(wrong))
