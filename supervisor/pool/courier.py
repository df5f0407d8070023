"""
The courier: carries the tasks of a workspace to a pool of workers, and their results back.

It claims tasks as a worker does (`station.py`), offers as many as the pool can begin in the next seconds, first what a person
waits for, and writes results as a worker does. What the pool has forgotten is offered again. Source:
docs/reference/protocol.md, 6.11.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from ..protocol.task import AskedTask
from ..storage.clock import steady_s
from ..storage.errors import BadConfig, Busy, SupervisorError
from .cargo import Cargo, PoolAway, Uid

if TYPE_CHECKING:
    import threading

    from .redis_pool import RedisPool
    from .station import Parcel, Station

T = TypeVar("T")

#: Seconds between two looks at a queue that nobody has woken.
_LOOK_S: Final = 0.2
#: Seconds between two questions of what the pool knows of the tasks that are out.
_ASK_S: Final = 1.5
#: Seconds between two touches while somebody waits for a task.
_ASKED_BEAT_S: Final = 1.0
#: Steps in a row at which the pool could not be reached, from which on it is told: one lost connection is no news.
_TOLD_FROM: Final = 3
#: Seconds until a pool that could not be reached is tried again.
_AWAY_S: Final = 1.0


class Courier:
    """Carries the tasks of *station* to the *pool*."""

    def __init__(self, pool: RedisPool, station: Station, *, now_s: Callable[[], float] = steady_s) -> None:
        self._pool, self._station, self._now_s = pool, station, now_s
        self._look_at = self._beat_at = self._ask_at = self._away_until = float("-inf")
        #: How many steps in a row could not reach the pool.
        self.missed = 0

    def run(self, stop: threading.Event) -> None:
        """Step until *stop* is set, and give every task back."""
        while not stop.is_set():
            if not self.step():
                stop.wait(_LOOK_S)
        self.close()

    def wake(self) -> None:
        """Look at the queue at the next step."""
        self._look_at = float("-inf")

    def close(self) -> None:
        """Give every task back; what a worker has begun is answered to the next offer."""
        uids = self.out
        self._station.close()
        with suppress(PoolAway):
            signs = self._pool.signs(uids)
            self._pool.withdraw([uid for uid in uids if signs.get(uid) == "waits"])

    @property
    def out(self) -> list[Uid]:
        """The tasks that are in the pool."""
        return list(self._station.out)

    # ── one step ─────────────────────────────────────────────────────────────

    def step(self) -> bool:
        """Do what there is to do now, and return whether anything was carried."""
        now_s = self._now_s()
        self._beat(now_s)
        if now_s < self._away_until:
            return False
        try:
            came = self._receive(now_s)
            self._ask(now_s)
            went = self._offer(now_s)
        except PoolAway as away:
            self._is_away(str(away), now_s)
            return False
        self.missed = 0
        self._tell("")
        self._try(self._station.close_if_idle)
        return came or went

    def _try(self, act: Callable[[], T]) -> T | None:
        """Do it; None where the disk of the workspace refuses, which is told."""
        try:
            return act()
        except (OSError, SupervisorError) as error:
            self._station.events.transition("pool_waits", str(error), "pool_goes_on", what="disk", why=str(error))
            return None

    def _beat(self, now_s: float) -> None:
        """Touch what is out, as each worker does, and give up what nobody wants any more."""
        every_s = self._station.config.worker.beat.total_seconds()
        if any(isinstance(parcel.task, AskedTask) for parcel in self._station.out.values()):
            every_s = min(every_s, _ASKED_BEAT_S)  # nobody may wait for it any more
        if now_s < self._beat_at + every_s:
            return
        self._beat_at = now_s
        if unwanted := self._try(self._station.beat):
            with suppress(PoolAway):
                self._pool.withdraw(unwanted)

    def _receive(self, now_s: float) -> bool:
        """Make durable what has come, and let the pool forget it."""
        done = [answer for answer in self._pool.take() if self._try(partial(self._station.receive, answer, now_s))]
        if done:
            self._pool.taken(done)
        return bool(done)

    def _ask(self, now_s: float) -> None:
        """Ask what became of the tasks that are out; what is missing three times in a row is offered again."""
        if now_s < self._ask_at + _ASK_S:
            return
        self._ask_at = now_s
        out = list(self._station.out.values())
        signs = self._pool.signs(self.out) if out else {}
        for parcel in out:
            sign = signs.get(parcel.uid)
            parcel.misses = 0 if sign in {"runs", "waits"} else parcel.misses + 1
            if parcel.is_missing and sign == "done":  # its answer went to a courier that is no more: it comes again, unpaid
                parcel.misses = 0
                self._pool.offer(Cargo(parcel.uid, b""))
            elif parcel.is_missing:
                self._pool.withdraw([parcel.uid])
                self._send(parcel, now_s)

    # ── offering ─────────────────────────────────────────────────────────────

    def _offer(self, now_s: float) -> bool:
        """Claim and offer what a person waits for, and then while there is room."""
        if now_s < max(self._station.rests_until_s, self._look_at):
            return False
        self._look_at = now_s + _LOOK_S
        room = self._pool.room() - len(self._station.out)
        went = int(self._offer_next(now_s, asked_only=True))
        while went < room and self._offer_next(now_s):
            went += 1
        return went > 0

    def _offer_next(self, now_s: float, *, asked_only: bool = False) -> bool:
        """Claim and send one task; False where there is none, or the disk refuses."""
        parcel = self._try(lambda: self._station.claim(asked_only=asked_only))
        return parcel is not None and self._send(parcel, now_s)

    def _send(self, parcel: Parcel, now_s: float) -> bool:
        """Pack and offer a claimed task; one that can't leave waits again."""
        try:
            cargo = self._station.pack(parcel, now_s)
        except (OSError, Busy, BadConfig):
            return False  # told, and given back
        if cargo:
            parcel.misses = 0
            self._pool.offer(cargo)
        return cargo is not None

    # ── where the pool is away ───────────────────────────────────────────────

    def _is_away(self, why: str, now_s: float) -> None:
        self._away_until = now_s + _AWAY_S
        self.missed += 1
        if self.missed >= _TOLD_FROM:
            self._tell(why)
        for parcel in self._station.out.values():
            parcel.misses = 0

    def _tell(self, why: str) -> None:
        self._station.events.transition("pool_waits", why, "pool_goes_on", what="pool", why=why)
