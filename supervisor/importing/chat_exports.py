"""
Chats with a model: the exports of ChatGPT and of Claude, and the messages of any other program as JSON.

ChatGPT keeps a conversation as a tree, `mapping`, in which an edited question or another answer is a branch of its own, and
`current_node` is the end of the branch that was last shown. Claude's messages name their parents in newer exports.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC
from pathlib import PurePosixPath
from typing import Any, Final

from ..storage.clock import read_instant
from ..text.lazy_re import lazy_re
from .source import Source
from .talk import TIMES, Reading, Talk, objects_in, text_of, words

#: Content of ChatGPT's that people read; the others are thoughts, settings, and what tools were given and gave.
_SHOWN: Final = ("text", "multimodal_text")
_PARTS: Final = ("author", "content", "metadata")
#: The name that Claude gives to a long text that was pasted.
_PASTED: Final = lazy_re(r"paste(?:-\d+)?\.txt")


def _conversations(log: Reading, name: str, field: str, kind: type) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield the place of each conversation of an export, itself and its messages; a value that is none is noted."""
    for n, raw in enumerate(log.source.objects(name)):
        if isinstance(raw, dict) and isinstance(raw.get(field), kind):
            yield f"{name}#{n}", raw, raw[field]
        else:
            log.unread["conversation"] += 1


def chatgpt(log: Reading, name: str) -> Talk:
    """Yield the conversations of ChatGPT's export: of each the branch that was last shown."""
    for place, raw, mapping in _conversations(log, name, "mapping", dict):
        session = text_of(raw, "conversation_id", "id") or place
        parents = {key: text_of(node, "parent") if isinstance(node, dict) else "" for key, node in mapping.items()}
        branch = _branch(parents, text_of(raw, "current_node"))
        if branch and parents[branch[0]] in mapping:
            log.unread["loop"] += 1  # what was said before it is not known
        for key in branch:
            message = mapping[key].get("message") if isinstance(mapping[key], dict) else None
            if isinstance(message, dict):
                yield from _chatgpt_message(log, message, key, session)
            elif message is not None:  # the root has none
                log.unread["message"] += 1


def _branch(parents: dict[str, str], leaf: str) -> list[str]:
    """Return the ids from the root to the *leaf*, or to the last of all; a loop in the tree ends it."""
    key = leaf if leaf in parents else next(reversed(parents), "")
    branch: dict[str, None] = {}
    while key in parents and key not in branch:
        branch[key] = None
        key = parents[key]
    return [*reversed(branch)]


def _chatgpt_message(log: Reading, message: Mapping[str, Any], key: str, session: str) -> Talk:
    """Yield a message; what nobody said is counted: prompts, thoughts, tools, what is hidden from the conversation."""
    author, content, about = (part if isinstance(part := message.get(name), dict) else {} for name in _PARTS)
    is_shown = content.get("content_type") in _SHOWN and not about.get("is_visually_hidden_from_conversation")
    if author.get("role") not in ("user", "assistant") or not is_shown or (message.get("recipient") or "all") != "all":
        log.leave_out(text_of(content, "content_type") or "message")
        return
    text = "\n".join(filter(None, map(_part, content.get("parts") or [])))
    identity, at = str(message.get("id") or key), message.get("create_time")
    yield {"id": identity, "role": author["role"], "content": [text], "timestamp": at, "session": session}


def _part(part: object) -> str:
    if isinstance(part, dict) and part.get("content_type") in ("image_asset_pointer", "audio_asset_pointer"):
        return "[image]" if "image" in str(part["content_type"]) else "[audio]"
    return words(part)


def claude(log: Reading, name: str) -> Talk:
    """Yield the conversations of Claude's export: of each the branch that was last shown."""
    for place, raw, messages in _conversations(log, name, "chat_messages", list):
        session = text_of(raw, "uuid") or place
        readable = [*objects_in(messages)]
        log.unread.update(["message"] * (len(messages) - len(readable)))
        parents = {text_of(message, "uuid"): text_of(message, "parent_message_uuid") for message in readable}
        has_branches = any(parent and parent in parents for parent in parents.values())
        branch = _branch(parents, text_of(raw, "current_leaf_message_uuid")) if has_branches else parents
        for message in readable:
            if text_of(message, "uuid") in branch:
                yield {**_claude_message(log, message), "session": session}


def _claude_message(log: Reading, message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with the names of its files, and the text that was pasted."""
    content = message.get("content")
    log.leave_out_tools(content)
    attached = (part for field in ("attachments", "files", "files_v2") for part in objects_in(message.get(field)))
    named = dict.fromkeys(_claude_file(log, part) for part in attached)
    text = "\n".join(filter(None, [words(content) if content else text_of(message, "text"), *named]))
    role = "user" if message.get("sender") in ("human", "user") else "assistant"
    return {"id": text_of(message, "uuid"), "role": role, "content": [text], "timestamp": message.get("created_at")}


def _claude_file(log: Reading, attached: Mapping[str, Any]) -> str:
    """Return the name of a file, or the text that was pasted; the text of a file is left out, and counted."""
    name, text = text_of(attached, "file_name", "file_kind"), text_of(attached, "extracted_content")
    if text and (not name or _PASTED.fullmatch(name)):
        return text
    if text:
        log.leave_out("extracted_content")
    return f"[{name or 'file'}]"


# ── messages as JSON ─────────────────────────────────────────────────────────


def is_messages(source: Source, name: str) -> bool:
    """True if a file begins with a message, or with a conversation as {"messages": […]}."""
    first = _first_message(source, name)
    return "role" in first and (name.endswith(".jsonl") or not first.keys().isdisjoint(("content", "text")))


def is_dated(source: Source, name: str) -> bool:
    """True if the first message, or its conversation, says when it was said, as what a program keeps of a talk does."""
    firsts = (source.first(name), _first_message(source, name))
    return any(read_instant(first.get(field), UTC) for first in firsts for field in TIMES)


def _first_message(source: Source, name: str) -> dict[str, Any]:
    first = source.first(name)
    if isinstance(first.get("messages"), list):
        first = next(iter(first["messages"]), {"role": "", "content": ""})
    return first if isinstance(first, dict) else {}


def messages_of(log: Reading, name: str) -> Talk:
    """
    Yield the messages of JSON lines and of JSON arrays: each by itself, or a conversation as {"messages": […]}.

    Where a message does not say it, its *place* in the file is its id, and the file or conversation its session.
    """
    stem, is_log = PurePosixPath(name).stem, name.endswith(".jsonl")
    for number, raw in log.source.lines(name) if is_log else enumerate(log.source.objects(name), 1):
        messages, session = [raw], stem
        if isinstance(raw, dict) and isinstance(raw.get("messages"), list):
            messages, session = raw["messages"], text_of(raw, "id") or (f"{stem}-{number}" if is_log else stem)
        for n, message in enumerate(messages):
            yield placed(log, message, f"{name}-{number}.{n}", session)


def placed(log: Reading, message: Any, place: str, session: str) -> Any:
    """Return the message with its *place* for its id, and with the *session*, where it says none."""
    if not isinstance(message, dict):
        return message
    if not (identity := text_of(message, "id")):
        log.placed.add(place)
    return {**message, "id": identity or place, "session": text_of(message, "session") or session}
