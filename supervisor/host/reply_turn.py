"""What the file turn and the chat share: the turn of an answer, and what its result says of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..context.build import context
from ..context.request import resolve_waiting
from ..context.secrets import turn_language
from ..recall.audience import Audience
from ..replies.talk import system_prompt
from ..summaries.llm_state import configured_state, note_result
from .conversations import kept_summary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ..context.build import Injection
    from ..protocol.inbox import Chat
    from ..protocol.message import Message
    from ..protocol.task import Result
    from ..text.language import Language
    from ..workspace import Workspace


def reply_turn(ws: Workspace, inputs: Sequence[Message], chat: Chat, now: datetime) -> Injection:
    """
    Return the turn of these inputs for the configured model, with the system message of an answer.

    Where none is set nothing reads the history, so that memory leaves nothing out for standing there.
    """
    given = resolve_waiting(inputs, ws.groups.mark(ws.shown_history.read(), now), chat)
    audience = Audience(chat=chat, in_groups=ws.config.recall.in_groups)
    found = ws.searcher.for_input(given.question, now, given.before, audience)
    if ws.extracting:
        given = replace(given, before=())
    kept = kept_summary(ws, chat.session) if chat.session and not ws.extracting else None
    window = ws.config.context.window_tokens or ws.config.llm.context_tokens
    config = replace(ws.config, context=replace(ws.config.context, window_tokens=window))
    system = system_prompt(turn_language(given, ws.config), ws.files, ws.paths)
    return context(given, now, found, system, kept=kept, config=config, paths=ws.paths, events=ws.events)


def reply_language(ws: Workspace, inputs: Sequence[Message], chat: Chat) -> Language:
    """Return the language of recalld's own words in an answer to these inputs."""
    return turn_language(resolve_waiting(inputs, (), chat), ws.config)


def note_reply(ws: Workspace, result: Result, now: datetime) -> None:
    """Note what an answer cost, and a fault of the model; while the model is paused, a probe makes no pause longer."""
    state = configured_state(ws.task_queue, ws.endpoint)
    if result.reason == "provider" and state.is_failing and not state.is_over(now):
        return
    note_result(result, now, ws.model_use)
