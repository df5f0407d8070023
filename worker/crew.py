"""
A worker of the pool as a process: takes tasks of any workspace from Redis, asks the model of their profile, and delivers.

It has no workspace and no state on disk. Every task is held by a lock that this process alone renews each second; when Redis
has forgotten everything, the renewal shows that the task is in good hands, and a result is offered until Redis has it. A call
is made only within what the workspace has reserved; a task that needs more goes back without a failure, and its host offers it
again with more.

Beside it is pool.toml: the process itself in [pool], and each model in [providers.NAME]. A cargo names a profile and nothing
more, so that no workspace can have the pool call a server of its own choosing. How often a model is asked is a workspace's own
limit (`llm.max_calls_per_day`), which is written down before a task leaves it.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from recalld.supervisor.pool import scripts
from recalld.supervisor.pool.cargo import Contents, Outcome, PoolAway, Seal, Unsealable, Why, refusal, rendered, unpacked
from recalld.supervisor.pool.redis_pool import Broker
from recalld.supervisor.protocol.config import Config, tables
from recalld.supervisor.protocol.config_keys import Crew as CrewKeys
from recalld.supervisor.protocol.config_keys import Llm, Provider
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.llm import Account, PromptTemplate, read_template, shipped_template
from recalld.supervisor.protocol.settings import read_section
from recalld.supervisor.protocol.task import Result, result_of
from recalld.supervisor.storage.clock import Clock
from recalld.supervisor.storage.disk import read_outside
from recalld.supervisor.storage.errors import BadConfig, Busy, NoService, from_os_error
from recalld.supervisor.storage.process import on_signals
from recalld.supervisor.storage.texts import Text
from recalld.supervisor.text.language import Language

from .loop import do
from .providers import Model, NoCall

_RENEW_S: Final = 1.0
#: Seconds between two looks for the next task.
_LOOK_S: Final = 0.1
#: A task is not begun more often without an answer.
_MOST_TRIES: Final = 2
_RETRY_S: Final = 0.5
#: For how long what goes back may take to be delivered.
_END_S: Final = 5.0
_THERE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Profiles:
    """What pool.toml says: the process, and its models by name."""

    crew: CrewKeys
    models: Mapping[str, Provider]


def read_profiles(path: Path) -> Profiles:
    """Return what the file says; BadConfig with one sentence where it is not there, or wrong."""
    try:
        data = read_outside(path)
    except FileNotFoundError:
        raise BadConfig(
            path.name,
            Text(
                "{path} is not there; it names the models of the pool, a section [providers.NAME] each, as docs/how-to/a-pool-of-workers.md shows",
                path=path,
            ),
        ) from None
    except OSError as error:
        raise from_os_error(error, path) from error
    given: dict[str, Any] = tables(data, path.name)
    providers = given.pop("providers", {})
    models = providers.values() if isinstance(providers, dict) else ()
    if not models or not all(isinstance(model, dict) for model in models):
        raise BadConfig(path.name, Text("it names no model: give a section [providers.default] with base_url and model"))
    crew = read_section("pool", CrewKeys(), given)
    profiles = {name: read_section("provider", Provider(), {"provider": table}) for name, table in providers.items()}
    for name, profile in profiles.items():
        if not profile.model:
            raise BadConfig(
                f"providers.{name}.model", Text('no model is named; give the name that the server knows, such as "qwen3:8b"')
            )
    return Profiles(crew, profiles)


class RedisHold:
    """A task in Redis as this process has it, by a lock that it renews; *lost*: another has it, or nobody wants it any more."""

    def __init__(self, crew: Crew, who: str, uid: str, host: str, sealed: bytes, tries: int) -> None:
        self.uid, self.who, self.host, self.sealed, self.tries = uid, who, host, sealed, tries
        self.lost = False
        self._crew, self._broker = crew, crew.broker

    def refuse(self, why: str) -> None:
        """Tell the host that its cargo can't be read; nothing was paid."""
        self.deliver(scripts.REFUSED + why.encode())

    def deliver(self, data: bytes) -> None:
        """Give the sealed answer to the host; goes on until Redis has it, or this process has to end."""
        while not self.lost:
            try:
                with self._crew.renewing:  # a lock that is renewed beyond its answer would hide that the task is missing
                    self._broker.run(scripts.DELIVER, self.uid, self.who, self.host, data)
                    self._crew.holds.discard(self)
            except PoolAway:
                if self._crew.ends.wait(_RETRY_S):
                    return
            else:
                return


