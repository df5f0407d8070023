"""
Conversations over a workspace: opened for a program, continued for a turn of `context`, and summed up as a long-term line.

The program's own model writes the line of a session, else the configured model; without a model the line is an extract
(protocol.md, 11.2). A turn uses a summary that is kept, and asks the model for a new one only if `turns.overflow` is set
(docs/decisions/0105-a-session-line-by-intent.md). It waits at most `turns.wait`, then goes on without.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from ..context.build import Injection, context, turn_budgets
from ..context.request import Asked, resolve_waiting, with_summary
from ..context.secrets import turn_language
from ..conversation.running import Conversation, Limits, read_said, to_sum_up
from ..conversation.sessions import RunningSummary, session_group
from ..index.hit import SearchResult
from ..protocol.inbox import Chat, chat_of
from ..protocol.llm import PromptTemplate, load_template
from ..protocol.message import Message
from ..recall.audience import Audience
from ..storage.clock import NEVER, Clock, Deadline, within
from ..storage.control import Control
from ..storage.errors import NoSummary
from ..summaries.llm_state import refusal
from ..text.language import Language
from ..workspace import Workspace

if TYPE_CHECKING:
    from ..conversation.asking import ChatStream
    from ..conversation.memory_manager import MemoryManager
    from ..conversation.session_memory import SessionMemory
    from ..summaries.model import Model, QueuedModel


def open_conversation(
    ws: Workspace, llm: ChatStream | None, system_prompt: str, settings: object, clock: Clock
) -> MemoryManager:
    """Return the memory of a conversation that is not stored, with the workspace's configuration, prompts and events."""
    from ..conversation.memory_manager import MemoryManager

    return MemoryManager(llm, system_prompt, settings=settings, **_wiring(ws, clock))


def open_session(
    ws: Workspace,
    session: str,
    append: Callable[[Mapping[str, Any]], object],
    llm: ChatStream | Model | None,
    system_prompt: str,
    settings: object,
    clock: Clock,
    limits: Limits | None = None,
    deadline: Deadline = NEVER,
) -> SessionMemory:
    """Return the memory of a session's conversation, as of now; *append* adds a message to the workspace."""
    from ..conversation.session_memory import SessionMemory

    stores: dict[str, Any] = {"files": ws.session_files, "talk": ws.session_talk, **_wiring(ws, clock)}
    limited: dict[str, Any] = {"append": append, "limits": limits, "deadline": deadline}
    return SessionMemory(llm, system_prompt, session, settings=settings, **stores, **limited)


def _wiring(ws: Workspace, clock: Clock) -> dict[str, Any]:
    template = partial(load_template, files=ws.files, paths=ws.paths)
    return {"config": ws.config, "template": template, "events": ws.events, "clock": clock}


def turn_deadline(ws: Workspace, control: Control) -> Deadline:
    """Return until when a turn waits for the model."""
    return within(min(ws.config.turns.wait.total_seconds(), control.deadline.left_s))


@contextlib.contextmanager
def queued_model(ws: Workspace, session: str, attempt: int, clock: Clock) -> Iterator[QueuedModel]:
    """Yield the configured model, which the session asks through the queue; *attempt* failures came before."""
    from ..summaries.model import QueuedModel
    from .workers import AskedWorker

    worker = AskedWorker(ws)
    try:
        yield QueuedModel(session_group(session), attempt, ws.model_use, worker, clock)
    finally:
        worker.stop()


def session_writer(
    ws: Workspace, session: str, llm: ChatStream | None, prompt: str, clock: Clock, deadline: Deadline = NEVER
) -> Callable[[Sequence[dict[str, Any]]], str]:
    """
    Return the function that writes a session's line: by *llm*, else by the configured model; without one, as an extract.

    Where the answer of a model is refused, the line is the extract, too.
    """
    from ..conversation.asking import NOT_AN_ANSWER, in_loop_of_its_own
    from ..conversation.session_lines import ConversationSummarizer, extract_line, substantial

    def template(name: str, language: Language) -> PromptTemplate:
        return load_template(prompt if name == "conversation-to-memory" else name, language, ws.files, ws.paths)

    def write(messages: Sequence[dict[str, Any]], model: ChatStream | Model) -> str:
        options: dict[str, Any] = {"template": template, "config": ws.config, "deadline": deadline}
        writer = ConversationSummarizer(model, ws.config.summarize.char_limit, **options)
        try:
            return in_loop_of_its_own(writer.summarize_conversation(messages))
        except NoSummary as refused:
            if refused.reason in NOT_AN_ANSWER:
                raise
            ws.events.emit("summary_failed", group=session_group(session), reason=refused.reason, attempts=1)
            return write_extract(messages)

    def write_extract(messages: Sequence[dict[str, Any]]) -> str:
        return extract_line(substantial(messages), ws.config.archive.zone, ws.config.summarize.char_limit)

    def write_queued(messages: Sequence[dict[str, Any]]) -> str:
        attempt = ws.session_files.read(session).failure.attempts
        with queued_model(ws, session, attempt, clock) as model:
            return write(messages, model)

    if llm is not None:
        return partial(write, model=llm)
    return write_extract if ws.extracting else write_queued


