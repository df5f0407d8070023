"""A workload: one thing that happens to a settled disk, what is promised meanwhile, and how the outcome is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from supervisor.protocol.clock import from_wire
from tests.checker.checker import Acked, Given, check
from tests.crash.loss import outcomes
from tests.crash.model_disk import ModelDisk
from tests.crash.program import ZONE, Brief, Program, config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.protocol.config import Config
    from tests.crash.state import State


class Workload:
    """
    One thing that happens at *now*. *before* lists what was said and settled earlier: the time of settling, and messages.

    A mutant is a subclass of Program in *program*.
    """

    now: ClassVar = "2026-01-28T12:00:00.000Z"
    before: ClassVar[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = ()
    settings: ClassVar[tuple[tuple[str, str], ...]] = ()
    fails: ClassVar = 0
    touched: ClassVar[tuple[str, ...]] = ()  # what a person edits
    extract: ClassVar = True

    def __init__(self, program: type[Program] = Program) -> None:
        self.program = program
        self.promised: list[Acked] = []

    @property
    def config(self) -> Config:
        return config(*self.settings)

    def life(self, disk: ModelDisk, fails: int = 0) -> Program:
        return self.program(disk, self.config, Brief(extract=self.extract, fails=fails))

    def start(self) -> State:
        """The settled disk it begins with; what was promised on the way stays promised."""
        disk = ModelDisk()
        life = Program(disk, self.config, Brief(extract=self.extract))
        life.start()
        for now, said in self.before:
            for n, (created_at, text) in enumerate(said):
                life.append(f"{created_at[:10]}-{n}", text, created_at, "assistant" if n % 2 else "user")
            life.settle(now)
        self.promised = [acked for acked in disk.acks if isinstance(acked, Acked)]
        return next(outcomes(disk.end(), "kill")).state

    def work(self, disk: ModelDisk) -> None:
        life = self.life(disk, self.fails)
        self.happen(life)
        life.settle(self.now)

    def happen(self, life: Program) -> None:
        """What happens before the supervisor settles it."""

    def recover(self, disk: ModelDisk) -> None:
        self.life(disk).settle(self.later)

    @property
    def later(self) -> str:
        """When recovery runs: a group that failed has waited long enough by then."""
        return self.now

    def judge(self, disk: ModelDisk, acks: Sequence[object]) -> list[str]:
        return self._judge(disk, acks, calm=True)

    def glance(self, disk: ModelDisk, acks: Sequence[object]) -> list[str]:
        """What must hold at any moment, in the middle of everything."""
        return self._judge(disk, acks, calm=False)

    def _judge(self, disk: ModelDisk, acks: Sequence[object], *, calm: bool) -> list[str]:
        acked = [*self.promised, *(one for one in acks if isinstance(one, Acked))]
        given = Given(from_wire(self.later), ZONE, calm=calm, all_written=calm, touched_paths=self.touched)
        return check(disk.tree(), acked, given, disk.modes())
