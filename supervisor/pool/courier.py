"""
The courier: carries the tasks of a workspace to a pool of workers, and their results back.

It claims tasks as a worker does, offers as many as the pool can begin in the next seconds, first what a person waits for, and
writes results as a worker does. What the pool has forgotten is offered again. The calls that a task needs are written down
before its cargo leaves the host, so that the day's cap holds whoever is killed; what was not used is taken out again once the
result is durable. Secrets are hidden before a cargo is sealed: a password leaves its host for no pool. Source:
docs/reference/protocol.md, 6.11.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from secrets import token_hex
from typing import Final, TypeVar, get_args

from ..events import Events
from ..protocol.config import Config
from ..protocol.dated_file import Block
from ..protocol.llm import Account, CallLog, endpoint_of, load_template, shipped_template, without_secrets
from ..protocol.paths import WorkspacePaths
from ..protocol.queue import Lease, TaskQueue, worker_lock
from ..protocol.task import REPLY_KINDS, AskedTask, Result, Task, result_of
from ..protocol.task_material import MaterialLost, read_material
from ..storage.clock import Clock, from_wire, steady_s, to_wire, truncate_to_ms
from ..storage.errors import Busy, SupervisorError
from ..storage.files import Files
from ..summaries.llm_state import calls_needed
from ..text.language import Language, language_of_sentences
from .cargo import Answer, Cargo, Contents, PoolAway, Reserve, Seal, Uid, Unsealable, packed, read, refusal
from .redis_pool import RedisPool

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
#: Looks in a row at which a task must be missing in the pool before it is offered again: a worker may be about to show that it
#: has it, after the pool has forgotten everything.
_MISSES: Final = 3
#: How long nothing is offered where a task can't be carried now: no calls are left, or a prompt is wrong; and where the pool
#: gave one back undone.
_REST_S: Final = 30.0
_CLOSED_S: Final = 5.0
_PROMPTS: Final = ("daily-summary", "monthly-summary", "merge-summary")


@dataclass(slots=True, eq=False)
class Parcel:
    """A claimed task: its lease, its calls, and at how many looks in a row the pool knew nothing of it."""

    uid: Uid
    lease: Lease
    reserve: Reserve | None = None
    misses: int = 0


class Courier:
    """Carries the tasks of a workspace, which is called *name* outside of it, to the *pool*: answers come to that name."""

    def __init__(
        self,
        pool: RedisPool,
        name: str,
        files: Files,
        paths: WorkspacePaths,
        config: Config,
        events: Events,
        seal: Seal,
        clock: Clock,
        *,
        now_s: Callable[[], float] = steady_s,
    ) -> None:
        self._pool, self._name, self._files, self._paths, self._config = pool, name, files, paths, config
        self._events, self._seal, self._clock, self._now_s = events, seal, clock, now_s
        self._queue = TaskQueue(files, paths)
        self._calls = CallLog(files, paths, config.archive.zone)
        self._parcels: dict[Uid, Parcel] = {}
        self._needed: dict[Uid, int] = {}  # calls of a task that came back for more
        #: Held while a task is out: the supervisor sees by it that the task has a worker.
        self._lock: contextlib.ExitStack | None = None
        self._look_at = self._beat_at = self._ask_at = self._away_until = self._rests_until = float("-inf")
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
        for parcel in list(self._parcels.values()):
            with contextlib.suppress(OSError, Busy):  # the supervisor puts it back when its lease ends
                self._give_back(parcel)
        self._unlock_if_idle()
        with contextlib.suppress(PoolAway):
            signs = self._pool.signs(uids)
            self._pool.withdraw([uid for uid in uids if signs.get(uid) == "waits"])

    @property
    def out(self) -> list[Uid]:
        """The tasks that are in the pool."""
        return list(self._parcels)

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
        self._tell("pool", "")
        self._try("unlock", self._unlock_if_idle)
        return came or went

    def _try(self, what: str, act: Callable[[], T]) -> T | None:
        """Do it; None where the disk of the workspace refuses, which is told until *what* is done succeeds."""
        try:
            done = act()
        except (OSError, SupervisorError) as error:
            self._tell(what, str(error))
            return None
        self._tell(what, "")
        return done

    def _tell(self, what: str, why: str) -> None:
        self._events.transition("pool_waits", why, "pool_goes_on", what=what, why=why)

    def _is_away(self, why: str, now_s: float) -> None:
        self._away_until = now_s + _AWAY_S
        self.missed += 1
        if self.missed >= _TOLD_FROM:
            self._tell("pool", why)
        for parcel in self._parcels.values():
            parcel.misses = 0

    def _unlock_if_idle(self) -> None:
        if self._lock and not self._parcels:
            self._lock.close()
            self._lock = None

    # ── while tasks are out ──────────────────────────────────────────────────

    def _beat(self, now_s: float) -> None:
        every_s = self._config.worker.beat.total_seconds()
        if any(isinstance(parcel.lease.task, AskedTask) for parcel in self._parcels.values()):
            every_s = min(every_s, _ASKED_BEAT_S)  # nobody may wait for it any more
        if now_s < self._beat_at + every_s:
            return
        self._beat_at = now_s
        if unwanted := self._try("touch", self._touch):
            with contextlib.suppress(PoolAway):
                self._pool.withdraw(unwanted)

    def _touch(self) -> list[Uid]:
        """Show the supervisor that the tasks are in good hands; return those that are no longer wanted."""
        gone = []
        for parcel in list(self._parcels.values()):
            parcel.lease.give_up_if_abandoned()
            if parcel.lease.lost or not parcel.lease.heartbeat():
                self._parcels.pop(parcel.uid, None)
                gone.append(parcel.uid)
        return gone

    def _ask(self, now_s: float) -> None:
        """Ask what became of the tasks that are out; what is missing three times in a row is offered again."""
        if now_s < self._ask_at + _ASK_S:
            return
        self._ask_at = now_s
        out = list(self._parcels.values())
        signs = self._pool.signs(self.out) if out else {}
        for parcel in out:
            sign = signs.get(parcel.uid)
            parcel.misses = 0 if sign in {"runs", "waits"} else parcel.misses + 1
            if parcel.misses < _MISSES:
                continue
            if sign == "done":  # its answer went to a courier that is no more: it comes again, unpaid
                parcel.misses = 0
                self._pool.offer(Cargo(parcel.uid, b""))
            else:
                self._pool.withdraw([parcel.uid])
                self._send(parcel, now_s)

    # ── to the pool ──────────────────────────────────────────────────────────

    def _offer(self, now_s: float) -> bool:
        """Claim and offer what a person waits for, and then while there is room."""
        if now_s < max(self._rests_until, self._look_at):
            return False
        self._look_at = now_s + _LOOK_S
        room = self._pool.room() - len(self._parcels)
        went = int(self._offer_next(now_s, asked_only=True))
        while went < room and self._offer_next(now_s):
            went += 1
        return went > 0

    def _offer_next(self, now_s: float, *, asked_only: bool = False) -> bool:
        parcel = self._try("claim", partial(self._claim, asked_only=asked_only))
        return parcel is not None and self._send(parcel, now_s)

    def _claim(self, *, asked_only: bool) -> Parcel | None:
        """Claim the next task; None when there is none. Busy where eight workers have the locks."""
        self._lock = self._lock or worker_lock(self._files, self._paths)
        task = self._queue.claim(endpoint_of(self._config.llm, {}).server, asked_only=asked_only)
        if task is None:
            return None
        parcel = Parcel(f"{self._name}.{task.id}", Lease(self._files, self._queue, task))
        self._parcels[parcel.uid] = parcel
        return parcel

    def _send(self, parcel: Parcel, now_s: float) -> bool:
        """Offer a claimed task, its calls reserved; False where it can't leave: it waits again, or its material is lost."""
        task, why = parcel.lease.task, ""
        try:
            contents = self._contents(parcel)
        except MaterialLost as fault:
            now = self._clock()
            lost = result_of(task, now, now, status="failed", reason="lost", error=str(fault))
            self._try("deliver", partial(self._deliver, parcel.uid, lost))
            return False
        except (SupervisorError, OSError) as error:
            contents, why = None, str(error)
        if contents is None:
            self._try("rest", partial(self._rest, parcel, now_s, why))
            return False
        parcel.misses = 0
        self._tell("task", "")
        sealed = self._seal.seal("cargo", parcel.uid, packed(contents))
        self._pool.offer(Cargo(parcel.uid, sealed, isinstance(task, AskedTask)))
        return True

    def _contents(self, parcel: Parcel) -> Contents | None:
        """Return what the cargo has; None where no calls are left."""
        task, blocks = parcel.lease.task, list[Block]()
        if isinstance(task, Task):
            blocks = read_material(task, self._files, self._paths, with_extracts=False)
        needed = self._needed.get(parcel.uid) or self._calls_of(task, blocks)
        reserve = parcel.reserve = self._reserve(task, needed)
        if reserve is None:
            return None
        language = language_of_sentences(block.text for block in blocks)
        if isinstance(task, Task):
            task = replace(task, previous=self._hidden(task.previous, language))
        return Contents(
            task=task,
            host=self._name,
            profile=self._config.pool.profile,
            reserve=reserve,
            blocks=tuple(self._without_secrets(block, language) for block in blocks),
            prompts=self._own_prompts() if isinstance(task, Task) else {},
            config=self._config,
        )

    def _calls_of(self, task: Task | AskedTask, blocks: Sequence[Block]) -> int:
        if isinstance(task, AskedTask):
            return 1
        return calls_needed(sum(len(block.text.encode("utf-8", "replace")) for block in blocks), self._config.llm)

    def _reserve(self, task: Task | AskedTask, count: int) -> Reserve | None:
        """Write the calls down; None when the day has no more of them."""
        now = truncate_to_ms(self._clock())
        account: Account = "replies" if task.kind in REPLY_KINDS else "summaries"
        cap = self._config.turns.max_calls_per_day if account == "replies" else self._config.llm.max_calls_per_day
        is_free = task.kind == "model-test" or (isinstance(task, Task) and task.redo)  # a person asked for it
        if count and not self._calls.begin(now, None if is_free else cap, account, count):
            return None
        return Reserve(calls=count, at=to_wire(now), account=account, mark=token_hex(4))

    def _own_prompts(self) -> dict[str, str]:
        prompts = {}
        for name in _PROMPTS:
            for language in get_args(Language):
                template = load_template(name, language, self._files, self._paths)
                if template != shipped_template(name, language):
                    prompts[template.name] = template.text
        return prompts

    def _without_secrets(self, block: Block, language: Language) -> Block:
        return replace(block, text=self._hidden(block.text, language), fields={"name": self._hidden(block.speaker, language)})

    def _hidden(self, text: str, language: Language) -> str:
        return without_secrets(text, language, self._config.privacy)

    # ── from the pool ────────────────────────────────────────────────────────

    def _receive(self, now_s: float) -> bool:
        """Make durable what has come, and let the pool forget it."""
        done = [answer for answer in self._pool.take() if self._try("take", partial(self._take_in, answer, now_s))]
        if done:
            self._pool.taken(done)
        return bool(done)

    def _take_in(self, answer: Answer, now_s: float) -> bool:
        """
        Make the answer durable: its result, or that the task waits again; True, the pool may forget it.

        What comes a second time changes nothing.
        """
        parcel = self._parcels.get(answer.uid)
        try:
            if answer.refused:
                raise Unsealable(answer.refused)  # type: ignore[arg-type]
            outcome = read(self._seal.unseal("answer", answer.uid, answer.sealed))
        except ValueError as error:
            self._tell("seal", refusal(error.why if isinstance(error, Unsealable) else "changed"))
            if parcel:
                self._rest(parcel, now_s)
            return True
        self._tell("seal", "")
        if outcome.result and f"{self._name}.{outcome.result.id}" == answer.uid:
            is_new = self._deliver(answer.uid, outcome.result)
            self._needed.pop(answer.uid, None)
        else:
            is_new = parcel is not None and parcel.reserve == outcome.reserve
            self._needed[answer.uid] = max(2, 2 * outcome.reserve.calls) if outcome.why == "short" else outcome.reserve.calls
            if outcome.why == "ended":
                self._rests_until = now_s + _CLOSED_S
            if parcel:
                self._give_back(parcel)
        unused = outcome.reserve.calls - outcome.used
        if is_new and unused > 0:
            self._calls.give_back(from_wire(outcome.reserve.at), unused, outcome.reserve.account)
        return True

    def _deliver(self, uid: Uid, result: Result) -> bool:
        """Write the result once; False where its task is gone, or another was faster."""
        name = f"{result.id}.json"
        self._parcels.pop(uid, None)
        places = [folder / name for folder in (self._queue.running, self._queue.queue)]
        if not any(self._files.disk.stat(place) for place in places):
            return False
        is_new = self._files.disk.stat(self._queue.results / name) is None
        self._queue.finish(result)
        self._files.remove(self._queue.queue / name)  # of an earlier life of this courier, whose task was put back
        return is_new

    def _give_back(self, parcel: Parcel) -> None:
        self._parcels.pop(parcel.uid, None)
        parcel.lease.requeue()

    def _rest(self, parcel: Parcel, now_s: float, why: str = "") -> None:
        """Put the task back, and offer nothing for a while."""
        self._rests_until = now_s + _REST_S
        self._give_back(parcel)
        self._tell("task", why)
