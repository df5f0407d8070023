"""
A workspace that lives through simulated time: the real supervisor and worker over the model disk, with a cranked clock.

What others do to it is in others.py, what must hold in judge.py, the course of the years in years.py. Everything that happens
is noted, a line each; equal seeds give equal notes.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import recalld.supervisor.host.workers
from recalld.supervisor.events import EVENTS, Events
from recalld.supervisor.host.lock import supervisor_lock
from recalld.supervisor.host.round import Round
from recalld.supervisor.host.workers import Workers
from recalld.supervisor.protocol.config import Config, load
from recalld.supervisor.protocol.config_keys import Log
from recalld.supervisor.storage.clock import to_wire
from recalld.supervisor.storage.errors import Busy, LockLost, SupervisorError
from recalld.supervisor.storage.files import Files
from recalld.worker.providers import NoCall
from tests.crash.ledger import PowerLoss
from tests.crash.loss import MODES, outcomes
from tests.simulation.disk import SimulatedDisk
from tests.simulation.model import Extracts, ScriptedModel, WorkerKilled
from tests.simulation.others import read_or_none, words_of
from tests.simulation.talk import WindowMessage
from tests.simulation.watch import Watch
from tests.world import Clock, Diarist

if TYPE_CHECKING:
    from tests.simulation.programs import Program

#: Settings of every life, small enough that caps and limits are met often.
SETTINGS = {
    "RECALLD_LLM_MODEL": "sim-1",
    "RECALLD_SUMMARIZE_LEAST": "0",
    "RECALLD_LLM_MAX_CALLS_PER_DAY": "12",
    "RECALLD_HISTORY_SOFT_CAP": "40",
    "RECALLD_HISTORY_HARD_CAP": "60",
    "RECALLD_ARCHIVE_UNARCHIVED_LIMIT": "30",
}
#: How often a start that the power cuts short is tried again.
_STARTS = 6
#: Operations on the disk within which a look has to end.
MOST_OPERATIONS = 2_000
_LEASE_S = 121.0


class NotedEvents(Events):
    """Events as notes of the world; what lasts is told once a life, as in the log."""

    def __init__(self, world: SimulatedWorld, path: Path) -> None:
        super().__init__(path, world.clock, Log())
        self._world = world
        self.closed = False

    def emit(self, event: str, **fields: object) -> None:
        assert event in EVENTS
        if not self.closed:
            self._world.note(f"* {event} {json.dumps(fields, ensure_ascii=False)}")
            self._world.watch.told(event, fields, self._world.clock())


class SimulatedWorld:
    """The workspace at *root* (its index alone lies there) from *start* on, in days of *zone*."""

    def __init__(self, root: Path, seed: str, zone: str, start: datetime) -> None:
        self.root = root
        self.rng = Random(f"{seed} world")
        self.clock = Clock(start.astimezone(UTC))
        self.settings = {**SETTINGS, "RECALLD_ARCHIVE_TIMEZONE": zone}
        self.lines = 0
        self.digest = hashlib.sha256()
        self.newest: deque[str] = deque(maxlen=60)  # of the notes
        self.watch = Watch()
        self.model = ScriptedModel(Random(f"{seed} model"), self._slow, self._paid)
        self.disk = SimulatedDisk(root, self._now_ns)
        self.life: Life | None = None
        self.lives = 0
        self.rounds = 0
        self.promised: list[WindowMessage] = []
        self.unseen: list[WindowMessage] = []  # written by programs that take no lock, and not met yet
        self.owed: list[WindowMessage] = []  # written into a file that recalld had put another in the place of, to be taken in
        self.was_set_back = self.has_refused = False  # the clock, and the disk, at any time of this life
        self.nameless: set[str] = set()  # words that some program wrote without an id: they may be known under another
        self.bare: set[str] = set()  # nameless, and without a time or an id of their own before: they may count as said again
        self.boxed: dict[int, list[WindowMessage]] = {}  # what was dropped, by the inode of its file
        self.deleted: set[tuple[str, str]] = set()  # words that a person deleted
        self.taken: dict[tuple[str, str], str] = {}  # of these, what a person took out of a file, and the file's name
        self.broken_with: Sequence[WindowMessage] = ()  # what the broken history.json has that nobody has met
        self.touched: set[str] = set()
        self.thrown: set[str] = set()  # summaries that a person deleted, made anew or not
        self.own: dict[str, bytes] = {}  # a person's files, and the copies of machine files
        self.forgotten: set[str] = set()  # words of which nothing may be left
        self.is_whole = False  # the last look was a whole round, on a disk that let it do all
        self.copies: dict[str, str] = {}  # these copies, and the name of what they are copies of
        self.respelt: set[str] = set()  # files whose line ends an editor has changed, and not a word
        self.above: dict[str, bytes] = {}  # summaries as a person left them
        self.in_order = True
        self.rude = False  # history.json was written without the lock, and no round has settled it since
        self.behind = False  # the journal could not be told what is written, and flags go by it
        self.forgetful = False  # .recalld/ was deleted, and no round has met history.json since
        self.places = itertools.count(1)
        self.late: list[tuple[str, bytes]] = []
        self.programs: list[Program] = []
        self.rewrites = 0  # how often a program wrote history.json anew
        #: of words that are said again and again: how often they were met, and how often they were said
        self.repeated: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        self._is_nested = False
        self._filed: tuple[object, int, dict[tuple[str, str], str]] = (None, 0, {})  # of which files, and what
        self.start()

    # ── notes and time ───────────────────────────────────────────────────────

    def note(self, text: str) -> None:
        line = f"{to_wire(self.clock())} {text.replace(str(self.root), '…')}"
        self.lines += 1
        self.digest.update(line.encode("utf-8", "backslashreplace") + b"\n")
        self.newest.append(line)

    def advance(self, span: timedelta) -> None:
        """Let time pass."""
        self.clock.advance(span)

    def jump(self, span: timedelta) -> None:
        """Set the wall clock to another time; the monotonic one knows nothing of it."""
        self.note(f"- the clock jumps by {span}")
        self.clock.now += span
        self.was_set_back = self.was_set_back or span < timedelta()
        self.watch.jumped()

    def _now_ns(self) -> int:
        return int(self.clock().timestamp() * 1000) * 1_000_000

    @property
    def zone(self) -> str:
        return self.settings["RECALLD_ARCHIVE_TIMEZONE"]

    @property
    def config(self) -> Config:
        return _config(tuple(self.settings.items()))

    def midnight(self) -> datetime:
        """Return when the next day begins that there is in the zone."""
        zone = ZoneInfo(self.zone)
        today = self.clock().astimezone(zone).date()
        for n in (1, 2):
            then = datetime.combine(today + timedelta(days=n), time(0), zone).astimezone(UTC)
            if then.astimezone(zone).date() > today:
                return then
        raise AssertionError(f"no day after {today} in {zone}")

    # ── processes ────────────────────────────────────────────────────────────

    def start(self) -> bool:
        """Start the supervisor; False where the disk does not let it."""
        for _ in range(_STARTS):
            try:
                self.life = Life(self)
            except PowerLoss:
                self.power_cut()
            except (SupervisorError, OSError) as error:
                self.note(f"- it does not start: {type(error).__name__}")
                return False
            else:
                return True
        raise AssertionError("every start was cut short")

    def stop(self) -> None:
        """End the supervisor's process, as SIGKILL does."""
        if self.life:
            self.life.end()
            self.life = None

    def configure(self, **settings: str) -> None:
        """Change the configuration; a restart reads it."""
        self.note(f"- settings {json.dumps(settings)}")
        if "RECALLD_LLM_MODEL" in settings:
            self.watch.paused = None  # who makes extracts asks no server
        if {"RECALLD_ARCHIVE_RECENT_DAYS", "RECALLD_ARCHIVE_TIMEZONE"} & settings.keys():
            self.watch.failed.clear()  # a day that is too young again has nothing to be told, and begins anew
        if "RECALLD_ARCHIVE_TIMEZONE" in settings:
            self.watch.spent.clear()  # from now on a day is other hours
        self.stop()
        self.settings.update(settings)
        self.start()

    def power_cut(self) -> None:
        """What was not synced may be lost; what stands is a disk that the model allows."""
        mode = self.rng.choice((*MODES, "kill"))
        found = list(outcomes(self.disk.end(), mode, 6, self.rng.randrange(1000)))
        if mode != "kill":
            self.owed = []  # who wrote them synced nothing
            self.broken_with = ()
        self.note(f"- {'killed' if mode == 'kill' else 'power lost'} at call {self.disk.operations}")
        self.stop()
        refuse = self.disk.refuse
        is_cursed = self.disk.is_cursed(".recalld/seen.jsonl")
        self.disk = SimulatedDisk(self.root, self._now_ns, self.rng.choice(found).state)
        if is_cursed:
            # what a process could not sync, the next one can read and takes for durable: no disk is promised that fails, and
            # loses its power before the journal is written anew (docs/explanation/durability.md)
            self.forgetful = True
            self.taken.clear()
            named = {(str(one.get("id", "")), one.get("text")) for one in self.history() or ()} | set(self.filed())
            texts = {text for _, text in named}
            self.unseen += [one for one in self.promised if one.text in texts and (one.id, one.text) not in named]
            self.promised = [one for one in self.promised if (one.id, one.text) in named]
            taken_in = self.boxed.keys() - self.in_drop_box()
            self.boxed = {number: said for number, said in self.boxed.items() if number not in taken_in}
        self.disk.refuse = refuse
        self.watch.cause()

    @contextlib.contextmanager
    def mortal(self) -> Iterator[None]:
        """Come up again where the power goes out on the way."""
        try:
            yield
        except PowerLoss:
            self.power_cut()
            self.start()

    # ── what recalld does ────────────────────────────────────────────────────

    def tick(self) -> Round | None:
        """Look once, as the service does; None where there was no whole round."""
        self.rounds += 1
        done, before = None, self.disk.operations
        with self.mortal():
            if self.life or self.start():
                assert self.life
                done = self.life.tick()
                if done is None:
                    self.stop()
                    self.start()
        if (took := self.disk.operations - before) > MOST_OPERATIONS:
            self.watch.wrong.append(f"a look did {took} operations on the disk")
        self.is_whole = done is not None and not done.errors
        if done is not None:
            self.meet(done)
        return done

    def work(self, most: int = 8) -> int:
        """Let a worker do at most so many tasks; returns how many it did."""
        life, done = self.life, 0
        if life is None:
            return 0
        with self.mortal():
            worker = life.main.worker(life.worker_files, self.provider)
            for _ in range(most):
                try:
                    result = worker.run_once()
                except WorkerKilled:
                    self.note("- the worker dies")
                    if self.rng.random() < 0.5:  # else the lease runs out
                        life.seen_dead()
                    break
                except (OSError, Busy, NoCall):
                    break
                if result is None:
                    break
                self.note(
                    f"+ {result.group} {result.status} {result.reason or ''} attempt {result.attempt} calls {result.usage.get('calls', 0)}"
                )
                done += 1
                if self.model.doubled:
                    path = f"worker/results/{result.id}.json"
                    self.late.append((path, self.disk.tree()[path]))
                    self.model.doubled = False
                self.advance(timedelta(seconds=20))
        return done

    @property
    def provider(self) -> Any:
        """Who writes: the model, or extracts where none is configured."""
        return self.model if self.settings["RECALLD_LLM_MODEL"] else Extracts()

    def _slow(self) -> None:
        """The model takes longer than any lease: the task is put back, and another worker may have it first."""
        life = self.life
        if life is None or self._is_nested:
            return
        self._is_nested = True
        try:
            for _ in range(2):
                life.watch_leases()
                self.advance(timedelta(seconds=_LEASE_S))
            life.watch_leases()
            as_it_was, self.model.time = self.model.time, "well"
            if self.rng.random() < 0.5:
                other = life.main.worker(life.other_files, self.provider)
                with contextlib.suppress(NoCall):
                    other.run_once()
            self.model.time = as_it_was
        finally:
            self._is_nested = False

    def deliver_again(self) -> None:
        """Let the oldest result that comes twice come a second time."""
        path, data = self.late.pop(0)
        if not self.disk.has(path):
            self.disk.plant(path, data)
            self.note("- a result comes a second time")

    def forget_pieces(self) -> None:
        """Delete what was kept of answers: a model that was not well has given them, and the next text may be refused for it."""
        for path in [path for path in self.disk.tree() if path.startswith(".recalld/pieces/")]:
            self.disk.remove(path)

    def _paid(self) -> None:
        self.watch.paid(self.clock().astimezone(ZoneInfo(self.zone)).date().isoformat())

    def meet(self, done: Round) -> None:
        """Note what a whole round has seen: from now on it is promised."""
        self.behind = "intake" in done.errors
        if self.behind:
            return
        self.forgetful = False
        self.promised += [said for number in sorted(self.boxed.keys() - self.in_drop_box()) for said in self.boxed.pop(number)]
        self.rude = self.rude and "settle" in done.errors
        if self.unseen or self.owed:
            met = [(str(one.get("id", "")), one.get("text")) for one in self.history() or ()] + list(self.filed())
            ids = {text: identity for identity, text in met}
            for said in (*self.unseen, *self.owed):
                is_named = (said.id, said.text) in met
                if not is_named and said.word and said.text in ids:  # it had no name, or a writer took it away
                    said.raw["id"] = ids[said.text]
                    is_named = True
                if is_named:
                    self.promised.append(said)
                    self.owed = [one for one in self.owed if one is not said]
            self.unseen = []
        for program in self.programs:
            program.met()

    def overwritten(self) -> None:
        """Note that somebody else has written history.json: what a broken one had is owed no more."""
        self.owed = [one for one in self.owed if not any(one is said for said in self.broken_with)]
        self.broken_with = ()

    def due_at(self) -> datetime | None:
        """Return when the supervisor would wake by itself; None where there is none."""
        return self.life.supervisor.due_at if self.life else None

    # ── what lies there ──────────────────────────────────────────────────────

    def history(self) -> tuple[dict[str, Any], ...] | None:
        """Return the messages in history.json; None where it can't be read."""
        data = self.disk.bytes_of("history.json")
        return read_or_none(data) if data is not None else None

    def in_drop_box(self) -> set[int]:
        """Return the files that nobody has taken in yet, by inode."""
        folders = [names for folder, names in self.disk.live.items() if folder.startswith("inbox.d/")]
        return {number for names in folders for number in names.values()}

    def filed(self) -> dict[tuple[str, str], str]:
        """Return the path of the dated file of every message that is written, by id and words."""
        files, hidden = self.disk.tree(), len(self.touched) + len(self.own)
        if self._filed[0] is not files or self._filed[1] != hidden:
            found: dict[tuple[str, str], str] = {}
            for path, data in files.items():
                if not path.startswith("memory/") or "/summary/" in path or path.endswith(".tmp"):
                    continue
                if path not in self.touched and path not in self.own:
                    found.update(dict.fromkeys(words_of(data), path))
            self._filed = files, hidden, found
        return self._filed[2]