def opened(hold: RedisHold, seal: Seal) -> Contents:
    """Return what is in the cargo; Unsealable where this worker can't read it."""
    data = seal.unseal("cargo", hold.uid, hold.sealed)
    try:
        cargo = unpacked(data)
    except Unsealable:
        raise
    except ValueError:
        raise Unsealable("changed") from None
    if not hold.uid.endswith(f".{cargo.task.id}"):
        raise Unsealable("changed")
    return cargo


class PoolClaim:
    """One task of the pool (as `desk.FolderClaim`), and its log of calls (as `llm.CallLog`)."""

    #: Pieces of a summary are kept by no pool.
    kept: None = None

    def __init__(self, hold: RedisHold, contents: Contents, seal: Seal) -> None:
        self.task, self.config, self.log = contents.task, contents.config, self
        self._hold, self._contents, self._seal = hold, contents, seal
        self._used = 0
        self._why: Why = "ended"

    @property
    def lost(self) -> bool:
        """Whether another has it, or nobody wants it."""
        return self._hold.lost

    def material(self, *, with_extracts: bool) -> list[Block]:  # noqa: ARG002 - its host has seen to that
        """Return the messages of the cargo."""
        return list(self._contents.blocks)

    def template(self, name: str, language: Language) -> PromptTemplate:
        """Return the workspace's own prompt, else the one that this worker ships."""
        file = f"{name}.{language}.md"
        prompt = self._contents.prompts.get(file)
        return shipped_template(name, language) if prompt is None else read_template(name, file, prompt.encode())

    # ── calls ────────────────────────────────────────────────────────────────

    def begin(self, now: datetime, most: int | None, account: Account = "summaries") -> bool:  # noqa: ARG002 - the host has counted
        """Count one call; NoCall where it may not be made now."""
        if self._used >= self._contents.reserve.calls:
            self._why = "short"
            raise NoCall(Text("the task needs more calls than were reserved for it"))
        self._used += 1
        return True

    # ── the end ──────────────────────────────────────────────────────────────

    def held(self) -> bool:
        """Return whether this process still has the task."""
        return not self._hold.lost

    def finish(self, result: Result) -> None:
        """Deliver the result; a task that only needs more calls than were reserved goes back."""
        if result.reason == "spent" and self._why == "short":
            self.give_back()
            return
        self._deliver(Outcome(reserve=self._contents.reserve, used=self._used, result=result))

    def give_back(self) -> None:
        """Tell the host why the task was not done."""
        if not self._hold.lost:
            self._deliver(Outcome(reserve=self._contents.reserve, used=self._used, why=self._why))

    def fail(self, now: datetime) -> None:
        """Deliver that two workers have ended over the task: it is not begun a third time, and its group waits."""
        error = Text("its worker ended twice")
        result = result_of(self.task, now, now, status="failed", reason="input", error=error)
        self._deliver(Outcome(reserve=self._contents.reserve, used=self._contents.reserve.calls, result=result))

    def _deliver(self, outcome: Outcome) -> None:
        self._hold.deliver(self._seal.seal("answer", self._hold.uid, rendered(outcome)))


