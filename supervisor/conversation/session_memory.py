"""
`SessionMemory`: the memory of a session's conversation, which continues where the session ended.

Its messages are those of the workspace that the running summary does not have yet, whoever has added them; summary and marker
are in the session's file, in one write after the model has answered. A lock of the session is held from reading to that write,
over the calls of the model, so that no message is summed up twice or not at all. Source: docs/reference/protocol.md, 11.8.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final

from ..protocol.attachments import attachments_of
from ..protocol.dated_file import Block
from ..protocol.inbox import chat_of
from ..protocol.parts import said_as
from ..storage.errors import NoSummary
from ..summaries.model import Model
from .asking import ChatStream
from .memory_manager import MemoryManager
from .running import Limits
from .session_files import TURN_WAIT_S, SessionFiles, SessionTalk
from .sessions import RunningSummary, SessionPart

#: Roles that are no part of a conversation: the system prompt is the caller's.
_PROMPTS: Final = frozenset({"system", "developer"})
#: Fields of a message that a model's server takes in addition to role and words.
_SENT: Final = ("name", "tool_calls", "tool_call_id", "function_call")


class SessionMessage(dict[str, Any]):
    """A message of a session as a model's server takes it; *block* is what the workspace has of it."""

    def __init__(self, block: Block) -> None:
        fields = block.fields
        # of a picture that is a file by now a server would get no more than the name
        words = block.shown if attachments_of(fields) else fields.get(block.text_field, block.text)
        role, named = said_as(block.role, block.shown)
        words = words if role == block.role else named
        super().__init__(role=role, content=words, **{name: fields[name] for name in _SENT if name in fields})
        self.block = block


class SessionMemory(MemoryManager):
    """
    The memory of the *session*: summary and messages are those of the workspace, *append* adds a message to it, durably.

    *limits* are those of the conversation where a turn shows less of it than all. The rest is as for `MemoryManager`.
    """

    def __init__(
        self,
        llm: ChatStream | Model | None,
        system_prompt: str,
        session: str,
        *,
        files: SessionFiles,
        talk: SessionTalk,
        append: Callable[[Mapping[str, Any]], object],
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        self._session, self._files, self._talk, self._append = session, files, talk, append
        self._kept = RunningSummary()
        self._part = SessionPart(())
        self._passed: list[Block] = []
        super().__init__(llm, system_prompt, **options)
        self._limits = limits or self._limits
        self._refresh()

    @property
    def is_private(self) -> bool:
        """Whether the conversation has a message of a private chat, which no group may read."""
        with self._lock:
            self._refresh()
            return self._is_private()

    def _is_private(self) -> bool:
        return self._kept.is_private or any(chat_of(message.block.fields).is_direct for message in self._of_session())

    def _of_session(self) -> list[SessionMessage]:
        return [raw for raw in self._buffer if isinstance(raw, SessionMessage)]

    def _refresh(self) -> None:
        """Read summary and messages from the workspace; a message that is the same as before stays the same object."""
        kept = self._files.read(self._session).running
        # the summary of a long session begins late, else it would cost a call for each forty of its messages
        newest = self._config.conversation.max_history if kept.marker is None else None
        self._part = self._talk.read(self._session, self._clock(), kept.marker, newest)
        blocks = self._part.fresh(self._part.blocks)
        begins = 0 if newest is None else max(0, len(blocks) - newest)
        self._passed, blocks = blocks[:begins], blocks[begins:]
        known = {(message.block.id, message.block.created_at): message for message in self._of_session()}
        messages = []
        for block in blocks:
            before = known.get((block.id, block.created_at))
            messages.append(before if before is not None and before.block == block else SessionMessage(block))
        prompts = [raw for raw in self._buffer if raw.get("role") == "system"]
        self._kept, self._failure, self.conversation_summary = kept, kept.failure, kept.text
        self._summed_up = 0  # what the summary has is left out above, by its place in the session
        self._buffer[:] = [*prompts, *(message for message in messages if message.block.role not in _PROMPTS)]
        self._read = {id(raw): self._read[id(raw)] for raw in self._buffer if id(raw) in self._read}

    @property
    def message_buffer(self) -> list[dict[str, Any]]:
        """The system prompts, and every message of the session that its files have."""
        with self._lock:
            prompts = [raw for raw in self._buffer if raw.get("role") == "system"]
            blocks = self._talk.read(self._session, self._clock()).blocks
            return [*prompts, *(SessionMessage(block) for block in blocks if block.role not in _PROMPTS)]

    def _take(self, raw: dict[str, Any]) -> None:
        if raw.get("role") == "system":
            super()._take(raw)
            return
        self._append({**raw, "session": self._session})
        self._refresh()

    def _keep(self, summary: str, covered: Sequence[dict[str, Any]]) -> None:
        progress = self._files.read(self._session)
        blocks = [message.block for message in covered if isinstance(message, SessionMessage)]
        running = RunningSummary(summary, self._part.past([*self._passed, *blocks]), self._is_private())
        self._files.keep(self._session, replace(progress, running=running))
        super()._keep(summary, covered)

    def _note(self, failure: NoSummary) -> None:
        super()._note(failure)
        progress = self._files.read(self._session)
        self._files.keep(self._session, replace(progress, running=replace(progress.running, failure=self._failure)))

    def _claimed(self) -> AbstractContextManager[None]:
        """Keep other processes from summing up the session, too."""
        return self._files.locked(self._session, TURN_WAIT_S)