def kept_summary(ws: Workspace, session: str) -> RunningSummary | None:
    """Return the kept running summary of the session; None if it can't be read, which an event reports."""
    return ws.events.attempt("running summary", lambda: ws.session_files.read(session).running, None)


def reply_turn(ws: Workspace, inputs: Sequence[Message], chat: Chat, now: datetime) -> Injection:
    """
    Return the turn of these inputs for the configured model, with the system message of an answer.

    Where none is set nothing reads the history, so that memory leaves nothing out for standing there.
    """
    given = resolve_waiting(inputs, ws.groups.mark(ws.shown_history.read(), now), chat)
    audience = Audience(chat=chat, in_groups=ws.config.recall.in_groups)
    result = ws.searcher.for_input(given.question, now, given.before, audience)
    if ws.extracting:
        given = replace(given, before=())
    kept = kept_summary(ws, chat.session) if chat.session and not ws.extracting else None
    window = ws.config.context.window_tokens or ws.config.llm.context_tokens
    config = replace(ws.config, context=replace(ws.config.context, window_tokens=window))
    system = load_template("reply", turn_language(given, ws.config), ws.files, ws.paths).text.strip()
    return context(given, now, result, system, kept=kept, config=config, events=ws.events)


def reply_language(ws: Workspace, inputs: Sequence[Message], chat: Chat) -> Language:
    """Return the language of recalld's own words in an answer to these inputs."""
    return turn_language(resolve_waiting(inputs, (), chat), ws.config)


def running_summary(
    ws: Workspace,
    request: Asked,
    system: str,
    result: SearchResult,
    append: Callable[[Mapping[str, Any]], object],
    clock: Clock,
    control: Control,
) -> RunningSummary | None:
    """Return the kept running summary of the asked session, which is continued first if `turns.overflow` is set."""
    kept = kept_summary(ws, request.chat.session)
    if kept is None or ws.config.turns.overflow != "summary" or ws.extracting:
        return kept
    budgets = turn_budgets(request, system, result, ws.config)
    step = partial(_continued, ws, request, kept, budgets.history, append, clock, control)
    return ws.events.attempt("continuing a running summary", step, kept)


def _continued(
    ws: Workspace,
    request: Asked,
    kept: RunningSummary,
    history_tokens: int,
    append: Callable[[Mapping[str, Any]], object],
    clock: Clock,
    control: Control,
) -> RunningSummary:
    """
    Return the running summary of the asked session, after the configured model has continued it if that is due.

    That is due once the history block, of at most *history_tokens*, no longer shows every message that the summary lacks. The
    *kept* summary is returned while a failure waits to be tried again, or another process continues the summary.
    """
    from ..conversation.memory_manager import limits_of

    config, session = ws.config, request.chat.session
    limits = replace(limits_of(config), shown_messages=config.context.max_messages, shown_tokens=history_tokens)
    rest = [message for message in with_summary(request, kept).before if chat_of(message.raw).session == session]
    messages = tuple(read_said(message.raw, limits.tokens_in) for message in rest)
    if not to_sum_up(Conversation(summary=kept.text, messages=messages, failure=kept.failure), limits, clock()):
        return kept
    if refusal(clock(), ws.model_use):
        return kept
    deadline = turn_deadline(ws, control)
    with queued_model(ws, session, kept.failure.attempts, clock) as model:
        conversation = open_session(ws, session, append, model, "", None, clock, limits, deadline)
        if not request.chat.is_direct and conversation.is_private:
            return kept
        conversation.summarize_due()
    return ws.session_files.read(session).running
