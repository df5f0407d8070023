"""
The running conversation of a session: opened for a program that sends it itself, continued for a turn of `context`.

A turn asks the model for a summary only where `turns.overflow` says so; one that is kept is used without being asked
(docs/decisions/0027-a-turn-continues-the-summary-where-told.md).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from recalld.supervisor.context.request import with_summary
from recalld.supervisor.protocol.inbox import chat_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recalld.supervisor.context.request import Asked
    from recalld.supervisor.conversation.asking import ChatStream
    from recalld.supervisor.conversation.memory_manager import MemoryManager
    from recalld.supervisor.conversation.running import Limits
    from recalld.supervisor.conversation.session_memory import SessionMemory
    from recalld.supervisor.conversation.sessions import RunningSummary
    from recalld.supervisor.index.hit import SearchResult
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.workspace import Workspace


def open_conversation(
    ws: Workspace, llm: ChatStream | None, system_prompt: str, settings: object, clock: Clock
) -> MemoryManager:
    """Return the memory of a conversation that is not in the workspace, with its configuration, prompts and events."""
    from recalld.supervisor.conversation.memory_manager import MemoryManager

    return MemoryManager(llm, system_prompt, settings=settings, **_wiring(ws, clock))


def open_session(
    ws: Workspace,
    session: str,
    append: Callable[[Mapping[str, Any]], object],
    llm: ChatStream | None,
    system_prompt: str,
    settings: object,
    clock: Clock,
    limits: Limits | None = None,
) -> SessionMemory:
    """Return the memory of a session's conversation, as of now; *append* adds a message to the workspace."""
    from recalld.supervisor.conversation.session_memory import SessionMemory

    stores: dict[str, Any] = {"files": ws.session_files, "talk": ws.session_talk, "append": append, "limits": limits}
    return SessionMemory(llm, system_prompt, session, settings=settings, **stores, **_wiring(ws, clock))


def _wiring(ws: Workspace, clock: Clock) -> dict[str, Any]:
    from recalld.supervisor.protocol.prompts import load_template

    template = partial(load_template, files=ws.files, paths=ws.paths)
    return {"config": ws.config, "template": template, "events": ws.events, "clock": clock}


def kept_summary(ws: Workspace, session: str) -> RunningSummary | None:
    """Return the running summary that is kept of the session; None, and an event reports it, where it can't be read."""
    return ws.attempt("running summary", lambda: ws.session_files.read(session).running, None)


def running_summary(
    ws: Workspace,
    asked: Asked,
    system: str,
    result: SearchResult,
    append: Callable[[Mapping[str, Any]], object],
    clock: Clock,
    environ: Mapping[str, str],
) -> RunningSummary | None:
    """Return the kept running summary of the asked session, continued first where `turns.overflow` says so."""
    kept = kept_summary(ws, asked.chat.session)
    if kept is None or ws.config.turns.overflow != "summary" or ws.extracting:
        return kept
    from recalld.supervisor.context.build import turn_budgets

    room = turn_budgets(asked, system, result, ws.config).history
    return ws.attempt("continuing a running summary", lambda: _continued(ws, asked, kept, room, append, clock, environ), kept)


def _continued(
    ws: Workspace,
    asked: Asked,
    kept: RunningSummary,
    history_tokens: int,
    append: Callable[[Mapping[str, Any]], object],
    clock: Clock,
    environ: Mapping[str, str],
) -> RunningSummary:
    """
    Return the running summary of the asked session, which the configured model continues first where that is due.

    It is due where the history block, of at most *history_tokens*, no longer shows all that the summary does not have. After a
    failure that waits, or where another process does it now, it is the one that is *kept*.
    """
    from recalld.supervisor.conversation.memory_manager import limits_of
    from recalld.supervisor.conversation.running import Conversation, to_sum_up
    from recalld.supervisor.conversation.turns import read_said
    from recalld.supervisor.host.session_writer import WorkerModel
    from recalld.supervisor.summaries.llm_state import refusal

    config, session = ws.config, asked.chat.session
    limits = replace(limits_of(config), shown_messages=config.context.max_messages, shown_tokens=history_tokens)
    rest = [one for one in with_summary(asked, kept).before if chat_of(one.raw).session == session]
    said = tuple(read_said(one.raw, limits.cjk_weight) for one in rest)
    if not to_sum_up(Conversation(summary=kept.text, said=said, failure=kept.failure), limits, clock()):
        return kept
    if refusal(clock(), ws.model_use):
        return kept
    talk = open_session(ws, session, append, WorkerModel(ws, environ, clock), "", None, clock, limits)
    if not asked.chat.is_direct and talk.is_private:
        return kept
    ws.asks_model()
    talk.summarize_due()
    return ws.session_files.read(session).running
