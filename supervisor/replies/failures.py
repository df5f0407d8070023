"""
Inputs that got no answer that can be used: how often, and those that are set aside, in worker/failed/reply-<digest>.json.

An input that is set aside is kept there as it was, and is not answered while the file is there. Source: protocol.md, 7.8.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ..protocol.queue import TaskQueue
from ..storage.clock import to_wire
from ..storage.files import Files
from ..storage.lenient_json import parse_json, render_json
from ..text.lazy_re import lazy_re
from ..text.record import record

if TYPE_CHECKING:
    from .answer import Conversation

_NAME: Final = lazy_re(r"reply-[0-9a-f]{16}\.json")


@record
class FailedInput:
    """How often an input was asked in vain, the last reason, and whether it is set aside."""

    attempts: int = 0
    reason: str = ""
    gave_up: bool = False


class FailedInputs:
    """The records of a workspace."""

    def __init__(self, files: Files, task_queue: TaskQueue) -> None:
        self._files, self._folder = files, task_queue.failed

    def read(self, conversation: Conversation) -> FailedInput:
        """Return what is recorded of the conversation's newest input."""
        return self._parsed(f"{conversation.group}.json")[0]

    def set_aside(self) -> list[str]:
        """Return the names of the files with inputs that are set aside."""
        names = [name for name in self._files.disk.names(self._folder) if _NAME.fullmatch(name)]
        return [name for name in names if self._parsed(name)[0].gave_up]

    def add(self, conversation: Conversation, reason: str, now: datetime, tries: int) -> FailedInput:
        """Record one more failure and return the record; the number *tries* sets the inputs aside."""
        name = f"{conversation.group}.json"
        before, version = self._parsed(name)
        failure = FailedInput(before.attempts + 1, reason, before.attempts + 1 >= tries)
        fields: dict[str, Any] = {"attempts": failure.attempts, "failedAt": to_wire(now), "reason": reason}
        if failure.gave_up:
            fields["inputs"] = [entry.question for entry in conversation.inputs]
        self._files.replace(self._folder / name, render_json(fields) + b"\n", version)
        return failure

    def clear(self, conversation: Conversation) -> None:
        """Delete the record: the input has an answer."""
        self._files.remove(self._folder / f"{conversation.group}.json")

    def _parsed(self, name: str) -> tuple[FailedInput, Any]:
        version = self._files.read_stable(self._folder / name)
        try:
            raw = parse_json(version.data) if version else {}
            return FailedInput(int(raw.get("attempts", 0)), str(raw.get("reason", "")), "inputs" in raw), version
        except (ValueError, TypeError, AttributeError):
            return FailedInput(), version
