"""
Conversations in databases and files of programs: OpenAI's Agents SDK, CountBot and OpenCode (SQLite), JSON lines, a workspace.

A database is opened for reading alone, and only as a file of its own: one in an archive has to be unpacked first.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.importing.coding_logs import opencode_message
from recalld.supervisor.importing.talk import Conversation, Said, text_of, tool_calls, tool_line, when, words
from recalld.supervisor.protocol.dated_file import parse_dated
from recalld.supervisor.protocol.message import Message, is_role, parse_history, role_of
from recalld.supervisor.storage.lenient_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from recalld.supervisor.importing.source import Source
    from recalld.supervisor.importing.talk import Reading, Talk

#: The tables by which a database is known.
_TABLES: Final = {
    "openai-agents": {"agent_sessions", "agent_messages"},
    "countbot": {"sessions", "messages"},
    "opencode": {"session", "message", "part"},
}
#: Fields that a line of JSON may have its time in.
_TIMES: Final = ("createdAt", "created_at", "timestamp", "time", "date")


def databases_of(source: Source, kind: str) -> list[str]:
    """Return the members that are databases of that kind; one that can't be read is of none."""
    names = [*source.named("*.db"), *source.named("*.sqlite"), *source.named("*.sqlite3")]
    return [name for name in names if source.tables(name) >= _TABLES[kind]]


def openai_agents(log: Reading) -> Talk:
    """Yield the sessions of the Agents SDK's `SQLiteSession`."""
    for name in databases_of(log.source, "openai-agents"):
        with log.source.database(name) as database:
            for row in database.execute("SELECT id, session_id, message_data, created_at FROM agent_messages ORDER BY id"):
                conversation = Conversation(id=str(row["session_id"]), channel="openai-agents")
                identity, at = f"{row['session_id']}-{row['id']}", when(_utc(row["created_at"]), log.zone)
                try:
                    raw = parse_json(str(row["message_data"]).encode("utf-8", "replace"))
                except ValueError:
                    raw = None
                if not isinstance(raw, dict):
                    log.unread.note("message", f"{name}#{row['id']}")
                elif raw.get("type") == "function_call":
                    line = tool_line(raw.get("name"), raw.get("arguments"))
                    yield conversation, Said(id=text_of(raw, "call_id") or identity, at=at, role="tool", text=line)
                elif raw.get("role") in ("user", "assistant"):
                    yield conversation, Said(id=identity, at=at, role=raw["role"], text=words(raw.get("content")))


def countbot(log: Reading) -> Talk:
    """Yield the sessions of CountBot's database."""
    for name in databases_of(log.source, "countbot"):
        with log.source.database(name) as database:
            titles = {str(row["id"]): str(row["name"] or "") for row in database.execute("SELECT id, name FROM sessions")}
            for row in database.execute("SELECT id, session_id, role, content, created_at FROM messages ORDER BY id"):
                session = str(row["session_id"])
                if not is_role(row["role"]) or not isinstance(row["content"], str):
                    log.unread.note("message", f"{name}#{row['id']}")
                    continue
                conversation = Conversation(id=session, channel="countbot", title=titles.get(session, ""))
                at = when(_utc(row["created_at"]), log.zone)
                yield conversation, Said(id=f"countbot:{row['id']}", at=at, role=role_of(row["role"]), text=row["content"])


def opencode_database(log: Reading) -> Talk:
    """Yield the sessions of OpenCode's database, but those of subagents."""
    for name in databases_of(log.source, "opencode"):
        with log.source.database(name) as database:
            sessions = database.execute(
                "SELECT id, title, directory FROM session WHERE parent_id IS NULL ORDER BY id"
            ).fetchall()
            for session in map(dict, sessions):
                of = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
                for row in database.execute(of, (session["id"],)).fetchall():
                    parts = database.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (row["id"],))
                    try:
                        message = parse_json(str(row["data"]).encode())
                        shown = [parse_json(str(part["data"]).encode()) for part in parts]
                    except ValueError:
                        log.unread.note("message", f"{name}#{row['id']}")
                        continue
                    yield from opencode_message(session, message, row["id"], shown, log.zone)


def _utc(value: object) -> object:
    """Return a time of SQLite's, which is in UTC and does not say so, as one that says it."""
    return f"{value}Z" if isinstance(value, str) and value[-1:].isdigit() and "+" not in value else value


def json_lines(log: Reading) -> Talk:
    """Yield messages of JSON lines: one a line, or a conversation a line as {"messages": […]}."""
    for name in log.source.named("*.jsonl"):
        for number, raw in log.source.lines(name):
            messages = raw.get("messages") if isinstance(raw, dict) else None
            whole = messages if isinstance(messages, list) else [raw]
            own = f"{PurePosixPath(name).stem}-{number}" if isinstance(messages, list) else PurePosixPath(name).stem
            for n, message in enumerate(whole):
                if not isinstance(message, dict) or not isinstance(message.get("role"), str):
                    log.unread.note("message", f"{name}#{number}.{n}")
                elif message["role"] not in ("system", "developer"):
                    at = next((t for field in _TIMES if (t := when(message.get(field), log.zone))), None)
                    identity = text_of(message, "id") or f"{name}-{number}.{n}"
                    calls = [*tool_calls(message.get("content"), identity, at)]
                    text = words(message.get("content") or message.get("text"))
                    if not (text or calls or message["role"] == "tool" or "tool_calls" in message):
                        log.unread.note("message", f"{name}#{number}.{n}")
                        continue
                    session = text_of(message, "session") or text_of(raw, "id") or own
                    conversation = Conversation(
                        id=session, channel=text_of(message, "channel") or "jsonl", chat=text_of(message, "chat")
                    )
                    role = role_of(message["role"])
                    if role == "tool":
                        text = tool_line(message.get("name") or "tool", "")
                    yield conversation, Said(id=identity, at=at, role=role, text=text, name=text_of(message, "name"))
                    for call in calls:
                        yield conversation, call


def workspace(log: Reading) -> Talk:
    """Yield the messages of a workspace: those of `history.json`, and those of dated files with recalld's head."""
    for name in log.source.named("history.json"):
        for n, entry in enumerate(parse_history(log.source.read(name), log.zone)):
            if isinstance(entry, Message):
                identity, speaker = entry.id or f"{name}#{n}-{entry.fingerprint}", text_of(entry.raw, "name")
                said = Said(id=identity, at=entry.created_at, role=entry.role, text=entry.text, name=speaker)
                yield _place_of(entry.raw), said
            else:
                log.unread.note("message", f"{name}#{n}")
    for name in dated_files(log.source):
        dated = parse_dated(log.source.read(name), Path(name))
        if dated is None:
            log.unread.note("file", name)
            continue
        for block in dated.blocks:
            said = Said(id=block.id, at=block.created_at, role=block.role, text=block.text, name=text_of(block.fields, "name"))
            yield _place_of(block.fields), said


def dated_files(source: Source) -> Iterator[str]:
    """Yield the members that are dated files of recalld's."""
    for name in source.named("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]-*.md"):
        with source.open(name) as file:
            if file.read(12).startswith(b"---\nrecalld:"):
                yield name


def _place_of(raw: Mapping[str, Any]) -> Conversation:
    about = {key: text_of(raw, key) for key in ("channel", "chat", "project")}
    return Conversation(id=text_of(raw, "session"), **about)
