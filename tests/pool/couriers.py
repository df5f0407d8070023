"""A workspace of the tests with a courier in a worker's place."""

from __future__ import annotations

from typing import Any

from recalld.supervisor.pool.courier import Courier
from tests.pool.memory_pool import SEAL
from tests.world import World


class Stepped(Courier):
    """A courier whose clock goes on by two seconds a step, so that each looks and asks."""

    def __init__(self, *given: Any) -> None:
        self.at_s = 0.0
        super().__init__(*given, now_s=self._next_s)

    def _next_s(self) -> float:
        self.at_s += 2.0
        return self.at_s


def courier_of(world: World, pool: Any, name: str = "甲") -> Stepped:
    ws = world.ws
    return Stepped(pool, name, world.files, world.paths, ws.config, ws.events, SEAL, world.clock)


def carried(courier: Courier, pool: Any, provider: Any, clock: Any, most: int = 400) -> int:
    """Step and work until nothing is queued or out; how many tasks were done."""
    done = quiet = 0
    for _ in range(most):
        moved = courier.step()
        worked = pool.work(provider, clock)
        done += worked
        quiet = 0 if moved or worked or courier.out else quiet + 1
        if quiet > 3:
            return done
    raise AssertionError(f"not done after {most} steps: {courier.out}")
