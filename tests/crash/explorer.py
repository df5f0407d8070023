"""
The adversary: a workload is killed at every operation, every disk that may be left is recovered and judged.

A recovery is itself killed on the way where `depth` says so. Disks already judged with the same promises are
skipped; and a recovery that has come to where it goes by the disk alone (`Ledger.bare`), on a disk from which one went on
before, is not led on: it would do the same. What fails is reported by its shortest case, with the log of what was done and
what was lost.
"""

from __future__ import annotations

import contextlib
import random
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.crash.ledger import Snapshot
from tests.crash.loss import MODES, Outcome, outcomes
from tests.crash.model_disk import ModelDisk
from tests.crash.state import State, fingerprint, owed

#: Seconds of processor time after which a run or a recovery is taken to hang; other work on the machine adds none.
MOST_S = 20.0
#: What is wrong with a disk, given what was promised.
Check: TypeAlias = "Callable[[ModelDisk, Sequence[object]], list[str]]"
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
    """
    What was explored: *states* disks judged, *deep* ones among them; the shortest failure.
    """

    name: str = ""
    states: int = 0
    deep: int = 0
    failures: int = 0
    shortest: Case | None = None

    def add(self, case: Case) -> None:
        self.failures += 1
        if self.shortest is None or len(case.steps) < len(self.shortest.steps):
            self.shortest = case

    def join(self, other: Report) -> None:
        """Add what another exploration found."""
        self.states, self.deep = self.states + other.states, self.deep + other.deep
        self.failures += other.failures
        cases = [case for case in (self.shortest, other.shortest) if case]
        self.shortest = min(cases, key=lambda case: len(case.steps), default=None)

    def __str__(self) -> str:
        head = f"{self.name}: {self.states} states, {self.failures} failures"
        return f"{head}\n{self.shortest}" if self.shortest else head


@dataclass(slots=True)
class Explorer:
    """
    How to explore. *before* judges what a crash left, as it lies; *check* what recovery made of it.

    *depth*: how many crashes a recovery may meet, one in each; *points*: how many of its operations are tried, drawn by the
    *seed* (-1: all). *limit*, *inner*: disks tried for a crash point and mode, of the workload and of a recovery. *most*: end
    after so many states; *stop*: end at the first failure.
    """

    recover: Callable[[ModelDisk], None]
    check: Check
    before: Check | None = None
    depth: int = 0
    points: int = -1
    limit: int = 24
    inner: int = 4
    seed: int = 0
    most: int = 10**9
    stop: bool = False
    _shown: set[tuple[int, int]] = field(default_factory=set)  # disks and promises that were counted
    #: Disk, promises, what it owes -> the depth they were judged to.
    _known: dict[tuple[int, int, int], int] = field(default_factory=dict)
    _passed: dict[tuple[int, int, int, int], int] = field(default_factory=dict)  # the same at each bare place of a recovery

    def explore(self, workload: Callable[[ModelDisk], None], start: State | None = None, name: str = "") -> Report:
        """Run the workload once, then every crash of it. What an earlier call has judged as deeply is not judged again."""
        report = Report(name)
        disk = ModelDisk(start, record=True)
        wrong = _run(workload, disk)
        if wrong:
            wrong += _run(lambda left: wrong.extend(self.check(left, left.acks)), disk)
            report.add(_case(((disk.log, disk.operations, "the run itself"),), wrong))
            return report
        for snapshot in self._drawn([*disk.snapshots, disk.end()]):
            self._crash(
                snapshot, self.limit, disk.acks[: snapshot.acks], ((disk.log, snapshot.number, ""),), self.depth, report
            )
        return report

    def _drawn(self, snapshots: list[Snapshot]) -> list[Snapshot]:
        """The crash points in their order; by chance where not all may come to their turn, so that none is left out for ever."""
        return random.Random(self.seed).sample(snapshots, len(snapshots)) if self.most < 10**9 else snapshots

    def _crash(
        self, snapshot: Snapshot, limit: int, acks: Sequence[object], runs: tuple[Run, ...], depth: int, report: Report
    ) -> None:
        """Judge every disk that a crash at *snapshot* may leave; the last of *runs* is the one that crashed."""
        log, count, _ = runs[-1]
        for mode in MODES:
            for outcome in outcomes(snapshot, mode, limit, self.seed):
                if (self.stop and report.failures) or report.states >= self.most:
                    return
                self._judge(outcome, acks, (*runs[:-1], (log, count, outcome.story)), depth, report)

    def _judge(self, outcome: Outcome, acks: Sequence[object], runs: tuple[Run, ...], depth: int, report: Report) -> None:
        state = outcome.state
        shown = (fingerprint(state.inodes, state.live), len(acks))
        key = (*shown, owed(state.inodes, state.live, state.pending) if depth else 0)
        if self._known.get(key, -1) >= depth:
            return
        report.states += shown not in self._shown
        self._shown.add(shown)
        self._known[key] = depth
        disk = ModelDisk(outcome.state, record=depth > 0)
        wrong = [f"before recovery: {line}" for line in self.before(disk, acks)] if self.before else []
        disk.bare = _Bare(disk, len(acks), depth, self._passed)
        try:
            wrong += _run(self.recover, disk)
            wrong += self.check(disk, [*acks, *disk.acks])
        except _WentOn:
            wrong += disk.locks.breaches
        if wrong:
            report.add(_case((*runs, (disk.log, disk.operations, "recovered")), wrong))
        for snapshot in self._inside([*disk.snapshots, disk.end()] if depth else []):
            promised = [*acks, *disk.acks[: snapshot.acks]]
            self._crash(snapshot, self.inner, promised, (*runs, (disk.log, snapshot.number, "")), depth - 1, report)

    def _inside(self, snapshots: list[Snapshot]) -> list[Snapshot]:
        """The crash points tried inside a recovery."""
        if not 0 <= self.points < len(snapshots):
            return snapshots
        return random.Random(f"{self.seed} {len(self._known)}").sample(snapshots, self.points)


