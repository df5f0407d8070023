"""
The courier: carries tasks of many workspaces to a pool of workers, and their results back.

It claims tasks as a worker of their workspace does (`station.py`), offers as many as the pool can begin in the next seconds,
and writes results as a worker does. Order and fairness are decided here: first what a person waits for, then one task of each
workspace in turn. What the pool has forgotten is offered again. The workspaces of a process share a courier
(`host/workers.py`): one whose disk refuses is left alone, and others don't notice. Source: docs/reference/protocol.md, 6.11.
"""

from __future__ import annotations

import itertools
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from ..protocol.task import AskedTask
from ..storage.clock import steady_s
from ..storage.errors import BadConfig, Busy, SupervisorError
from .pool import Answer, PoolAway

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from .cargo import Outcome
    from .pool import Pool, Uid
    from .station import Parcel, Station

T = TypeVar("T")

#: Seconds between two looks at the queue of a workspace that nobody has woken.
_LOOK_S: Final = 0.2
#: Seconds between two questions of what the pool knows of the tasks that are out.
_ASK_S: Final = 1.5
#: Seconds between two touches while somebody waits for a task.
_ASKED_BEAT_S: Final = 1.0
#: Seconds between two reports of what was spent: the wait of a worker whose host has not reported (`limits.py`) is as long.
_REPORT_S: Final = 5.0
#: Steps in a row at which the pool could not be reached, from which on it is told: one lost connection is no news.
_TOLD_FROM: Final = 3
#: Seconds until a pool that could not be reached is tried again.
_AWAY_S: Final = 1.0
#: Seconds for which a profile is left alone that refuses without saying for how long.
_CLOSED_S: Final = 5.0


