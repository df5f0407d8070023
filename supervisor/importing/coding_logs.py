"""
The logs of clients that code: Claude Code and Codex.

What a person said and what the assistant answered is talk. A call of a tool becomes one line, its result none; prompts of the
client, what subagents say among themselves, and thoughts are left out.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from ..text.lazy_re import lazy_re
from .talk import Conversation, Said, text_of, tool_calls, tool_line, when, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime, tzinfo

    from .source import Source
    from .talk import Reading, Talk

#: How a text begins that a client has written in the user's name: commands of its own, their output, instructions.
_CLIENTS_OWN: Final = lazy_re(
    r"\s*(?:<(?:command-(?:name|message|args)|local-command-\w+|bash-(?:input|stdout|stderr)|user-memory-input|task-notification"
    r"|environment_context|user_instructions|permissions instructions|INSTRUCTIONS|turn_aborted|skill|collaboration_mode)\b"
    r"|Caveat: The messages below were generated|\[Request interrupted by user|# AGENTS\.md instructions)"
)


def _of_user(text: str) -> str:
    """Return the text if the user has written it; "" for one of the client's."""
    return "" if _CLIENTS_OWN.match(text) else text


def _records(log: Reading, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line of a file; a line that has none is noted as unread."""
    for number, raw in log.source.lines(name):
        if isinstance(raw, dict):
            yield number, raw
        else:
            log.unread.note("line", f"{name}#{number}")


# ── Claude Code ──────────────────────────────────────────────────────────────


def is_claude_code(source: Source) -> bool:
    """Return whether a log of the source begins as one of Claude Code does."""
    firsts = (source.first_line(name) for name in source.named("*.jsonl")[:20])
    return any(
        isinstance(first, dict)
        and isinstance(first.get("type"), str)
        and first["type"] != "session"
        and ("sessionId" in first or first["type"] in ("summary", "file-history-snapshot"))
        for first in firsts
    )


def claude_code(log: Reading) -> Talk:
    """Yield the sessions of Claude Code, `projects/<folder>/<session>.jsonl`; the parts of an answer are one message."""
    for name in log.source.named("*.jsonl"):
        answer: list[dict[str, Any]] = []
        for _, raw in _records(log, name):
            message = raw.get("message")
            if raw.get("type") not in ("user", "assistant") or not isinstance(message, dict):
                continue
            if any(raw.get(field) for field in ("isMeta", "isSidechain", "isCompactSummary", "agentId")):
                continue
            if answer and (raw["type"] != "assistant" or message.get("id") != answer[-1]["message"].get("id")):
                yield from _claude_code_message(answer, name, log.zone)
                answer = []
            if raw["type"] == "assistant":
                answer.append(raw)
            else:
                yield from _claude_code_message([raw], name, log.zone)
        if answer:
            yield from _claude_code_message(answer, name, log.zone)


def _claude_code_message(lines: list[dict[str, Any]], name: str, zone: tzinfo) -> Talk:
    first = lines[0]
    conversation = Conversation(
        id=text_of(first, "sessionId") or PurePosixPath(name).stem, channel="claude-code", project=text_of(first, "cwd")
    )
    at, role = when(first.get("timestamp"), zone), first["type"]
    contents = [line["message"].get("content") for line in lines]
    text = "\n".join(filter(None, map(words, contents)))
    identity = text_of(first["message"], "id") or text_of(first, "uuid")
    if text := _of_user(text) if role == "user" else text:
        yield conversation, Said(id=identity, at=at, role=role, text=text)
    for content in contents if role == "assistant" else []:
        for call in tool_calls(content, identity, at):
            yield conversation, call


# ── Codex ────────────────────────────────────────────────────────────────────


def codex(log: Reading) -> Talk:
    """
    Yield the sessions of Codex, `sessions/YYYY/MM/DD/rollout-….jsonl`.

    Where the log has what the terminal showed (`event_msg`), that is the talk; else the messages that the model got.
    """
    for name in log.source.named("rollout-*.jsonl"):
        has_events = any(_event_of(raw) for _, raw in log.source.lines(name) if isinstance(raw, dict))
        session, project, at = PurePosixPath(name).stem, "", None
        for number, raw in _records(log, name):
            inner = raw.get("payload")
            payload: Mapping[str, Any] = inner if isinstance(inner, dict) else raw  # older logs have no envelope
            at = when(raw.get("timestamp"), log.zone) or at
            if raw.get("type") == "session_meta" or (number == 1 and "id" in raw and "type" not in raw):
                session, project = text_of(payload, "id") or session, text_of(payload, "cwd")
                continue
            conversation = Conversation(id=session, channel="codex", project=project)
            said = _event_of(raw) if has_events else _item_of(payload)
            call = _codex_call(payload, f"{session}-{number}", at)
            if said and said[1]:
                yield conversation, Said(id=f"{session}-{number}", at=at, role=said[0], text=said[1])
            elif call:
                yield conversation, call


def _event_of(raw: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return role and text of what the terminal showed; None for anything else."""
    payload = raw.get("payload")
    if raw.get("type") != "event_msg" or not isinstance(payload, dict):
        return None
    role = {"user_message": "user", "agent_message": "assistant"}.get(str(payload.get("type")))
    text = text_of(payload, "message")
    return (role, _of_user(text) if role == "user" else text) if role else None


def _item_of(payload: Mapping[str, Any]) -> tuple[str, str] | None:
    if payload.get("type") != "message" or payload.get("role") not in ("user", "assistant"):
        return None
    text = words(payload.get("content"))
    return payload["role"], _of_user(text) if payload["role"] == "user" else text


def _codex_call(payload: Mapping[str, Any], identity: str, at: datetime | None) -> Said | None:
    kind = payload.get("type")
    if kind not in ("function_call", "custom_tool_call", "local_shell_call"):
        return None
    given = payload.get("arguments") or payload.get("input") or payload.get("action")
    if isinstance(given, str):
        with contextlib.suppress(ValueError):
            given = json.loads(given)
    return Said(
        id=text_of(payload, "call_id") or identity, at=at, role="tool", text=tool_line(payload.get("name") or "shell", given)
    )
