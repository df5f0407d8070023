"""
Workspaces that live through simulated time beside each other, and whose tasks one pool of workers does.

The pool loses, repeats, reorders and forgets at every fifth call. Each workspace has a clock, a disk and a courier of its own, as on
hosts of their own; whoever looks after its tasks is served by all workers, so that the tasks of one are done while another looks.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.pool.station import Station
from recalld.supervisor.storage.errors import Busy
from recalld.worker.providers import NoCall
from tests.pool.memory_pool import SEAL, PoolInMemory
from tests.pool.stations import Stepped
from tests.process.rounds import folder_in_memory
from tests.simulation.model import WorkerKilled
from tests.simulation.world import SimulatedWorld, cranked
from tests.simulation.years import PLACES, Outcome, Years, midnight_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from tests.pool.memory_pool import MemoryHold
    from tests.simulation.world import Life

#: Calls of a hundred at which something goes wrong in the pool.
_MISCHIEF: Final = 20
#: Steps of a courier, of two seconds each, without a task that is done or out: longer than a workspace rests.
_QUIET: Final = 20
_STEPS: Final = 600


def live_together(seed: str, count: int, days: int, *, keep: bool = False) -> Outcome:
    """Live *days* simulated days in each of *count* workspaces with one pool; Violation when anything does not hold."""
    pool = SharedPool(Random(f"{seed} pool"), mischief=_MISCHIEF)
    with folder_in_memory() as folder:
        places = [PLACES[n % len(PLACES)] for n in range(count)]
        worlds = [PooledWorld(folder / f"{n}", f"{seed}.{n}", *place, pool, keep=keep) for n, place in enumerate(places)]
        courses = [Years(world, f"{seed}.{n}") for n, world in enumerate(worlds)]
        for _ in range(days):
            for course in courses:
                course.live_on()
        for world in worlds:
            world.model.time = "perfect"  # the fault of one would pause the pool while another has three rounds to settle
        for course in courses:
            course.come_to_rest()
        return _together(seed, [course.outcome() for course in courses])


def _together(seed: str, lived: Sequence[Outcome]) -> Outcome:
    digest = hashlib.sha256("".join(one.digest for one in lived).encode()).hexdigest()[:16]
    days, messages, rounds, lives, events = (
        sum(getattr(one, name) for one in lived) for name in ("days", "messages", "rounds", "lives", "events")
    )
    notes = tuple(f"{one.seed} {note}" for one in lived for note in one.notes)
    return Outcome(seed, f"a pool of {len(lived)}", days, messages, rounds, lives, events, digest, notes)


class SharedPool(PoolInMemory):
    """A pool of which each workspace sees its own answers; a task is done by the model and the clock of its workspace."""

    def __init__(self, rng: Random, mischief: int) -> None:
        super().__init__(rng, mischief)
        self.worlds: dict[str, PooledWorld] = {}

    def _do(self, hold: MemoryHold, provider: Any, clock: Any, seal: Any) -> None:
        world = self.worlds[hold.uid.partition(".")[0]]
        super()._do(hold, world.provider, world.clock, seal)


class _Seen:
    """The pool as one host sees it."""

    def __init__(self, pool: PoolInMemory, host: str) -> None:
        self._pool, self._host = pool, host

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def take(self) -> list[Any]:
        return [answer for answer in self._pool.take() if answer.uid.startswith(f"{self._host}.")]


class PooledWorld(SimulatedWorld):
    """A workspace at *root*, in days of *zone* from *first* on, whose tasks the pool does."""

    def __init__(self, root: Path, seed: str, zone: str, first: date, pool: SharedPool, *, keep: bool = False) -> None:
        self.pool = pool
        self.name = f"工作区{root.name}"
        self.pool.worlds[self.name] = self
        self._carried: tuple[Life, Stepped, Station] | None = None
        super().__init__(root, seed, zone, midnight_of(first, zone), keep=keep)

    def forget_pieces(self) -> None:
        """The pool is well from now on, and has none either."""
        super().forget_pieces()
        self.pool.mischief = 0
        self.pool.forget()

    def work(self, most: int = 8) -> int:
        """Let the courier and the workers of the pool do at most so many tasks, of whatever workspace."""
        done = quiet = 0
        self.pool.limits.is_down = False
        for _ in range(_STEPS):
            courier = self._courier()
            if courier is None or done >= most or quiet > _QUIET or self.pool.limits.is_down:
                break
            if not self._step(courier) or not (courier.out or self._has_tasks()):
                break
            worked = self._work()
            done += worked
            self.advance(timedelta(seconds=20 * worked))
            quiet = 0 if worked or courier.out else quiet + 1
        else:
            self.watch.wrong.append(f"{_STEPS} steps later tasks are still in the pool")
        if courier := self._courier():
            self._step(courier)  # what is done comes home
        return done

    def _has_tasks(self) -> bool:
        return any(self.disk.live.get(f"worker/{folder}") for folder in ("queue", "running"))

    def _courier(self) -> Stepped | None:
        """Return the courier of this life; the one before has ended as a process that is killed."""
        life = self.life
        if life is None:
            return None
        if self._carried is None or self._carried[0] is not life:
            if self._carried:
                with suppress(BaseException):  # whatever a disk without power says
                    self._carried[2]._lock.close()
            main = life.main
            station = Station(self.name, self.name, life.worker_files, main.paths, main.ws.config, life.told, SEAL, self.clock)
            self._carried = life, Stepped(_Seen(self.pool, self.name), station), station
        courier = self._carried[1]
        courier.at_s = max(courier.at_s, self.clock.seconds)
        return courier

    def _step(self, courier: Stepped) -> bool:
        """One step; False where the disk refuses it, or the power goes out."""
        with self.mortal(), suppress(OSError, Busy):
            courier.step()
            return True
        return False

    def _work(self) -> bool:
        """One worker does the next task."""
        try:
            return self.pool.work(None, None)
        except WorkerKilled:
            self.note("- a worker of the pool dies")
            self.pool.queue += self.pool.cargo  # they are given to another
        except (OSError, Busy, NoCall):
            pass  # it was given back
        return False

    def _slow(self) -> None:
        """Whoever looked after the task, its own workspace and clock go on."""
        with cranked(self), self.mortal():
            super()._slow()
