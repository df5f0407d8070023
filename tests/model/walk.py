"""
Random walks through the world, and the calm after them.

A walk is its seed: the same seed makes the same moves, prints the same log. Crashes fall after any write of a round,
other programs and people act between any two.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from tests.model.invariants import Broken, Checker, hold
from tests.model.protocol_model import Supervisor
from tests.model.state import DAY, SMALL, Limits
from tests.model.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.model.state import Status

MOVES: Final = 60
ROUNDS_TO_SETTLE: Final = 15

#: All that the supervisor writes, moves and deletes, as `Supervisor.round` names it.
WRITES: Final = (
    *("ids", "journal", "put back", "mark", "dated", "note", "settle", "move", "trim"),
    *("submit", "reclaim", "summary", "failure", "failure cleared", "provider back", "task gone", "result gone"),
)

Move = tuple[str, "Callable[[], object]"]


class Walk:
    """One seed's walk."""

    def __init__(self, seed: int, limits: Limits = SMALL, make: type[Supervisor] = Supervisor) -> None:
        self.random = Random(seed)
        self.world = World(limits, make)
        self.checker = Checker(self.world)
        self.world.on_write = self.checker.write
        self.dead = False  # the LLM, for weeks
        self.foreign = self.random.random() < 0.5
        self.people = self.random.random() < 0.7
        self.world.disk.model = self.random.random() < 0.7

    def outside(self) -> Move:
        """A move of a writer or a person."""
        world, random = self.world, self.random
        n = random.randrange(100)
        writers: list[Move] = [
            ("append", world.append),
            ("append", world.append),
            ("append", world.append),
            ("late message", lambda: world.append(days_ago=random.choice((1, 4, 6, 8, 15, 30)))),
            ("revision", lambda: world.revise(n if random.random() < 0.5 else -1)),
        ]
        programs: list[Move] = [
            ("ids are stripped", world.strip_ids),
            ("a program reads", world.foreign_reads),
            ("a program writes what it read", lambda: world.foreign_writes(strips=n < 20)),
            ("a program keeps a few", lambda: world.foreign_cap(1 + n % 4)),
        ]
        people: list[Move] = [
            ("file deleted", lambda: world.delete_file(n)),
            ("block deleted", lambda: world.delete_block(n)),
            ("block edited", lambda: world.edit_block(n)),
            ("file restored", world.restore_file),
            ("summary deleted", lambda: world.delete_summary(n)),
            ("summary edited", lambda: world.edit_summary(n)),
            ("own summary", lambda: world.write_summary(world.supervisor.group(world.disk.today - n % 30))),
            ("redo", lambda: world.redo(n)),
        ]
        kinds = [writers, writers, *([programs] if self.foreign else []), *([people] if self.people else [])]
        return random.choice(random.choice(kinds))

    def surroundings(self) -> Move:
        """A move of the clock, a worker, the provider or the disk."""
        world, random = self.world, self.random
        n = random.randrange(100)
        outcome: Status = "provider" if self.dead else random.choice(("done", "done", "done", "failed", "provider"))
        return random.choices(
            [
                ("some minutes", lambda: world.wait(random.choice((1, 11, 45, 361)))),
                ("some days", lambda: world.wait(random.choice((1, 1, 2, 6)) * DAY)),
                ("over the month's end", world.over_month_end),
                ("clock is set", lambda: world.jump(random.choice((-20 * DAY, -DAY, -90, 40 * DAY)))),
                (f"worker: {outcome}", lambda: world.work(outcome, dies=n < 10)),
                ("worker invents sources", lambda: world.work("provider" if self.dead else "done", invents=True)),
                ("worker suspended", world.suspend),
                ("worker wakes", lambda: world.wake(n, outcome)),
                ("model comes or goes", self.toggle_model),
                ("provider dies or lives", self.toggle_provider),
                ("disk fills or frees", self.toggle_disk),
            ],
            weights=(16, 12, 3, 2, 22, 2, 4, 4, 2, 2, 2),
        )[0]

    def toggle_model(self) -> None:
        """A model appears, or is lost."""
        self.world.disk.model = not self.world.disk.model

    def toggle_provider(self) -> None:
        """The LLM is unreachable until the next toggle."""
        self.dead = not self.dead

    def toggle_disk(self) -> None:
        """The disk is full until the next toggle."""
        self.world.disk.full = not self.world.disk.full

    def step(self) -> None:
        """One move, checked."""
        if self.random.random() < 0.4:
            crash = self.random.choice((*range(1, 10), *WRITES)) if self.random.random() < 0.5 else None
            self.world.poll(crash_after=crash, between=self.between)
        else:
            self.make(self.outside() if self.random.random() < 0.55 else self.surroundings())
        self.checker.move()

    def between(self, _write: int) -> None:
        """Something happens between two writes of a round."""
        if self.random.random() < 0.08:
            self.make(self.outside())
            self.checker.move()

    def make(self, move: Move) -> None:
        """Make a move and log it."""
        name, act = move
        self.world.log.append(f"    {self.world.clock()} {name}")
        act()

    def run(self) -> None:
        """All the moves, then calm. Raises `Broken` with the log of the walk."""
        for _ in range(MOVES):
            self.step()
        self.world.disk.model = self.random.random() < 0.7
        settle(self.world, self.checker)


def settle(world: World, checker: Checker) -> None:
    """Two days on, no faults: all settles in a few rounds, and one more changes nothing."""
    world.log.append("    calm")
    world.disk.full = False
    world.held.clear()
    for entry in world.disk.running.values():
        entry.silent = True
    world.wait(3 * DAY - world.disk.now % DAY)
    for _ in range(ROUNDS_TO_SETTLE):
        writes = world.poll()
        checker.move()
        waits = [*world.disk.failed.values(), *([world.disk.provider] if world.disk.provider else [])]
        if not writes and not world.disk.queue and not waits:
            break
        while world.disk.queue:
            world.work()
        ahead = [wait.next_at for wait in waits if wait.next_at > world.disk.now]
        if ahead and not world.disk.results:
            world.wait(min(min(ahead) - world.disk.now, DAY))
    checker.calm()
    before = repr(world.disk)
    world.poll(until_settled=True)
    hold(repr(world.disk) == before, "a calm round changed something")


def walk(seed: int, make: type[Supervisor] = Supervisor) -> None:
    """The walk of a seed; a broken invariant comes with all its moves."""
    journey = Walk(seed, make=make)
    try:
        journey.run()
    except Broken as broken:
        log = "\n".join(journey.world.log)
        message = f"seed {seed}: {broken}\n{log}"
        raise Broken(message) from broken
