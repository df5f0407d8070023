"""
The sweep: every call of a stage made to fail in turn, or to be the last; then everything is settled, and judged.

A case names its stage, its fault and its call, and is run by whichever of the processes is free, over a copy of its own.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recalld.supervisor.storage.files import Files, FileVersion
from tests.process import forked
from tests.syscalls.stages import ENVIRON, Stage
from tests.syscalls.tracer import Call, Outcome, calls, traced

#: What is done to a call. "short": it takes nothing, and says so; "lie": it says that it took a byte.
FAULTS: Final = ("kill", "ENOSPC", "EIO", "EACCES", "short", "lie")
#: The exit codes that docs/reference/protocol.md, 8 has for a disk that refuses, and 0.
CODES: Final = frozenset({0, 65, 69, 74, 75, 77})
_SLOW_S: Final = 8.0


@dataclass(frozen=True)
class Case:
    """One fault at one call of one stage."""

    stage: str
    fault: str
    call: Call

    @property
    def key(self) -> str:
        return f"{self.stage} {self.fault} {self.call.name}#{self.call.nth}"

    @property
    def injection(self) -> str:
        """The fault as strace takes it."""
        what = {"kill": "signal=SIGKILL", "short": "retval=0", "lie": "retval=1"}.get(self.fault, f"error={self.fault}")
        return f"{self.call.name}:{what}:when={self.call.nth}"


@dataclass(frozen=True)
class Verdict:
    """What was wrong in a case."""

    key: str
    wrong: list[str]


class Sweep:
    """The stages, and a folder for copies of them."""

    def __init__(self, stages: Mapping[str, Stage], folder: Path, *, reads: bool = False, control: bool = False) -> None:
        self.stages = stages
        self.folder = folder
        self.reads = reads
        self.control = control

    # ── which cases there are ────────────────────────────────────────────────

    def cases(self, names: Sequence[str], faults: Sequence[str]) -> Iterator[Case]:
        """Every fault at every call of the stages; AssertionError where a stage goes wrong with no fault at all."""
        for name in names:
            found = self.recorded(name)
            yield from (case for fault in faults for case in self._of(name, fault, found))

    def _of(self, name: str, fault: str, found: Sequence[Call]) -> Iterator[Case]:
        writes = [call for call in found if call.name == "write"]
        if fault in ("short", "lie"):
            # a lie that no look at the file tells is beyond what is promised: the journal and the log grow by others too
            told = [call for call in writes if ".tmp>" in call.text and call.asked > 1] if fault == "lie" else writes
            yield from (Case(name, fault, call) for call in told)
        else:
            read = self.reads and fault in ("EIO", "EACCES")
            yield from (Case(name, fault, call) for call in found if call.changes or (read and call.name != "read"))
            yield from (Case(name, fault, call) for call in found if fault == "EIO" and read and call.name == "read")

    def recorded(self, name: str) -> list[Call]:
        """The calls of a stage that nothing disturbs; the control without a fault."""
        stage, root = self.stages[name], self._root()
        stage.copy(root)
        out = self._traced(stage, root)
        wrong = [*forked.settle(root, ENVIRON), *stage.judge(root, out.out)]
        if out.code or out.err or wrong:
            raise AssertionError(f"{name} goes wrong without a fault: {out.code} {out.err} {wrong}")
        return calls(out.trace, root)

    # ── what a case does ─────────────────────────────────────────────────────

    def run(self, case: Case) -> Verdict:
        stage, root = self.stages[case.stage], self._root()
        stage.copy(root)
        out = self._traced(stage, root, case)
        return Verdict(case.key, self._fault_wrong(case, out) or [*forked.settle(root, ENVIRON), *stage.judge(root, out.out)])

    def _traced(self, stage: Stage, root: Path, case: Case | None = None) -> Outcome:
        run = stage.run(root)
        if self.control:
            run = _in_place(run)
        fault = case.injection if case else ""
        only = case.call.name if case else ""
        return traced(run, ENVIRON, root.parent, fault, stage.given, thread=stage.is_worker, only=only)

    def _fault_wrong(self, case: Case, out: Outcome) -> list[str]:
        """What is wrong with the way in which the command met its fault."""
        wrong = []
        if not out.fired or (case.fault == "kill" and out.code != -9):
            wrong.append(f"the fault did not fire ({out.code})")
        if case.fault != "kill" and out.code not in CODES:
            wrong.append(f"it ended with {out.code}: {out.err[-300:]}")
        if "Traceback" in out.err:
            wrong.append(out.err[-1500:])
        if out.hung or out.seconds > _SLOW_S:
            wrong.append(f"it took {out.seconds:.1f} s")
        return wrong

    def _root(self) -> Path:
        folder = self.folder / str(os.getpid())
        folder.mkdir(exist_ok=True)
        return folder / "workspace"


def _in_place(run: Callable[[], int]) -> Callable[[], int]:
    """The control: files are written in place, as careless programs do. The sweep has to see it."""

    def replace(self: Files, path: Path, data: bytes, seen: FileVersion | None, keep: Path | None = None) -> None:
        with path.open("wb", buffering=0) as file:
            file.write(data[: len(data) // 2])
            file.write(data[len(data) // 2 :])

    def careless() -> int:
        Files.replace = replace  # type: ignore[method-assign]
        return run()

    return careless
