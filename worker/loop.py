"""
The worker's loop: claim a task, do it, deliver the result, until there has been nothing to do for a while (protocol.md, 6).

What somebody waits for is done first, and one thread does nothing else, so that no backlog of days delays it. Once nobody waits
for it any more it is given up.

The worker shares no memory with the supervisor, only the task queue. A worker that is killed leaves its task in running/,
and the supervisor requeues it; one that SIGTERM stops requeues its tasks itself. A worker that was suspended past
its lease finds its task requeued or claimed by another: it stops paying for it, and delivers nothing.

A day or a month is summarised (`summarise`; `writing.py` prompts the model for it); what somebody waits for is answered
(`answer`): its prompt is in the task, so no file of memory is read. Every fault is a failed result. No
instruction in a message is followed: the provider has no tools to call.
"""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, cast

from recalld.supervisor.protocol.config import Config
from recalld.supervisor.protocol.config_keys import Worker as WorkerKeys
from recalld.supervisor.protocol.llm import CallLog, Prompt, Turn, is_local
from recalld.supervisor.protocol.queue import Lease, worker_lock
from recalld.supervisor.protocol.task import REPLY_KINDS, AskedTask, Result, Task, result_of
from recalld.supervisor.protocol.task_material import MaterialLost
from recalld.supervisor.protocol.turn import split_request
from recalld.supervisor.storage.clock import Clock
from recalld.supervisor.storage.errors import BadConfig, Busy
from recalld.supervisor.storage.process import on_signals
from recalld.supervisor.storage.texts import Text, msgid

from .desk import FolderClaim, FolderDesk
from .providers import Cancelled, Extractive, Model, NoCall, ProviderError, Usage
from .writing import THOUGHT_MAX, Calls, Writing

_POLL_S: Final = 0.2
_GRACE_S: Final = 2.0  # for a task that is nearly done when the worker is to end
NOTHING: Final = "无需记录"
_ERROR_CHARS: Final = 200
#: The most tokens of the answer to a test: a model that thinks first needs some hundred.
_TEST_TOKENS: Final = 1024
#: The most characters of an answer; what a model writes beyond them is cut off.
_MOST_CHARS: Final = 40_000
_CUT: Final = "…"


