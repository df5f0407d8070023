"""
When the clock was moved: what goes by age waits until it has stood still for a while (durability.md, H36).

A clock that is set ahead makes yesterday old and every wait over; days would be summed up that are not over, and paid for.
Nothing is lost by it, but nothing of it can be taken back either.

The supervisor: it looks, and when something has changed or its time has come, it does a round.

File events are hints that make it look sooner; a poll by stat is the truth, so that it works with no events at all. Nothing
is remembered between two ticks that the files do not say (003, Supervisor; durability.md 2.5).
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from supervisor.protocol.clock import steady_s
from supervisor.protocol.errors import BadFile, Busy
from supervisor.protocol.paths import check_inside
from supervisor.service.round import Round, run_round
from supervisor.service.steps import restore_history
from supervisor.service.watcher import ChangeDetector
from supervisor.summaries.llm_state import provider_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from supervisor.protocol.clock import Clock
    from supervisor.protocol.disk import Stat
    from supervisor.service.background import BackgroundThreads
    from supervisor.service.lock import SupervisorLock
    from supervisor.service.workers import Workers
    from supervisor.workspace import Workspace

#: A difference up to this is the clock being set right; the wait after a larger one, and after one of more than a day.
SMALL: Final = timedelta(hours=1)
LARGE: Final = timedelta(days=1)
WAIT: Final = timedelta(minutes=1)
LONG_WAIT: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Reading:
    """What two clocks show at one moment: the wall clock, and the seconds of one that is never set."""

    wall: datetime
    steady_s: float


def jump(before: Reading, after: Reading) -> timedelta:
    """Return how far the wall clock was moved between the two; negative when back."""
    return (after.wall - before.wall) - timedelta(seconds=after.steady_s - before.steady_s)


def pause_after(moved: timedelta) -> timedelta:
    """
    Return how long to leave alone what goes by age, after the wall clock was *moved*; nothing for a small move.

    >>> caution(timedelta(minutes=-5)), caution(timedelta(hours=2)), caution(timedelta(days=3650))
    (datetime.timedelta(0), datetime.timedelta(seconds=60), datetime.timedelta(seconds=600))
    """
    size = abs(moved)
    return timedelta() if size <= SMALL else WAIT if size <= LARGE else LONG_WAIT


#: A round at least this often, for what comes due by time alone: six hours, a retry, a new day. In seconds.
ROUND_S: Final = 30.0
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class Supervisor:
    """The one supervisor of a workspace; without *workers* none is started, without a *keeper* recall is not kept ready."""

    def __init__(
        self,
        ws: Workspace,
        clock: Clock,
        workers: Workers | None = None,
        steady: Callable[[], float] = steady_s,
        keeper: BackgroundThreads | None = None,
    ) -> None:
        self._ws = ws
        self._clock = clock
        self._steady_s = steady
        self._workers = workers
        self._keeper = keeper
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._look = ChangeDetector(ws.files.disk, ws.paths, ws.task_queue)
        self._write_wait = timedelta()
        self._held_until = float("-inf")
        self._reading: Reading | None = None
        self._ageless_until = float("-inf")
        self._due_at = _NEVER
        self._damaged: tuple[Stat | None, float] | None = None
        ws.should_stop = self._stop.is_set

    def stop(self) -> None:
        """End after the step that is being done; may be called from a signal handler."""
        self._stop.set()
        self._wake.set()

    def hint(self, name: str) -> None:
        """Look now: somebody says that a file of that *name* has changed."""
        if name != self._ws.paths.inbox.name:
            self._wake.set()
        if self._keeper:
            self._keeper.hint(name)

    # ── the service ──────────────────────────────────────────────────────────

    def run(self, alone: SupervisorLock) -> None:
        """Watch the workspace until told to stop, or until it is not held *alone* any more (LockLost)."""
        with self._keeper or contextlib.nullcontext(), self._events():
            poll_s = self._ws.config.care.poll.total_seconds()
            tree_s = self._ws.config.care.tree_poll.total_seconds()
            last_round = last_tree = float("-inf")
            while not self._stop.is_set():
                now = self._steady_s()
                if self._keeper:
                    self._keeper.look()
                changed, hinted = self._look.near_changed(), self._wake.is_set()
                self._wake.clear()
                if hinted or now - last_tree >= tree_s:
                    last_tree = now
                    changed = self._tree_changed() or changed
                    alone.check()
                if changed or now - last_round >= ROUND_S or self._clock() >= self._due_at:
                    last_round = now
                    done = self.tick(self._clock())
                    if done.did and not done.errors:
                        last_round = float("-inf")
                if self._workers:
                    self._workers.start_if_needed()
                    self._workers.watch_leases()
                if last_round != float("-inf"):
                    self._wake.wait(poll_s)
            if self._workers:
                self._workers.stop()

    def tick(self, now: datetime) -> Round:
        """
        Do one round at *now*; a disk that refused is left alone for a while, a damaged history is restored.

        BadConfig where a folder has been made to lead outside the workspace since it was opened.

        After a jump of the clock nothing that goes by age is begun for a while.
        """
        check_inside(self._ws.paths)
        held = self._steady_s() < self._held_until
        done = run_round(self._ws, now, "none" if held else "due", ageing=not self._has_jumped(now))
        if not held:
            config = self._ws.config.archive
            refused = "archive" in done.errors and not isinstance(done.errors["archive"], BadFile)
            self._write_wait = min(max(self._write_wait * 2, config.write_wait), config.write_wait_limit)
            self._write_wait = self._write_wait if refused else timedelta()
            self._held_until = self._steady_s() + self._write_wait.total_seconds()
        if done.damage(self._ws.paths.history):
            self._restore_when_quiet(now)
        self._due_at = self._next_retry(now)
        return done

    def _has_jumped(self, now: datetime) -> bool:
        """Tell whether the clock was moved a short while ago; a jump is told once."""
        before, self._reading = self._reading, Reading(now, self._steady_s())
        moved = jump(before, self._reading) if before else timedelta()
        if wait := pause_after(moved):
            self._ageless_until = self._reading.steady_s + wait.total_seconds()
            self._ws.events.emit("clock_jump", seconds=round(moved.total_seconds()), waits_s=round(wait.total_seconds()))
        return self._reading.steady_s < self._ageless_until

    def _next_retry(self, now: datetime) -> datetime:
        """Return when the first wait is over that a failure has begun; the end of time when none has."""
        provider = provider_state(self._ws.task_queue).next_at
        waits = [failure.next_at for failure in self._ws.failures().values()] + ([provider] if provider else [])
        return min((wait for wait in waits if wait > now), default=_NEVER)

    def _restore_when_quiet(self, now: datetime) -> None:
        """Restore a damaged history.json once nobody has written to it for a while: a person may be in the middle of it."""
        stat = self._ws.files.disk.stat(self._ws.paths.history)
        if self._damaged is None or self._damaged[0] != stat:
            self._damaged = (stat, self._steady_s())
        quiet_s = self._ws.config.archive.quiet.total_seconds()
        if stat is None or self._steady_s() - self._damaged[1] >= quiet_s:
            with contextlib.suppress(OSError, Busy):  # the round has told of it; the next one tries again
                restore_history(self._ws, now)
                self._damaged = None

    # ── looking ──────────────────────────────────────────────────────────────

    def _tree_changed(self) -> bool:
        has_changed = self._look.tree_changed()
        if has_changed and self._keeper:
            self._keeper.memory_changed()
        return has_changed

    @contextlib.contextmanager
    def _events(self) -> Iterator[None]:
        """Have file events hint at changes; without them the poll goes on alone."""
        from supervisor.service.watcher import watch

        try:
            stop = watch(self._ws.paths, self.hint)
        except (OSError, Busy) as error:
            self._ws.events.transition("watch_lost", True, why=str(error))
            stop = _nothing
        try:
            yield
        finally:
            stop()


def _nothing() -> None:
    """There is nothing to stop."""