@lru_cache(maxsize=256)
def _config(settings: tuple[tuple[str, str], ...]) -> Config:
    return load(None, dict(settings))


class Life:
    """One process of the supervisor, and the files of the others over the same disk."""

    def __init__(self, world: SimulatedWorld) -> None:
        world.lives += 1
        self._world = world
        self._held = contextlib.ExitStack()
        self.told, silent = (NotedEvents(world, world.root / "log.jsonl") for _ in range(2))
        silent.closed = True

        def process(name: str, events: NotedEvents) -> Diarist:
            opened = Diarist.process(world.root, world.clock, events, world.config, world.disk, f"{name}{world.lives}")
            opened.random = world.rng
            return opened

        self.main = process("supervisor", self.told)
        self.workers = Workers(self.main.ws, world.clock)
        self.supervisor = self.main.supervisor()
        self.worker_files, self.other_files = (
            Files(world.disk, token=f"{name}{world.lives}", pause=lambda _: None) for name in ("worker", "other")
        )
        self.app, self.reader = process("app", silent), process("reader", silent)
        try:
            self._check_lock = self._held.enter_context(supervisor_lock(self.main.ws))
        except BaseException:
            self.end()
            raise

    def tick(self) -> Round | None:
        """What run() does when it looks; None where it has to end."""
        try:
            self._check_lock()
            done = self.supervisor.tick(self._world.clock())
            self.watch_leases()
        except LockLost:
            return None
        return done

    def watch_leases(self) -> None:
        """What run() does after each look; what the disk refuses is told with the next round."""
        self.supervisor._attempt("leases", self.workers.watch_leases, None)

    def seen_dead(self) -> None:
        """What start_if_needed() does when the worker has ended."""
        with contextlib.suppress(SupervisorError, OSError):
            self.main.reclaim()

    def end(self) -> None:
        self.told.closed = True
        with contextlib.suppress(BaseException):
            self._held.close()


@contextlib.contextmanager
def cranked(world: SimulatedWorld) -> Iterator[None]:
    """Have the leases live by the world's monotonic clock."""
    real = recalld.supervisor.host.workers.time
    recalld.supervisor.host.workers.time = world.clock  # type: ignore[assignment]
    try:
        yield
    finally:
        recalld.supervisor.host.workers.time = real
