"""
One look further: what an answer asked for is done, and the second message follows (003; protocol.md, 7.9).

An operation reads memory as the chat of the question may see it. The talk of a look further goes from its result into the next
task, so that everything is in the files. What fails, or takes too long, ends with the first message standing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from ..protocol.inbox import Chat, chat_of
from ..protocol.message import Message
from ..protocol.task import AskedTask, Result
from ..protocol.turn import looks_further
from ..replies.talk import MOST_CALLS, after_looking, asked_to_remember
from ..replies.waiting import Conversation, answer_id, second_message
from ..storage.clock import Clock, to_wire
from ..storage.texts import Text
from ..summaries.llm_state import note_result
from ..text.language import Language, language_of

if TYPE_CHECKING:
    from ..workspace import Workspace


class Operations(Protocol):
    """What an answer may ask for."""

    def look(self, request: str, chat: Chat, language: Language) -> str:
        """Return what the request finds, as those who read the *chat* may see it; a sentence where it is wrong."""
        ...

    def remember(self, content: str, source: str, chat: Chat) -> None:
        """Write one line of the long-term file; the same words are written once."""
        ...


class FurtherLooks:
    """The looks further of one workspace; *append* adds messages in one write."""

    def __init__(
        self, ws: Workspace, clock: Clock, append: Callable[[Sequence[dict[str, Any]]], object], operations: Operations
    ) -> None:
        self._ws, self._clock, self._append, self._operations = ws, clock, append, operations

    def begin(self, conversation: Conversation, result: Result, language: Language) -> Text:
        """Do what the answer asked for, before it stands in history.json; return words of ours for one that has none."""
        chat, raw = conversation.last.chat, conversation.last.message.raw
        if not looks_further(result.request):
            wanted = asked_to_remember(entry.message.text for entry in conversation.inputs)
            if wanted:
                source = raw.get("channel")
                self._operations.remember(wanted, source if isinstance(source, str) else "", chat)
            return Text("Remembered.") if wanted else Text("There is nothing in your message that I was asked to remember.")
        self._submit(conversation.last.digest, result, 0, chat, language)
        return Text("Let me look that up.")

    def go_on(self, identity: str, digest: str, messages: Sequence[Message], is_known: Callable[[str], bool]) -> None:
        """
        Take in the result of a look further: another request is done, an answer is the second message.

        There is none where the first has left history.json, or where *is_known* knows the id of the second.
        """
        queue, now = self._ws.task_queue, self._clock()
        first = next((message for message in messages if message.id == answer_id(digest)), None)
        try:
            result = queue.reply(identity)
        except ValueError:
            queue.withdraw(identity)
            return
        if first is not None and not is_known(answer_id(digest, 2)):
            note_result(result, now, self._ws.model_use)
            began = first.created_at or now
            in_time = now - began <= max(self._ws.config.llm.timeout, timedelta(seconds=1))
            step = result.attempt + 1
            if looks_further(result.request) and step < MOST_CALLS and in_time:
                self._submit(digest, result, step, chat_of(first.raw), language_of(first.text))
            elif result.status == "done" and result.text:
                self._append([second_message(first.raw, digest, result.text, now)])
                self._ws.events.emit("looked_further", calls=step)
        queue.withdraw(identity)

    def _submit(self, digest: str, result: Result, step: int, chat: Chat, language: Language) -> None:
        ws = self._ws
        found = self._operations.look(result.request, chat, language)
        ws.task_queue.submit(
            AskedTask(
                id=f"lookup-{digest}-{digest[:10]}-{step}",
                kind="lookup",
                group=f"lookup-{digest}",
                turns=after_looking(result.turns, found, step, language, ws.files, ws.paths),
                mark=result.mark,
                created_at=to_wire(self._clock()),
                attempt=step,
            )
        )