@dataclass(slots=True)
class Worker:
    """The worker process of one workspace; a thread for each task at once."""

    desk: FolderDesk
    provider: Model | Extractive
    clock: Clock
    stop: threading.Event = field(default_factory=threading.Event)
    _claims: set[FolderClaim] = field(default_factory=set)  # subtle: two of one task, when it was requeued and claimed again
    _config_error: BadConfig | None = None

    def run_once(self, *, asked_only: bool = False) -> Result | None:
        """
        Do one task and return its result; None when there was no task, or when it was cancelled.

        With *asked_only* it is one that somebody waits for.
        NoCall when no call may be made now, BadConfig when a prompt of the workspace is wrong: the task is requeued.
        """
        claim = self.desk.claim(asked_only=asked_only)
        if claim is None:
            return None
        self._claims.add(claim)
        try:
            return do(claim, self.provider, self.clock, self.stop.is_set)
        finally:
            self._claims.discard(claim)

    def run(self, idle_s: float, report: Callable[[dict[str, str]], None], *, asked_only: bool = False) -> None:
        """
        Work until a signal, or until there was no task for *idle_s* seconds. BadConfig as in `run_once`.

        With *asked_only* no day and no month is done. *report* gets each result's group, status, reason and error; of a fault
        of this machine the error alone.
        """
        with worker_lock(self.desk.files, self.desk.paths):
            on_signals(self.stop.set)
            count = 0 if asked_only else self._at_once()
            threads = [threading.Thread(target=self._work, args=(idle_s, report), daemon=True) for _ in range(count)]
            threads.append(threading.Thread(target=self._answer, args=(idle_s, report, tuple(threads)), daemon=True))
            for thread in threads:
                thread.start()
            beat_s = self.desk.config.worker.beat.total_seconds()
            last_beat = time.monotonic()
            while any(thread.is_alive() for thread in threads) and not self.stop.wait(0.05):
                self._each_lease(Lease.give_up_if_abandoned, report)
                if time.monotonic() - last_beat >= beat_s:
                    last_beat = time.monotonic()
                    self._each_lease(Lease.heartbeat, report)  # a lease of several heartbeats outlives one that is refused
            self._wait_a_moment(threads)
            self._each_lease(Lease.requeue, report)  # else the supervisor requeues them, once no worker lives
        if self._config_error:
            raise self._config_error

    def _at_once(self) -> int:
        """Return how many tasks are done at once: of a server on this machine one, unless another number is configured."""
        config = self.desk.config
        is_default = config.worker.concurrency == WorkerKeys().concurrency
        if self.provider.extract or (is_default and is_local(config.llm.base_url)):
            return 1
        return config.worker.concurrency

    def _work(self, idle_s: float, report: Callable[[dict[str, str]], None]) -> None:
        """Do whatever is next, until nothing was for *idle_s* seconds or no call may be made."""
        last = time.monotonic()
        while not self.stop.is_set():
            try:
                result = self._next(report)
            except NoCall as error:
                report({"error": str(error)})
                return  # the supervisor cancels the queue, and submits again when calls may be made
            if result:
                last = time.monotonic()
                if result.reason == "provider":
                    return  # the supervisor decides when the provider is called again
            elif time.monotonic() - last >= idle_s:
                return
            else:
                self.stop.wait(min(_POLL_S, max(idle_s, 0.01)))

    def _answer(self, idle_s: float, report: Callable[[dict[str, str]], None], others: Collection[threading.Thread]) -> None:
        """Do what somebody waits for while one of the *others* works; without others until nobody did for *idle_s* seconds."""
        last = time.monotonic()
        while not self.stop.is_set():
            if self._next(report, asked_only=True):
                last = time.monotonic()
            elif not any(thread.is_alive() for thread in others) and (others or time.monotonic() - last >= idle_s):
                return
            else:
                self.stop.wait(_POLL_S / 4)

    def _next(self, report: Callable[[dict[str, str]], None], *, asked_only: bool = False) -> Result | None:
        """Do and report one task. NoCall as in `run_once`; a wrong configuration ends the worker."""
        try:
            result = self.run_once(asked_only=asked_only)
        except BadConfig as error:
            self._config_error = error
            self.stop.set()
            return None
        except (OSError, Busy) as error:  # a full disk: the claimed task was requeued, and is tried again
            report({"error": str(error)})
            return None
        if result:
            status = Text(msgid(result.status, "label"))
            fields = {"group": result.group, "status": status, "reason": result.reason, "error": result.error}
            report({key: value for key, value in fields.items() if value})
        return result

    def _each_lease(self, act: Callable[[Lease], object], report: Callable[[dict[str, str]], None]) -> None:
        """Do this with each lease; a disk that refuses is reported, and stops nothing."""
        for claim in list(self._claims):
            try:
                act(claim.lease)
            except OSError as error:
                report({"error": str(error)})

    def _wait_a_moment(self, threads: list[threading.Thread]) -> None:
        self.stop.set()
        until = time.monotonic() + _GRACE_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))


# ── one task ─────────────────────────────────────────────────────────────────


def do(claim: FolderClaim, provider: Model | Extractive, clock: Clock, stops: Callable[[], bool]) -> Result | None:
    """
    Do the claimed task, deliver its result and return it; None when it was lost, or given back since *stops* returned true.

    NoCall when no call may be made now, BadConfig when a prompt of the workspace is wrong: the task is given back.
    """

    def cancelled() -> bool:
        return stops() or claim.lost

    task = claim.task
    try:
        if isinstance(task, AskedTask):
            result = answer(task, provider, claim.config, claim.log, clock, cancelled)
        else:
            result = summarise(claim, provider, clock, cancelled)
        if not claim.held():
            return None
        claim.finish(result)
    except Cancelled:
        claim.give_back()
        return None
    except (BadConfig, Busy, NoCall, OSError):
        claim.give_back()
        raise
    if result.status == "done" and isinstance(task, Task) and isinstance(provider, Model) and claim.kept:
        claim.kept.clear()
    return result


