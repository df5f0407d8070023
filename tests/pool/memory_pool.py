"""A pool in memory that loses, repeats, reorders and forgets at any call; its workers and its courier are called by the test."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from random import Random
from typing import Any

from recalld.supervisor.pool.cargo import Answer, Cargo, PoolAway, Seal, Sign, Unsealable
from recalld.supervisor.pool.courier import Courier
from recalld.worker.crew import PoolClaim, opened
from recalld.worker.loop import do
from recalld.worker.providers import NoCall
from tests.world import World

SEAL = Seal([bytes(32)])


class PoolInMemory:
    """*mischief*: how often, of a hundred calls, something goes wrong."""

    def __init__(self, rng: Random | None = None, mischief: int = 0, slots: int = 8) -> None:
        self.rng, self.mischief, self.slots = rng or Random(0), mischief, slots
        self.cargo: dict[str, Cargo] = {}
        self.queue: list[str] = []
        self.running: set[str] = set()
        self.done: dict[str, Answer] = {}
        self.results: list[str] = []
        self.tries: dict[str, int] = {}
        self.delivered: list[Answer] = []

    # ── what goes wrong ──────────────────────────────────────────────────────

    def forget(self) -> None:
        """Everything is gone, as after FLUSHALL; whoever works on a task goes on."""
        for one in (self.cargo, self.queue, self.done, self.results, self.tries):
            one.clear()

    def _before(self) -> bool:
        """Whether the call gets through; the pool may lose or repeat something meanwhile."""
        if self.rng.randrange(100) >= self.mischief:
            return True
        what = self.rng.choice(("away", "forget", "lose", "repeat", "reorder"))
        if what == "forget":
            self.forget()
        elif what == "lose" and self.queue:
            uid = self.queue.pop(self.rng.randrange(len(self.queue)))
            self.cargo.pop(uid, None)
        elif what == "repeat":
            self.results += [uid for uid in self.done if self.rng.random() < 0.5]
            self.queue += [uid for uid in self.cargo if self.rng.random() < 0.3]
        elif what == "reorder":
            self.rng.shuffle(self.queue)
            self.rng.shuffle(self.results)
        return what != "away"

    def _call(self, act: Callable[[], Any]) -> Any:
        """Carry out a call; one that does not get through may have been carried out all the same."""
        if self._before():
            return act()
        if self.rng.random() < 0.5:
            act()
        raise PoolAway("the pool does not answer")

    # ── the host's side ──────────────────────────────────────────────────────

    def room(self) -> int:
        return 2 * self.slots

    def offer(self, cargo: Cargo) -> str:
        def act() -> str:
            if cargo.uid in self.done:
                self.results.append(cargo.uid)
                return "done"
            if cargo.uid in self.cargo:
                return "known"
            self.cargo[cargo.uid] = cargo
            self.queue.insert(0 if cargo.is_asked else len(self.queue), cargo.uid)
            return "new"

        return self._call(act)

    def signs(self, uids: Collection[str]) -> dict[str, Sign]:
        def of(uid: str) -> Sign | None:
            return "done" if uid in self.done else "runs" if uid in self.running else "waits" if uid in self.cargo else None

        return self._call(lambda: {uid: sign for uid in uids if (sign := of(uid))})

    def withdraw(self, uids: Collection[str]) -> None:
        self._call(lambda: [self.cargo.pop(uid, None) for uid in uids])

    def take(self) -> list[Answer]:
        return self._call(lambda: [self.done[uid] for uid in dict.fromkeys(self.results) if uid in self.done])

    def taken(self, answers: Collection[Answer]) -> None:
        def act() -> None:
            for answer in answers:
                self.done.pop(answer.uid, None)
                self.results = [uid for uid in self.results if uid != answer.uid]

        self._call(act)

    # ── a worker ─────────────────────────────────────────────────────────────

    def work(self, provider: Any, clock: Any, seal: Seal = SEAL) -> bool:
        """One worker does the next task; whether there was one."""
        while self.queue:
            uid = self.queue.pop(0)
            cargo = self.cargo.get(uid)
            if cargo is None or uid in self.running:
                continue
            self.running.add(uid)
            try:
                self._do(MemoryHold(self, uid, cargo.sealed), provider, clock, seal)
            finally:
                self.running.discard(uid)
            return True
        return False

    def _do(self, hold: MemoryHold, provider: Any, clock: Any, seal: Seal) -> None:
        try:
            contents = opened(hold, seal)
        except Unsealable as fault:
            hold.refuse(fault.why)
            return
        claim: Any = PoolClaim(hold, contents, seal)
        with suppress(NoCall):
            do(claim, provider, clock, lambda: False)


class MemoryHold:
    def __init__(self, pool: PoolInMemory, uid: str, sealed: bytes) -> None:
        self.pool, self.uid, self.sealed = pool, uid, sealed
        self.lost = False

    def refuse(self, why: str) -> None:
        self.deliver(b"", why)

    def deliver(self, sealed: bytes, refused: str = "") -> None:
        pool, answer = self.pool, Answer(self.uid, sealed, refused)
        pool._before()  # it goes on until the pool has it
        pool.cargo.pop(self.uid, None)
        pool.done.setdefault(self.uid, answer)
        pool.results.append(self.uid)
        pool.delivered.append(answer)


# ── a courier ────────────────────────────────────────────────────────────────


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