class Crew:
    """The threads of one process; *report* gets what each task has come to, without its words."""

    def __init__(
        self,
        broker: Broker,
        keys: CrewKeys,
        profiles: Mapping[str, Provider],
        seal: Seal,
        environ: Mapping[str, str],
        clock: Clock,
        report: Callable[[dict[str, str]], None],
    ) -> None:
        self.broker, self._keys, self._profiles, self._seal = broker, keys, profiles, seal
        self._environ, self._clock, self._report = environ, clock, report
        self._me = str(uuid4())
        #: The tasks of this process, and what is held while their locks are renewed, or given up with an answer.
        self.renewing = threading.Lock()
        self._looking = threading.Lock()  # one thread looks for the next task of all
        self._numbers = itertools.count()
        self.holds: set[RedisHold] = set()
        self._models: dict[tuple[Any, ...], Model] = {}
        self.stop, self.ends = threading.Event(), threading.Event()

    def run(self) -> None:
        """Work until a signal; NoService with one sentence where Redis can't carry a pool."""
        self._check()
        on_signals(self.stop.set)
        renewal = threading.Thread(target=self._renew, daemon=True)
        threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(self._keys.threads)]
        for thread in (renewal, *threads):
            thread.start()
        self.stop.wait()
        until_s = time.monotonic() + self._keys.grace.total_seconds()
        for thread in threads:
            thread.join(max(0.0, until_s - time.monotonic()))
        self.ends.set()  # what is still running goes back
        for thread in (*threads, renewal):
            thread.join(max(0.0, until_s + _END_S - time.monotonic()))
        with suppress(PoolAway):
            self.broker.run(scripts.THERE, "threads", self._me, 0)

    def _check(self) -> None:
        try:
            why = next(self.broker.unfit(), None)
        except PoolAway as away:
            why = away.args[0]
        if why:
            raise NoService(why, Text("`recalld pool status` shows what is wrong"))

    # ── one task ─────────────────────────────────────────────────────────────

    def _serve(self) -> None:
        while hold := self._next():
            self.holds.add(hold)
            try:
                self._do(hold)
            except Exception as error:  # noqa: BLE001 - a task that this version can't do goes to another; what it says may be its words
                self._report({"uid": hold.uid, "error": type(error).__name__})
            finally:
                self.holds.discard(hold)

    def _next(self) -> RedisHold | None:
        """Wait for the next task and take its lock; None once this process takes no more."""
        who = f"{self._me}.{next(self._numbers)}"
        with self._looking:
            while not self.stop.is_set():
                with suppress(PoolAway):
                    if task := self.broker.run(scripts.BEGIN, who):
                        uid, host, sealed, tries = task
                        return RedisHold(self, who, uid.decode(), host.decode(), sealed, int(tries))
                self.stop.wait(_LOOK_S)
        return None

    def _do(self, hold: RedisHold) -> None:
        try:
            contents = opened(hold, self._seal)
        except Unsealable as fault:
            self._report({"uid": hold.uid, "error": refusal(fault.why)})
            hold.refuse(fault.why)
            return
        claim: Any = PoolClaim(hold, contents, self._seal)
        if hold.tries > _MOST_TRIES:
            claim.fail(self._clock())
            return
        profile = self._profiles.get(contents.profile)
        if profile is None:
            self._report({"uid": hold.uid, "error": refusal("profile")})
            hold.refuse("profile")
            return
        with suppress(NoCall, BadConfig, Busy, OSError):
            result = do(claim, self._model(profile, contents), self._clock, self.ends.is_set)
            if result:
                about = {"uid": hold.uid, "status": result.status, "reason": result.reason, "error": result.error}
                self._report({key: value for key, value in about.items() if value})

    def _model(self, profile: Provider, contents: Contents) -> Model:
        """Return the model of the profile, one for all tasks that ask it alike: it knows what its server does not accept."""
        llm = contents.config.llm
        alike = (contents.profile, llm.temperature, llm.timeout)
        if alike not in self._models:
            from .providers import openai  # late: a wrong key or address is told before

            settings = Llm(
                base_url=profile.base_url,
                model=profile.model,
                api_key_env=profile.api_key_env,
                temperature=llm.temperature,
                timeout=llm.timeout,
            )
            self._models[alike] = openai.make(Config(llm=settings), self._environ)
        return self._models[alike]

    # ── signs of life ────────────────────────────────────────────────────────

    def _renew(self) -> None:
        """Renew the lock of each task, and show how many threads are there."""
        there_s = float("-inf")
        while not self.ends.wait(_RENEW_S):
            with suppress(PoolAway):
                there_s = self._renew_once(there_s)

    def _renew_once(self, there_s: float) -> float:
        with self.renewing:
            if holds := [hold for hold in self.holds if not hold.lost]:
                pairs = itertools.chain.from_iterable((hold.uid, hold.who) for hold in holds)
                for hold, is_lost in zip(holds, self.broker.run(scripts.RENEW, *pairs), strict=True):
                    hold.lost = bool(is_lost)
            if time.monotonic() >= there_s + _THERE_S and not self.stop.is_set():
                self.broker.run(scripts.THERE, "threads", self._me, self._keys.threads)
                return time.monotonic()
        return there_s
