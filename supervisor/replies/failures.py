"""
Inputs that got no answer that can be used: how often, and those that are set aside, in worker/failed/reply-<digest>.json.

An input that is set aside is kept there as it was, and is not answered while the file is there. Source: protocol.md, 7.8.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..protocol.queue import TaskQueue
from ..storage.clock import to_wire

if TYPE_CHECKING:
    from .answer import Conversation


@dataclass(frozen=True, slots=True)
class FailedInput:
    """How often an input was asked in vain, and whether it is set aside."""

    attempts: int = 0
    gave_up: bool = False


class FailedInputs:
    """The records of a workspace."""

    def __init__(self, task_queue: TaskQueue) -> None:
        self._task_queue = task_queue

    def read(self, conversation: Conversation) -> FailedInput:
        """Return what is recorded of the conversation's newest input."""
        return self._read(conversation.group)

    def set_aside(self) -> list[str]:
        """Return the groups of the inputs that are set aside."""
        return [name for name in self._task_queue.recorded_names() if name.startswith("reply-") and self._read(name).gave_up]

    def add(self, conversation: Conversation, reason: str, now: datetime, tries: int) -> FailedInput:
        """Record one more failure and return the record; the number *tries* sets the inputs aside."""
        attempts = self.read(conversation).attempts + 1
        failure = FailedInput(attempts, attempts >= tries)
        fields: dict[str, Any] = {"attempts": attempts, "failedAt": to_wire(now), "reason": reason}
        if failure.gave_up:
            fields["inputs"] = [entry.question for entry in conversation.inputs]
        self._task_queue.record(conversation.group, fields)
        return failure

    def _read(self, group: str) -> FailedInput:
        raw = self._task_queue.recorded(group)
        with suppress(ValueError, TypeError):
            return FailedInput(int(raw.get("attempts", 0)), "inputs" in raw)
        return FailedInput()