def summarise(
    claim: FolderClaim,
    provider: Model | Extractive,
    clock: Clock,
    cancelled: Callable[[], bool] = lambda: False,
) -> Result:
    """
    Return the result of the task; a fault of the task, its material or the provider is a failed result.

    Raises Cancelled once *cancelled* returns true, NoCall when no call may be made, BadConfig when a prompt is wrong.
    """
    task, material = cast("Task", claim.task), partial(claim.material, with_extracts=provider.extract)
    if not isinstance(provider, Model):
        return delivered(task, provider, clock, lambda: provider.summarise(task, material()) or NOTHING)
    writing = Writing(Calls(provider, claim.config, claim.log, clock, cancelled, is_asked=task.redo), claim)
    result = delivered(task, provider, clock, lambda: writing.write(task, material()) or NOTHING, writing.calls)
    wrote = writing.calls.answered or result.model  # a server may have swapped the model under its name
    return replace(result, model=wrote, prompt=writing.version, joined=writing.is_joined and result.status == "done")


def answer(
    task: AskedTask,
    provider: Model | Extractive,
    config: Config,
    log: CallLog,
    clock: Clock,
    cancelled: Callable[[], bool] = lambda: False,
) -> Result:
    """
    Return the result of a task that somebody waits for; what keeps it from an answer is a failed result.

    Of an answer in a conversation the request at its end is apart. Raises Cancelled once *cancelled* returns true, BadConfig
    when it needs a model and none is configured.
    """
    if not isinstance(provider, Model):
        raise BadConfig("llm.model", Text("no model is configured, so summaries are extracts; give llm.base_url and llm.model"))
    prompt = tuple(Turn(turn["role"], turn["content"]) for turn in task.turns) or task.prompt  # type: ignore[arg-type]
    if task.kind not in REPLY_KINDS:
        is_test = task.kind == "model-test"
        calls = Calls(provider, config, log, clock, cancelled, is_asked=is_test)
        return delivered(task, provider, clock, lambda: _ask(calls, prompt, _TEST_TOKENS if is_test else THOUGHT_MAX), calls)
    calls = Calls(provider, config, log, clock, cancelled, account="replies")
    result = delivered(task, provider, clock, lambda: _ask_reply(calls, prompt), calls)
    text, request = split_request(result.text, task.mark)
    if not request:
        return replace(result, text=text)
    turns = (*task.turns, {"role": "assistant", "content": result.text})
    return replace(result, text=text, request=request, turns=turns, mark=task.mark)


def _ask(calls: Calls, prompt: Prompt, most: int = THOUGHT_MAX) -> str:
    """Return the model's answer. A call that may not be made is a failure here: somebody waits for word of it."""
    try:
        return calls.complete(prompt, most)
    except NoCall as refused:
        raise ProviderError("spent", str(refused), usage=Usage()) from None


def _ask_reply(calls: Calls, prompt: Prompt) -> str:
    try:
        text = _ask(calls, prompt)
    except ProviderError as error:
        if error.reason != "truncated" or not error.text:
            raise
        text = f"{error.text}{_CUT}"
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}{_CUT}"


def delivered(
    task: Task | AskedTask, provider: Model | Extractive, clock: Clock, write: Callable[[], str], calls: Calls | None = None
) -> Result:
    """Return what *write* returns, or why it failed, as the result of the task, with what its *calls* have cost."""
    began = clock()
    about: dict[str, Any] = {"status": "failed"}
    try:
        about = {"status": "done", "text": write()}
    except MaterialLost as fault:
        about |= {"reason": "lost", "error": str(fault)}
    except ProviderError as fault:
        about |= {"reason": fault.reason, "error": fault.why, "retry_after_s": fault.retry_after_s, "too_long": fault.overflow}
    except (OSError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError) as fault:
        about |= {"reason": "input", "error": f"{type(fault).__name__}: {fault}"}
    if len(error := about.get("error", "")) > _ERROR_CHARS:
        about["error"] = error[:_ERROR_CHARS]
    who = {"provider": provider.name, "model": provider.model, "extract": provider.extract}
    return result_of(task, began, clock(), **about, **who, usage=calls.usage.wire() if calls else {})
