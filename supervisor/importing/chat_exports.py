"""
The exports of chats with a model: ChatGPT's and Claude's.

ChatGPT keeps a conversation as a tree, `mapping`, in which an edited question or another answer is a branch of its own, and
`current_node` is the end of the branch that was last shown. Claude's messages name their parents in newer exports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..storage.instant import read_instant
from ..text.lazy_re import lazy_re
from .talk import Conversation, Reading, Said, Talk, text_of, tool_calls, tool_line, words

if TYPE_CHECKING:
    from .source import Source

Messages = TypeVar("Messages", dict[str, Any], list[Any])

#: Content of ChatGPT's that people read; the others are thoughts, settings, and what tools were given and gave.
_SHOWN: Final = ("text", "multimodal_text")
#: The name that Claude gives to a long text that was pasted.
_PASTED: Final = lazy_re(r"paste(?:-\d+)?\.txt")
#: Content that is a call of a tool, or its result.
_TOOLS: Final = ("code", "execution_output", "tether_quote", "tether_browsing_display")


def is_export(key: str, source: Source) -> bool:
    """True if the source is an export whose conversations have the *key*: `mapping` of ChatGPT, `chat_messages` of Claude."""
    return any(key in source.keys(name) for name in _conversation_files(source)[:1])


def _conversation_files(source: Source) -> list[str]:
    named = [*source.named("conversations.json"), *source.named("conversations-[0-9]*.json")]
    return named or source.json_with(frozenset({"mapping"}), frozenset({"chat_messages"}))


def _conversations(log: Reading, field: str, kind: type[Messages]) -> Iterator[tuple[str, dict[str, Any], Messages]]:
    """Yield the place of each conversation of an export, itself and its messages; a value that is none is noted."""
    for name in _conversation_files(log.source):
        for n, raw in enumerate(log.source.objects(name)):
            messages = raw.get(field) if isinstance(raw, dict) else None
            if isinstance(messages, kind):
                yield f"{name}#{n}", raw, messages
            else:
                log.note("conversation", f"{name}#{n}")


def chatgpt(log: Reading) -> Talk:
    """Yield the conversations of ChatGPT's export: of each the branch that was last shown."""
    for place, raw, mapping in _conversations(log, "mapping", dict):
        conversation = Conversation(
            id=text_of(raw, "conversation_id", "id") or place, channel="chatgpt", title=text_of(raw, "title")
        )
        parents = {key: text_of(node, "parent") if isinstance(node, dict) else "" for key, node in mapping.items()}
        branch = _branch(parents, text_of(raw, "current_node"))
        if branch and parents[branch[0]] in mapping:
            log.note("loop", place)  # what was said before it is not known
        for key in branch:
            message = mapping[key].get("message") if isinstance(mapping[key], dict) else None
            if message is None:  # the root has none
                continue
            entry = _chatgpt_message(message, key, log.zone) if isinstance(message, dict) else None
            if entry:
                yield conversation, entry
            elif isinstance(message, dict):
                content = message.get("content")
                log.leave_out(text_of(content, "content_type") if isinstance(content, dict) else "message")
            else:
                log.note("message", f"{place} {key}")


def _branch(parents: dict[str, str], leaf: str) -> list[str]:
    """Return the ids from the root to the *leaf*, or to the last of all; a loop in the tree ends it."""
    key = leaf if leaf in parents else next(reversed(parents), "")
    branch: dict[str, None] = {}
    while key in parents and key not in branch:
        branch[key] = None
        key = parents[key]
    return [*reversed(branch)]


def _chatgpt_message(message: Mapping[str, Any], key: str, zone: tzinfo) -> Said | None:
    """Return a message; None for what nobody said: prompts, thoughts, what is hidden from the conversation."""
    author, content, about = (message.get(name) or {} for name in ("author", "content", "metadata"))
    if not all(isinstance(part, dict) for part in (author, content, about)) or about.get(
        "is_visually_hidden_from_conversation"
    ):
        return None
    role, kind = author.get("role"), content.get("content_type")
    identity, at = str(message.get("id") or key), read_instant(message.get("create_time"), zone)
    recipient = message.get("recipient") or "all"
    if role == "tool" or kind in _TOOLS or (role == "assistant" and recipient != "all"):
        name = author.get("name") or (recipient if recipient != "all" else kind)
        return Said(id=identity, at=at, role="tool", text=tool_line(name, content.get("text") if role == "assistant" else ""))
    if role not in ("user", "assistant") or kind not in _SHOWN:
        return None
    text = "\n".join(filter(None, map(_part, content.get("parts") or [])))
    return Said(id=identity, at=at, role=role, text=text)


def _part(part: object) -> str:
    if isinstance(part, dict) and part.get("content_type") in ("image_asset_pointer", "audio_asset_pointer"):
        return "[image]" if "image" in str(part["content_type"]) else "[audio]"
    return words(part)


def claude(log: Reading) -> Talk:
    """Yield the conversations of Claude's export: of each the branch that was last shown."""
    for place, raw, messages in _conversations(log, "chat_messages", list):
        conversation = Conversation(id=text_of(raw, "uuid") or place, channel="claude", title=text_of(raw, "name"))
        readable = [message for message in messages if isinstance(message, dict)]
        for m in range(len(messages) - len(readable)):
            log.note("message", f"{place} {m}")
        parents = {text_of(message, "uuid"): text_of(message, "parent_message_uuid") for message in readable}
        has_branches = any(parent and parent in parents for parent in parents.values())
        branch = _branch(parents, text_of(raw, "current_leaf_message_uuid")) if has_branches else parents
        for message in readable:
            if text_of(message, "uuid") in branch:
                for entry in _claude_message(log, message):
                    yield conversation, entry


def _claude_message(log: Reading, message: Mapping[str, Any]) -> Iterator[Said]:
    """Yield a message with the names of its files, the text that was pasted, and the calls of tools."""
    identity, at = text_of(message, "uuid"), read_instant(message.get("created_at"), log.zone)
    content = message.get("content")
    text = words(content) if content else text_of(message, "text")
    attached = [
        part for field in ("attachments", "files", "files_v2") for part in message.get(field) or [] if isinstance(part, dict)
    ]
    named = [_claude_file(log, name) for name in attached]
    role = "user" if message.get("sender") in ("human", "user") else "assistant"
    whole = "\n".join(filter(None, [text, *dict.fromkeys(named)]))
    yield Said(id=identity, at=at, role=role, text=whole)
    yield from tool_calls(content, identity, at)


def _claude_file(log: Reading, attached: Mapping[str, Any]) -> str:
    """Return the name of a file, or the text that was pasted; the text of a file is left out, and counted."""
    name, text = text_of(attached, "file_name", "file_kind"), text_of(attached, "extracted_content")
    if text and (not name or _PASTED.fullmatch(name)):
        return text
    if text:
        log.leave_out("extracted_content")
    return f"[{name or 'file'}]"
