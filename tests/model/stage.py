"""Where scripted walks are played: a world whose every write and move is checked, so that a case asserts only its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.model.invariants import Checker
from tests.model.protocol_model import Supervisor
from tests.model.state import SMALL, Limits
from tests.model.walk import settle
from tests.model.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.model.state import Message

Make = type[Supervisor]
Case = tuple["Callable[[Make], None]", int, tuple[Make, ...]]  # its number in 4H (0: none), the mutants that must break it


class Stage(World):
    """A world under the checker's eye."""

    def __init__(self, make: Make, limits: Limits = SMALL, *, model: bool = True) -> None:
        super().__init__(limits, make)
        self.checker = Checker(self)
        self.on_write = self.checker.write
        self.disk.model = model
        self.crashes: frozenset[int] = frozenset()  # after which writes of the whole play the supervisor dies
        self.writes: list[str] = []

    def round(self, *, until_settled: bool = False) -> list[str]:
        """A round, and all invariants after it."""
        self.checker.move()
        dies = next((n - len(self.writes) for n in sorted(self.crashes) if n > len(self.writes)), None)
        writes = self.poll(until_settled=until_settled, crash_after=dies)
        self.writes += [label for label in writes if not label.startswith("†")]
        self.checker.move()
        return writes

    def late(self, days_ago: int = 8) -> Message:
        """A late message, written and its task submitted."""
        message = self.append(days_ago=days_ago)
        self.round(until_settled=True)
        return message

    def summarised(self, days_ago: int = 8) -> Message:
        """A late message whose summary stands."""
        message = self.late(days_ago)
        self.work()
        self.round()
        return message

    def calm(self) -> None:
        """All must settle."""
        settle(self, self.checker)
