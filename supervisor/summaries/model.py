"""
The port to a model: what completes a prompt, and the configured model behind it, which a worker asks (`QueuedModel`).

The other way behind it is the caller's own object (`conversation/asking.py`). Here each answer is a task of the queue: it is
submitted, its result is awaited until a deadline, and the process that waited deletes both. The lock of the session is held
over all of that, so that a worker sees whether anybody waits. Source: docs/reference/protocol.md, 6.10.
"""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from ..protocol.llm import Prompt, text_of
from ..protocol.task import NO_ANSWER, AskedTask, Result, asked_id
from ..storage.clock import NEVER, Clock, Deadline, to_wire, within
from ..storage.errors import NoSummary
from ..storage.texts import Text
from .llm_state import ModelUse, note_answer, note_result, refusal

#: How long a worker may take in addition to its call: to start, and to report that the model was silent for too long.
_STARTUP: Final = timedelta(seconds=30)
#: Seconds between two looks for the result.
_POLL_S: Final = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """What one answer may take: *timeout* of the call itself, and the *deadline* of its caller."""

    timeout: timedelta
    deadline: Deadline = NEVER
    temperature: float = 0.0  # of the caller's own object; the configured model has that of the configuration


class Model(ABC):
    """What completes a prompt."""

    @abstractmethod
    async def complete(self, prompt: Prompt, limits: CallLimits) -> str:
        """Return the answer, as it came; NoSummary if there is none within the limits."""

    @abstractmethod
    def note_judged(self, reason: str | None) -> None:
        """Note what became of its last answer: *reason* is why it was refused, None where it was accepted."""


class WorkerAtHand(Protocol):
    """What sees to it that a worker runs."""

    def ensure(self, *, is_claimed: bool) -> None:
        """Start a worker where none runs, or none claims the task; NoSummary with its sentence if it can't work."""
        ...


class QueuedModel(Model):
    """The configured model for the session of *group*: each answer is a task of the queue; *attempt* failures came before."""

    def __init__(self, group: str, attempt: int, use: ModelUse, worker: WorkerAtHand, clock: Clock) -> None:
        self._group, self._attempt, self._use, self._worker, self._clock = group, attempt, use, worker, clock
        self._answered_by = ""

    async def complete(self, prompt: Prompt, limits: CallLimits) -> str:
        """Return the model's answer, one call of the day. NoSummary at once where the model may not be asked now."""
        self._refuse()
        task = AskedTask(
            id=asked_id(self._group, "session-summary", text_of(prompt), self._attempt),
            kind="session-summary",
            group=self._group,
            server=self._use.endpoint.server,
            prompt=prompt if isinstance(prompt, str) else "",
            turns=() if isinstance(prompt, str) else tuple(turn._asdict() for turn in prompt),
            created_at=to_wire(self._clock()),
            attempt=self._attempt,
        )
        task_queue = self._use.task_queue
        task_queue.prepare()  # a session may be summed up where no supervisor has run yet
        try:
            self._submit_anew(task)
            result = await self._awaited(task, limits)
            note_result(result, self._clock(), self._use)
        finally:
            task_queue.withdraw(task.id)
        self._answered_by = "" if result.extract else result.model
        if result.status == "failed":
            if result.reason not in NO_ANSWER:
                self.note_judged(result.reason or "refused")
            raise NoSummary(result.error, result.reason or "refused", result.too_long)
        return result.text

    def note_judged(self, reason: str | None) -> None:
        """Add the answer to the account of the model that gave it."""
        if self._answered_by:
            note_answer(self._answered_by, reason, self._use)

    def _submit_anew(self, task: AskedTask) -> None:
        """Submit the task; an answer that an earlier caller did not live to read is used, a failure is not."""
        left = self._answer(task)
        if left and left.status == "failed":
            self._use.task_queue.withdraw(task.id)
        self._use.task_queue.submit(task)

    async def _awaited(self, task: AskedTask, limits: CallLimits) -> Result:
        """Return the result of the task; NoSummary if there is none in time."""
        task_queue = self._use.task_queue
        wait_s = min((limits.timeout + _STARTUP).total_seconds(), limits.deadline.left_s)
        deadline = within(wait_s)
        while (result := self._answer(task)) is None:
            if deadline.is_over:
                raise NoSummary(Text("the model did not answer within {seconds:g} s", seconds=wait_s), "timeout")
            if not (place := task_queue.place_of(task)):  # taken back, as all are when the provider fails
                self._refuse()
                task_queue.submit(task)
            self._worker.ensure(is_claimed=place == "running")
            await asyncio.sleep(_POLL_S)
        return result

    def _answer(self, task: AskedTask) -> Result | None:
        try:
            return self._use.task_queue.answer(task.id)
        except ValueError as error:
            raise NoSummary(Text("the worker's result can't be read: {why}", why=str(error)), "input") from None

    def _refuse(self) -> None:
        if refused := refusal(self._clock(), self._use):
            raise refused
