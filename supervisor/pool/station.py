"""
The workspace as its courier sees it: it claims tasks as a worker does, and writes results as a worker does.

The calls that a task needs are written down before its cargo leaves the host, so that the day's cap holds whoever is killed;
what was not used is taken out again once the result is durable. Secrets are hidden before a cargo is sealed: a password leaves
its host for no pool. Source: docs/reference/protocol.md, 6.11.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import TYPE_CHECKING, Final, get_args

from ..protocol.config import Config
from ..protocol.dated_file import Block
from ..protocol.llm import Account, CallLog, endpoint_of
from ..protocol.paths import WorkspacePaths
from ..protocol.prompts import load_template, shipped_template, without_secrets
from ..protocol.queue import Lease, TaskQueue, worker_lock
from ..protocol.task import REPLY_KINDS, AskedTask, Result, Task, result_of
from ..protocol.task_material import MaterialLost, read_material
from ..storage.clock import Clock, from_wire, to_wire, truncate_to_ms
from ..storage.errors import BadConfig, Busy
from ..summaries.llm_state import calls_needed, writes_extracts
from ..text.language import Language, language_of_sentences
from .cargo import Answer, Cargo, Contents, Reserve, Seal, Uid, Unsealable, packed, read, refusal

if TYPE_CHECKING:
    from ..events import Events
    from ..storage.files import Files

#: Looks in a row at which a task must be missing in the pool before it is offered again: a worker may be about to show that it
#: has it, after the pool has forgotten everything.
_MISSES: Final = 3
#: How long a workspace rests whose tasks can't be carried now: no calls are left, or a prompt is wrong.
_REST_S: Final = 30.0
#: The same where the pool gave a task back undone.
_CLOSED_S: Final = 5.0
_PROMPTS: Final = ("daily-summary", "monthly-summary", "merge-summary")


@dataclass(slots=True, eq=False)
class Parcel:
    """A claimed task: its lease, its calls, and at how many looks in a row the pool knew nothing of it."""

    uid: Uid
    task: Task | AskedTask
    lease: Lease
    reserve: Reserve | None = None
    misses: int = 0

    @property
    def is_missing(self) -> bool:
        """Whether the pool has shown often enough that it knows nothing of it."""
        return self.misses >= _MISSES


class Station:
    """The tasks of the workspace that is called *name* outside of it: answers come to that name."""

    def __init__(
        self, name: str, files: Files, paths: WorkspacePaths, config: Config, events: Events, seal: Seal, clock: Clock
    ) -> None:
        self.name, self.config, self.events = name, config, events
        self.out: dict[Uid, Parcel] = {}
        self.rests_until_s = float("-inf")
        self._files, self._paths, self._seal, self._clock = files, paths, seal, clock
        self._queue = TaskQueue(files, paths)
        self._calls = CallLog(files, paths, config.archive.zone)
        self._lock: contextlib.ExitStack | None = None  # while a task is out, of which the supervisor sees that it has a worker
        self._needed: dict[Uid, int] = {}  # calls of a task that came back for more

    @property
    def profile(self) -> str:
        """The profile of the pool that does its tasks, "" where they need no model."""
        return "" if writes_extracts(self.config.llm) else self.config.pool.profile

    # ── to the pool ──────────────────────────────────────────────────────────

    def close(self) -> None:
        """Give every task back that is out, and let the lock go."""
        for parcel in list(self.out.values()):
            with contextlib.suppress(OSError, Busy):  # the supervisor puts it back when its lease ends
                self.give_back(parcel)
        self.close_if_idle()

    def close_if_idle(self) -> None:
        """Let the lock go where nothing is out."""
        if self._lock and not self.out:
            self._lock.close()
            self._lock = None

    def claim(self, *, asked_only: bool = False) -> Parcel | None:
        """Claim the next task; None when there is none. Busy where eight workers have the locks."""
        self._lock = self._lock or worker_lock(self._files, self._paths)
        task = self._queue.claim(endpoint_of(self.config.llm, {}).server, asked_only=asked_only)
        if task is None:
            return None
        parcel = Parcel(f"{self.name}.{task.id}", task, Lease(self._files, self._queue, task))
        self.out[parcel.uid] = parcel
        return parcel

    def pack(self, parcel: Parcel, now_s: float) -> Cargo | None:
        """Return the task sealed, its calls reserved; None where it can't leave: it is given back, or its material is lost."""
        try:
            contents = self._contents(parcel)
        except MaterialLost as fault:
            now = self._clock()
            self._deliver(parcel.uid, result_of(parcel.task, now, now, status="failed", reason="lost", error=str(fault)))
            return None
        except (BadConfig, Busy, OSError) as error:
            self._rest(parcel, now_s, str(error))
            raise
        if contents is None:
            self._rest(parcel, now_s)
            return None
        return Cargo(parcel.uid, self._seal.seal("cargo", parcel.uid, packed(contents)), isinstance(parcel.task, AskedTask))

    def _contents(self, parcel: Parcel) -> Contents | None:
        """Return what the cargo has; None where no calls are left."""
        task, blocks = parcel.task, list[Block]()
        if isinstance(task, Task):
            blocks = read_material(task, self._files, self._paths, with_extracts=not self.profile)
        needed = self._needed.get(parcel.uid) or self._calls_of(task, blocks)
        reserve = parcel.reserve = self._reserve(task, needed)
        if reserve is None:
            return None
        language = language_of_sentences(block.text for block in blocks)
        if isinstance(task, Task):
            task = replace(task, previous=self._hidden(task.previous, language))
        return Contents(
            task=task,
            host=self.name,
            profile=self.profile,
            reserve=reserve,
            blocks=tuple(self._without_secrets(block, language) for block in blocks),
            prompts=self._own_prompts() if isinstance(task, Task) else {},
            config=self.config,
        )

    def _calls_of(self, task: Task | AskedTask, blocks: Sequence[Block]) -> int:
        if isinstance(task, AskedTask):
            return int(task.kind not in {"session-extract", "model-list"})
        return calls_needed(sum(len(block.text.encode("utf-8", "replace")) for block in blocks), self.config.llm)

    def _reserve(self, task: Task | AskedTask, count: int) -> Reserve | None:
        """Write the calls down; None when the day has no more of them."""
        now = truncate_to_ms(self._clock())
        account: Account = "replies" if task.kind in REPLY_KINDS else "summaries"
        cap = self.config.turns.max_calls_per_day if account == "replies" else self.config.llm.max_calls_per_day
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
        return without_secrets(text, language, self.config.privacy)

    # ── from the pool ────────────────────────────────────────────────────────

    def receive(self, answer: Answer, now_s: float) -> bool:
        """
        Make the answer durable here: its result, or that the task waits again; True once the pool may forget it.

        What comes a second time changes nothing.
        """
        parcel = self.out.get(answer.uid)
        try:
            if answer.refused:
                raise Unsealable(answer.refused)  # type: ignore[arg-type]
            outcome = read(self._seal.unseal("answer", answer.uid, answer.sealed))
        except ValueError as error:
            why = refusal(error.why if isinstance(error, Unsealable) else "changed")
            self.events.transition("pool_waits", why, "pool_goes_on", what="seal", why=why)
            if parcel:
                self._rest(parcel, now_s)
            return True
        self.events.transition("pool_waits", "", "pool_goes_on", what="seal")
        if outcome.result and f"{self.name}.{outcome.result.id}" == answer.uid:
            is_new = self._deliver(answer.uid, outcome.result)
            self._needed.pop(answer.uid, None)
        else:
            is_new = parcel is not None and parcel.reserve == outcome.reserve
            self._needed[answer.uid] = max(2, 2 * outcome.reserve.calls) if outcome.why == "short" else outcome.reserve.calls
            if outcome.why == "ended":
                self.rests_until_s = now_s + _CLOSED_S
            if parcel:
                self.give_back(parcel)
        unused = outcome.reserve.calls - outcome.used
        if is_new and unused > 0:
            self._calls.give_back(from_wire(outcome.reserve.at), unused, outcome.reserve.account)
        return True

    def _deliver(self, uid: Uid, result: Result) -> bool:
        """Write the result once; False where its task is gone, or another was faster."""
        name = f"{result.id}.json"
        self.out.pop(uid, None)
        places = [folder / name for folder in (self._queue.running, self._queue.queue)]
        if not any(self._files.disk.stat(place) for place in places):
            return False
        is_new = self._files.disk.stat(self._queue.results / name) is None
        self._queue.finish(result)
        self._files.remove(self._queue.queue / name)  # of an earlier life of this courier, whose task was put back
        return is_new

    def give_back(self, parcel: Parcel) -> None:
        """Put the task back into the queue, unless its lease is lost."""
        self.out.pop(parcel.uid, None)
        parcel.lease.requeue()

    def _rest(self, parcel: Parcel, now_s: float, why: str = "") -> None:
        self.rests_until_s = now_s + _REST_S
        self.give_back(parcel)
        self.events.transition("pool_waits", why, "pool_goes_on", what="task", why=why)

    # ── while it is away ─────────────────────────────────────────────────────

    def beat(self) -> list[Uid]:
        """Show the supervisor that the tasks are in good hands; return those that are no longer wanted."""
        gone = []
        for parcel in list(self.out.values()):
            parcel.lease.give_up_if_abandoned()
            if parcel.lease.lost or not parcel.lease.heartbeat():
                self.out.pop(parcel.uid, None)
                gone.append(parcel.uid)
        return gone