class _WentOn(BaseException):
    """A recovery went on from this very disk before. No `except Exception` of the product may hold it up."""


@dataclass(slots=True)
class _Bare:
    """What a recovery of *disk* calls where it goes by the disk alone; it ends one that was led on from there before."""

    disk: ModelDisk
    promises: int
    depth: int
    passed: dict[tuple[int, int, int, int], int]
    place: int = 0

    def __call__(self) -> None:
        self.place += 1
        disk = self.disk
        owes = owed(disk.inodes, disk.live, disk.pending) if self.depth else 0
        key = (self.place, fingerprint(disk.inodes, disk.live), owes, self.promises + len(disk.acks))
        if self.passed.get(key, -1) >= self.depth:
            raise _WentOn
        self.passed[key] = self.depth


def _run(program: Callable[[ModelDisk], None], disk: ModelDisk) -> list[str]:
    """Run it; what it raised and which rule of locks it broke."""
    try:
        with _watched():
            program(disk)
    except Hangs:
        return [f"it hangs: after {MOST_S:g} s of work it has not ended", *disk.locks.breaches]
    except Exception:
        return [f"raised: {traceback.format_exc(limit=-4)}", *disk.locks.breaches]
    return list(disk.locks.breaches)


class Hangs(BaseException):
    """It takes too long. No `except Exception` of the product may hold it up."""


def _late(*_: object) -> None:
    raise Hangs


@contextlib.contextmanager
def _watched() -> Iterator[None]:
    """Raise Hangs when what is done takes more than MOST_S seconds of work, again and again until somebody lets it pass."""
    before = signal.signal(signal.SIGVTALRM, _late)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_S, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _case(runs: Sequence[Run], wrong: Sequence[str]) -> Case:
    steps: list[str] = []
    for log, count, end in runs:
        steps += [f"  {number:3} {text}" for number, text in enumerate(log[:count])]
        steps.append(f"--- {end}")
    return Case(tuple(steps), tuple(wrong))
