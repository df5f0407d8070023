"""The course of simulated years: talk, trouble and repair, drawn by a seed, judged every day; at last everything settles."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Final
from zoneinfo import ZoneInfo

from tests.process.rounds import folder_in_memory
from tests.simulation import others
from tests.simulation.forgetting import FORGOTTEN, forget_something
from tests.simulation.judge import caps_held, found_again, judge, searchable, settled
from tests.simulation.model import TIMES
from tests.simulation.talk import Talker, WindowMessage
from tests.simulation.world import SimulatedWorld, cranked

#: Where a life is lived, and when it begins: each has a change of its clocks within a year.
PLACES: Final = (
    ("America/New_York", date(2025, 9, 20)),
    ("Australia/Lord_Howe", date(2026, 2, 1)),
    ("Pacific/Apia", date(2011, 7, 1)),
    ("Asia/Shanghai", date(2025, 11, 1)),
)
_QUARTER: Final = 91
_JUMPS: Final = (1 / 24, 0.3, 2, 40, 400, 1100)


class Violation(AssertionError):
    """What does not hold, with the seed and the day that show it."""


@dataclass(frozen=True)
class Outcome:
    """A life that was lived: its seed and zone, days, messages, rounds, lives of the process, words forgotten, the digest of all notes."""

    seed: str
    zone: str
    days: int
    messages: int
    rounds: int
    lives: int
    events: int
    forgotten: int
    digest: str


def live(seed: str, zone: str, first: date, days: int, *, forgets: bool = False) -> Outcome:
    """Live *days* simulated days from *first* on, in which a person *forgets* or not; Violation when anything does not hold."""
    with folder_in_memory() as folder:
        course = Years(SimulatedWorld(folder / "工作区", seed, zone, midnight_of(first, zone)), seed, forgets=forgets)
        for _ in range(days):
            course.live_on()
        course.come_to_rest()
        return course.outcome()


def midnight_of(day: date, zone: str) -> datetime:
    """Return when the day begins there."""
    return datetime.combine(day, time(0), ZoneInfo(zone))


class Years:
    """What happens, day by day."""

    def __init__(self, world: SimulatedWorld, seed: str, *, forgets: bool = False) -> None:
        self.forgets = forgets
        self.world, self.seed, self.zone = world, seed, world.zone
        self.days = 0
        self.talker = Talker(Random(f"{seed} talk"))
        self.rng = Random(f"{seed} course")
        self.today = 0
        self._old: list[dict[str, object]] = []
        self._back = timedelta()
        self._back_on = self._time_until = self._well_on = -1
        self._asked: set[int] = set()

    # ── a life ───────────────────────────────────────────────────────────────

    def live_on(self) -> None:
        """Live the next day; Violation when anything does not hold."""
        with self._told():
            self.day(self.days)
        self.days += 1

    def come_to_rest(self) -> None:
        """Let every fault end; Violation when anything does not hold at last."""
        with self._told():
            self.end()

    @contextmanager
    def _told(self) -> Iterator[None]:
        world = self.world
        try:
            with cranked(world):
                yield
        except Exception as error:
            told = "\n".join(world.newest)
            raise Violation(f"seed {self.seed} zone {self.zone} day {self.today}: {error}\n{told}") from error

    def outcome(self) -> Outcome:
        """Return what the life was."""
        world, digest = self.world, self.world.digest.copy()
        for path, data in sorted(world.disk.tree().items()):
            if path != FORGOTTEN:  # its key is drawn by the system
                digest.update(path.encode() + b"\0" + data)
        return Outcome(
            self.seed, self.zone, self.days, len(world.promised), world.rounds, world.lives, sum(world.watch.total.values()),
            len(world.forgotten), digest.hexdigest()[:16],
        )  # fmt: skip

    def day(self, n: int) -> None:
        """Live one day, and judge it."""
        world, rng = self.world, self.rng
        self.today = n
        self._trouble(n)
        ends = world.midnight()
        jumped = False
        bursts = sorted(rng.uniform(0.3, 23.5) for _ in range(rng.choices((0, 1, 2, 3), (35, 40, 20, 5))[0]))
        morning = world.clock()
        for hour in bursts:
            self._until(morning + timedelta(hours=hour))
            self._talk()
            if rng.random() < 0.02 and self._back_on < 0:
                jumped = self._jump(n)
                morning += self._jumped
                ends += self._jumped
            self._look()
            if rng.random() < 0.05:
                self._person()
        self._until(ends)
        if self.forgets:
            forget_something(world)
        self._look()
        if n == self._back_on:
            world.jump(-self._back)
            self._back_on = -1
            jumped = True
            self._look()
        self._judge(n, jumped=jumped)

    def end(self) -> None:
        """Let every fault end; three rounds later all is at rest and every message is found."""
        wrong = settled(self.world)
        self._judged(wrong + found_again(self.world, searchable(self.world)))

    # ── time ─────────────────────────────────────────────────────────────────

    def _until(self, then: datetime) -> None:
        """Let time pass; the supervisor wakes when a wait is over, and at least twice a day."""
        world = self.world
        for _ in range(200):
            due = world.due_at()
            if due is None or not world.clock() < due < then:
                break
            world.advance(due - world.clock())
            self._look()
        if then > world.clock():
            world.advance(then - world.clock())

    def _look(self) -> None:
        """The supervisor looks and the worker works, now and then until the power goes out."""
        world, rng = self.world, self.rng
        if rng.random() < 0.06:
            world.disk.crash_at = world.disk.operations + rng.randrange(1, 60)
        if world.late and rng.random() < 0.3:
            world.deliver_again()
        done = world.tick()
        if done is not None and not done.errors:
            self._judged(caps_held(world))
        if world.work(rng.choice((1, 8, 8, 8))):
            world.tick()

    def _jump(self, n: int) -> bool:
        """Set the clock wrong for some days."""
        rng = self.rng
        self._jumped = timedelta(days=rng.choice(_JUMPS) * rng.choice((-1, 1)))
        self._back, self._back_on = self._jumped, n + rng.choice((0, 1, 3, 9))
        self.world.jump(self._jumped)
        return True

    # ── what happens ─────────────────────────────────────────────────────────

    def _talk(self) -> None:
        world, rng = self.world, self.rng
        count = rng.choices((1, 2, 4, 6, 12, 70), (10, 30, 30, 20, 9, 1))[0]
        said = self.talker.burst(world.clock(), count)
        kind = rng.random()
        if kind < 0.55:
            others.append_politely(world, said)
        elif kind < 0.65:
            others.drop(world, said)
        elif kind < 0.80:
            others.write_rudely(world, said)
        elif kind < 0.87:
            others.write_rudely(world, said, names=False)
        elif kind < 0.92:
            others.write_back_old(world, self._old, said) if self._old else others.write_rudely(world, said)
        elif kind < 0.95:
            others.write_rudely(world, said)
            others.revise(world)
        elif kind < 0.96:
            others.write_broken(world, said)
            world.watch.cause()
        else:
            rng.choice(self._RUDE)(world)
            world.watch.cause()
        if rng.random() < 0.3:
            self._old = [dict(one) for one in world.history() or ()]

    _RUDE: tuple[Callable[[SimulatedWorld], None], ...] = (others.strip, others.tear, lambda world: others.cap(world, 5))
    _PEOPLE: tuple[Callable[[SimulatedWorld], object], ...] = (
        *(others.edit_summary, others.write_note, *others.PEOPLE),  # these two more often
    )

    def _person(self) -> None:
        act = self.rng.choice(self._PEOPLE)
        self.world.note(f"- a person: {act.__name__}")
        if self.forgets and act is others.delete_state:
            return  # with it the list of what was forgotten goes, and nobody could tell
        if self.world.disk.refused == 0 or act is not others.delete_state:
            act(self.world)
        self.world.watch.cause()

    def _trouble(self, n: int) -> None:
        """Change the model's and the disk's times, the settings, the place."""
        world, rng = self.world, self.rng
        if n >= self._time_until and rng.random() < 0.12:
            world.model.time = rng.choice([*TIMES])
            self._time_until = n + rng.choice((1, 1, 2, 5, 15))
            world.watch.cause()
        elif n == self._time_until:
            world.model.time = "well"
            world.watch.cause()
        if n == self._well_on:
            others.heal(world)
            world.watch.cause()
        elif rng.random() < 0.02:
            others.trouble(world, rng.choice(("full", "full", "broken", "forbidden")))
            self._well_on = n + rng.choice((1, 1, 2))
            world.watch.cause()
        if world.watch.total["quarantine_full"] and rng.random() < 0.2:
            others.empty_quarantine(world)
        if rng.random() < 0.006:
            world.configure(RECALLD_ARCHIVE_TIMEZONE=rng.choice(PLACES)[0])
        if rng.random() < 0.01:
            soft = rng.choice((25, 40, 200))
            world.configure(RECALLD_HISTORY_SOFT_CAP=str(soft), RECALLD_HISTORY_HARD_CAP=str(soft + 20))
        if rng.random() < 0.006:
            world.configure(RECALLD_LLM_MODEL=rng.choice(("", "sim-1", "sim-1")))

    # ── the judge ────────────────────────────────────────────────────────────

    def _judge(self, n: int, *, jumped: bool) -> None:
        world = self.world
        cap = int(world.settings["RECALLD_LLM_MAX_CALLS_PER_DAY"])
        wrong = world.watch.end_of_day(10_000 if jumped else cap)
        wrong += judge(world)
        wrong += found_again(world, self._sample(n))
        self._judged(wrong)

    def _sample(self, n: int) -> Sequence[WindowMessage]:
        """Messages to ask for: what is new and some that are old; all of them every quarter."""
        every = searchable(self.world)
        if n % _QUARTER == _QUARTER - 1:
            return every
        fresh = [one for one in every[-20:] if id(one) not in self._asked][-4:]
        self._asked.update(map(id, fresh))
        return [*fresh, *self.rng.sample(every, min(2, len(every)))]

    def _judged(self, wrong: Sequence[str]) -> None:
        if wrong:
            raise AssertionError("\n  ".join(wrong[:8]))
