"""
The logs of clients that code: Claude Code, Codex, Gemini CLI, OpenCode, OpenClaw.

What a person said and what the assistant answered is talk. A call of a tool becomes one line, its result none; prompts of the
client, what subagents say among themselves, and thoughts are left out.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.importing.talk import Conversation, Said, text_of, tool_calls, tool_line, when, words
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime, tzinfo

    from recalld.supervisor.importing.source import Source
    from recalld.supervisor.importing.talk import Reading, Talk

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


# ── Gemini CLI ───────────────────────────────────────────────────────────────


def gemini(log: Reading) -> Talk:
    """Yield the sessions of Gemini CLI, `tmp/<project>/chats/session-….json`, in newer versions lines of JSON."""
    for name in [*log.source.named("session-*.json"), *log.source.named("session-*.jsonl")]:
        head: dict[str, Any] = {}
        for number, raw in _gemini_records(log.source, name, head):
            if not isinstance(raw, dict):
                log.unread.note("message", f"{name}#{number}")
            elif raw.get("type") in ("user", "gemini"):
                conversation = Conversation(id=text_of(head, "sessionId") or PurePosixPath(name).stem, channel="gemini-cli")
                identity, at = text_of(raw, "id") or f"{name}#{number}", when(raw.get("timestamp"), log.zone)
                role, text = ("user" if raw["type"] == "user" else "assistant"), words(raw.get("content"))
                if text := _of_user(text) if role == "user" else text:
                    yield conversation, Said(id=identity, at=at, role=role, text=text)
                for n, call in enumerate(raw.get("toolCalls") or []):
                    if isinstance(call, dict):
                        line = tool_line(call.get("name"), call.get("args"))
                        yield conversation, Said(id=text_of(call, "id") or f"{identity}-{n}", at=at, role="tool", text=line)


def _gemini_records(source: Source, name: str, head: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """Yield the messages of a session, numbered, and put what is said of the session itself into *head*."""
    if name.endswith(".json"):
        whole = source.json(name)
        head.update(whole if isinstance(whole, dict) else {})
        messages = head.pop("messages", None)
        yield from enumerate(messages if isinstance(messages, list) else [], 1)
        return
    for number, raw in source.lines(name):
        if isinstance(raw, dict) and "sessionId" in raw and "type" not in raw:
            head.update(raw)
        else:
            yield number, raw


# ── OpenCode ─────────────────────────────────────────────────────────────────


def opencode_files(source: Source) -> list[str]:
    """Return the sessions of older OpenCode."""
    return source.named("session/*/ses_*.json")


def opencode(log: Reading) -> Talk:
    """Yield the sessions of older OpenCode, `storage/session/`, `message/` and `part/`, but those of subagents."""
    for name in opencode_files(log.source):
        session = log.source.json(name)
        if not isinstance(session, dict) or session.get("parentID"):
            continue
        root = PurePosixPath(name).parents[2]
        messages = log.source.named(f"message/{PurePosixPath(name).stem}/*.json")
        for place in messages:
            message = log.source.json(place)
            if not isinstance(message, dict):
                log.unread.note("message", place)
                continue
            identity = PurePosixPath(place).stem
            parts = [log.source.json(part) for part in log.source.named(f"{root}/part/{identity}/*.json".removeprefix("./"))]
            yield from opencode_message(session, message, identity, parts, log.zone)


def opencode_message(
    session: Mapping[str, Any], message: Mapping[str, Any], identity: str, parts: list[Any], zone: tzinfo
) -> Talk:
    """Yield a message of OpenCode and its calls of tools, from its *parts* in their order."""
    times = message.get("time")
    at = when(times.get("created") if isinstance(times, dict) else None, zone)
    conversation = Conversation(
        id=text_of(session, "id"), channel="opencode", title=text_of(session, "title"), project=text_of(session, "directory")
    )
    shown = [part for part in parts if isinstance(part, dict) and not part.get("synthetic") and not part.get("ignored")]
    text = words([part for part in shown if part.get("type") in ("text", "file")])
    role = "user" if message.get("role") == "user" else "assistant"
    if text := _of_user(text) if role == "user" else text:
        yield conversation, Said(id=identity, at=at, role=role, text=text)
    for n, part in enumerate(shown):
        if part.get("type") == "tool":
            state = part.get("state")
            line = tool_line(part.get("tool"), state.get("input") if isinstance(state, dict) else "")
            yield conversation, Said(id=text_of(part, "callID", "id") or f"{identity}-{n}", at=at, role="tool", text=line)


# ── OpenClaw ─────────────────────────────────────────────────────────────────


def openclaw(log: Reading) -> Talk:
    """
    Yield the sessions of OpenClaw, `agents/<agent>/sessions/<session>.jsonl`.

    A conversation has the key of `sessions.json`, which says whether it was in a group.
    """
    keys: dict[str, str] = {}
    for name in log.source.named("sessions.json"):
        table = log.source.json(name)
        for key, entry in table.items() if isinstance(table, dict) else []:
            if isinstance(entry, dict) and isinstance(entry.get("sessionId"), str):
                keys[entry["sessionId"]] = key
    for name in log.source.named("*.jsonl"):
        session, project = PurePosixPath(name).stem, ""
        for number, raw in _records(log, name):
            if raw.get("type") == "session":
                session, project = text_of(raw, "id") or session, text_of(raw, "cwd")
            message = raw.get("message")
            if raw.get("type") != "message" or not isinstance(message, dict):
                continue
            if message.get("role") not in ("user", "assistant"):
                continue
            conversation = Conversation(id=keys.get(session, session), channel="openclaw", project=project)
            at = when(raw.get("timestamp") or message.get("timestamp"), log.zone)
            identity = f"{session}-{raw.get('id') or number}"
            if text := _of_user(words(message.get("content"))):
                yield conversation, Said(id=identity, at=at, role=message["role"], text=text)
            for call in tool_calls(message.get("content"), identity, at):
                yield conversation, call