class Courier:
    """
    Carries the tasks of the workspaces that `join` to the *pool*.

    *carry* maps a function over tasks, in threads where there are many. *window*: the most tasks that are out at once, 0: the
    pool's room alone.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        carry: Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]] = map,
        now_s: Callable[[], float] = steady_s,
        window: int = 0,
    ) -> None:
        self._pool, self._carry, self._now_s, self._window = pool, carry, now_s, window
        self._stations: dict[str, Station] = {}
        self._looks: dict[str, float] = {}  # when each queue is looked at next
        self._closed: dict[str, float] = {}  # profiles that take nothing now, and until when
        self._turns = itertools.count()
        self._beat_at = self._ask_at = self._report_at = self._away_until = float("-inf")
        #: How many steps in a row could not reach the pool.
        self.missed = 0
        self._mutex = threading.RLock()

    # ── whose tasks ──────────────────────────────────────────────────────────

    def join(self, station: Station) -> None:
        """Carry its tasks from now on."""
        with self._mutex:
            self._stations[station.name] = station
            self._looks[station.name] = float("-inf")

    def leave(self, name: str) -> None:
        """Give the workspace's tasks back, and carry none of it any more; what is begun is answered to the next offer."""
        with self._mutex:
            station = self._stations.pop(name, None)
            self._looks.pop(name, None)
            if station:
                uids = list(station.out)
                station.close()
                with suppress(PoolAway):
                    signs = self._pool.signs(uids)
                    self._pool.withdraw([uid for uid in uids if signs.get(uid) == "waits"])

    def wake(self, name: str) -> None:
        """Look at the queue of this workspace at the next step."""
        self._looks[name] = float("-inf")

    # ── one step ─────────────────────────────────────────────────────────────

    def step(self) -> bool:
        """Do what there is to do now, and return whether anything was carried."""
        with self._mutex:
            now_s = self._now_s()
            self._beat(now_s)
            if now_s < self._away_until:
                return False
            try:
                self._report(now_s)
                came = self._receive(now_s)
                self._ask(now_s)
                went = self._offer(now_s)
            except PoolAway as away:
                self._is_away(str(away), now_s)
                return False
            self.missed = 0
            self._tell("")
            for station in self._stations.values():
                self._try(station, station.close_if_idle)
            return came or went

    def _try(self, station: Station, act: Callable[[], T]) -> T | None:
        """Do it; None where the disk of the workspace refuses, which is told."""
        try:
            return act()
        except (OSError, SupervisorError) as error:
            station.events.transition("pool_waits", str(error), "pool_goes_on", what="disk", why=str(error))
            return None

    def _beat(self, now_s: float) -> None:
        """Touch what is out, as each worker does, and give up what nobody wants any more."""
        beats = [station.config.worker.beat.total_seconds() for station in self._stations.values()]
        out = (parcel for station in self._stations.values() for parcel in station.out.values())
        if any(isinstance(parcel.task, AskedTask) for parcel in out):
            beats.append(_ASKED_BEAT_S)  # nobody may wait for it any more
        if now_s < self._beat_at + min(beats, default=0.0):
            return
        self._beat_at = now_s
        gone = [uid for station in self._stations.values() for uid in self._try(station, station.beat) or ()]
        if gone:
            with suppress(PoolAway):
                self._pool.withdraw(gone)

    def _report(self, now_s: float) -> None:
        """Say what these workspaces have spent."""
        if now_s >= self._report_at + _REPORT_S:
            for station in self._stations.values():
                spent = self._try(station, station.spent_today) if station.profile else None
                if spent is not None:
                    self._pool.report(station.name, station.profile, spent)
            self._report_at = now_s

    def _receive(self, now_s: float) -> bool:
        """Make durable what has come, and let the pool forget it."""
        answers = self._pool.take()
        others = [answer for answer in answers if self._station_of(answer) is None]
        if others:
            self._pool.leave(others)  # whoever has the workspace now offers the task again
            answers = [answer for answer in answers if answer not in others]
        done = [answer for answer in self._carry(lambda one: self._received(one, now_s), answers) if answer]
        if done:
            self._pool.taken(done)
        return bool(done)

    def _station_of(self, answer: Answer) -> Station | None:
        return self._stations.get(answer.uid.partition(".")[0])

    def _received(self, answer: Answer, now_s: float) -> Answer | None:
        """Return the answer once it is durable; None where the disk refuses: it comes again."""
        station = self._station_of(answer)
        if station is None:
            return None

        def received() -> Answer:
            outcome = station.receive(answer, now_s)
            if outcome and outcome.result is None:
                self._close(outcome, now_s)
            return answer

        return self._try(station, received)

    def _close(self, outcome: Outcome, now_s: float) -> None:
        """Offer nothing to a profile that takes nothing now."""
        if outcome.why in {"busy", "spent"}:
            self._closed[outcome.profile] = now_s + (outcome.wait_s or _CLOSED_S)

    def _ask(self, now_s: float) -> None:
        """Ask what became of the tasks that are out; what is missing three times in a row is offered again."""
        if now_s < self._ask_at + _ASK_S:
            return
        self._ask_at = now_s
        out = [(station, parcel) for station in self._stations.values() for parcel in station.out.values()]
        signs = self._pool.signs([parcel.uid for _, parcel in out]) if out else {}
        for station, parcel in out:
            sign = signs.get(parcel.uid)
            parcel.misses = 0 if sign in {"runs", "waits"} else parcel.misses + 1
            parcel.sign_s = now_s if sign in {"runs", "done"} else parcel.sign_s
            if parcel.is_missing and sign == "done":  # its answer went to a courier that is no more
                parcel.misses = 0
                self._pool.come_again(parcel.uid)
            elif parcel.is_missing or station.is_overdue(parcel, now_s):
                self._pool.withdraw([parcel.uid])
                self._send(station, parcel, now_s)

    # ── offering ─────────────────────────────────────────────────────────────

    def _offer(self, now_s: float) -> bool:
        """Claim and offer while there is room: what a person waits for, then one task of each workspace in turn."""
        ready = [one for one in self._stations.values() if self._may_offer(one, now_s)]
        if not ready:
            return False
        room = self._room()
        went = sum(self._offer_each(ready, now_s, asked_only=True))
        start = next(self._turns) % len(ready)
        ready = [*ready[start:], *ready[:start]]
        while ready and went < room:
            turn, ready = ready[: room - went], ready[room - went :]
            sent = self._offer_each(turn, now_s)
            ready += [one for one, was_sent in zip(turn, sent, strict=True) if was_sent]
            went += sum(sent)
        return went > 0

    def _may_offer(self, station: Station, now_s: float) -> bool:
        name = station.name
        if now_s < max(station.rests_until_s, self._looks[name], self._closed.get(station.profile, now_s)):
            return False
        self._looks[name] = now_s + _LOOK_S
        return True

    def _room(self) -> int:
        room = self._pool.room()
        return min(room, self._window or room) - len(self.out)

    def _offer_each(self, turn: list[Station], now_s: float, *, asked_only: bool = False) -> list[bool]:
        return list(self._carry(lambda station: self._offer_one(station, asked_only, now_s), turn))

    def _offer_one(self, station: Station, asked_only: bool, now_s: float) -> bool:
        """Claim and send one task; False where there is none, or the disk refuses."""

        def claimed() -> Parcel | None:
            station.open()
            return station.claim(now_s, asked_only=asked_only)

        parcel = self._try(station, claimed)
        return parcel is not None and self._send(station, parcel, now_s)

    def _send(self, station: Station, parcel: Parcel, now_s: float) -> bool:
        """Pack and offer a claimed task; one that can't leave waits again."""
        try:
            cargo = station.pack(parcel, now_s)
        except (OSError, Busy, BadConfig):
            return False  # told, and given back
        if cargo:
            parcel.misses, parcel.sign_s = 0, now_s
            self._pool.offer(cargo)
        return cargo is not None

    # ── where the pool is away ───────────────────────────────────────────────

    def _is_away(self, why: str, now_s: float) -> None:
        self._away_until = now_s + _AWAY_S
        self.missed += 1
        if self.missed >= _TOLD_FROM:
            self._tell(why)
        for station in self._stations.values():
            for parcel in station.out.values():
                parcel.misses, parcel.sign_s = 0, now_s

    def _tell(self, why: str) -> None:
        for station in self._stations.values():
            station.events.transition("pool_waits", why, "pool_goes_on", what="pool", why=why)

    # ── for its owner ────────────────────────────────────────────────────────

    def run(self, stop: threading.Event) -> None:
        """Step until *stop* is set."""
        while not stop.is_set():
            if not self.step():
                stop.wait(_LOOK_S)

    def close(self) -> None:
        """Give every task back."""
        for name in list(self._stations):
            self.leave(name)

    @property
    def out(self) -> list[Uid]:
        """The tasks that are in the pool."""
        return [uid for station in self._stations.values() for uid in station.out]
