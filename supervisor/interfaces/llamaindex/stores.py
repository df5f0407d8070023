"""What LlamaIndex keeps in a workspace: a chat, over `conversation/chat_files.py`, and the messages that leave its memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.storage.chat_store import BaseChatStore

from ...conversation.chat_files import ChatFiles
from ...storage.lenient_json import parse_json, render_json
from ...text.llm_input import estimate_tokens
from ...workspace import Workspace
from ..api import Memory


class FileChatStore(BaseChatStore):
    """The chat store of the workspace at *root*; any number of processes may use it. BadRequest if there is no such folder."""

    root: str
    _workspace: Workspace = PrivateAttr()
    _chats: ChatFiles[ChatMessage] = PrivateAttr()

    def __init__(self, root: str | os.PathLike[str]) -> None:
        workspace = Memory(root).workspace
        super().__init__(root=str(workspace.paths.root))
        self._workspace = workspace
        self._chats = ChatFiles(
            workspace.files,
            workspace.paths,
            workspace.quarantine,
            workspace.events,
            render=message_to_json,
            parse=message_from_json,
        )

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class for LlamaIndex."""
        return "FileChatStore"

    @property
    def workspace(self) -> Workspace:
        """The workspace, whose configuration and events a chat memory uses."""
        return self._workspace

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Replace the messages of the key."""
        self._chats.replace(key, messages)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages of the key; none for an unknown key."""
        return self._chats.messages(key)

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Add a message, durably."""
        self._chats.add(key, message)

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Delete the messages of the key, and return them; None where there are none."""
        return self._chats.delete(key)

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message at *idx* and return it, None where there is none."""
        return self._chats.delete_at(key, idx)

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Delete the last message and return it, None where there is none."""
        return self.delete_message(key, -1)

    def get_keys(self) -> list[str]:
        """Return the keys that have a file."""
        return self._chats.keys()


class RecalldMemoryBlock(BaseMemoryBlock[str]):
    """
    The block of LlamaIndex's `Memory` that recalls from the workspace at *root*, and stores flushed messages there.

    BadRequest if there is no such folder.
    """

    name: str = "recalld"
    root: str

    def __init__(self, root: str | os.PathLike[str], **fields: Any) -> None:
        super().__init__(root=str(Memory(root).workspace.paths.root), **fields)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        """Return the memory block for the user's last message; "" if nothing fits, or there is no such message."""
        question = next(
            (message.content for message in reversed(messages or []) if message.role.value == "user" and message.content), ""
        )
        if not question:
            return ""
        return await asyncio.to_thread(lambda: Memory(self.root).inject(question).memory)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Add messages of user and assistant to the workspace; messages that were added before are not added twice."""
        raws = _raws(messages)
        if raws:
            await asyncio.to_thread(lambda: Memory(self.root).append(raws))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the content without its last lines, which have at least these tokens; None if nothing is left."""
        lines = content.splitlines()
        room = estimate_tokens(content) - tokens_to_truncate
        while lines and estimate_tokens("\n".join(lines)) > room:
            lines.pop()
        return "\n".join(lines) or None


def _raws(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Return the messages of user and assistant with ids: the same list always gets the same ids, another list others."""
    texts = [(message, message.content or "") for message in messages if message.role.value in ("user", "assistant")]
    together = sha256(b"".join(message_to_json(message) for message, _ in texts)).hexdigest()
    raws = []
    for n, (message, text) in enumerate(texts):
        if not text.strip():
            continue
        identity = sha256(f"{together} {n}".encode()).hexdigest()[:16]
        session = message.additional_kwargs.get("session_id")
        where = {"session": session} if isinstance(session, str) else {}
        raws.append({"id": f"llamaindex-{identity}", "role": message.role.value, "text": text, **where})
    return raws


def message_to_json(message: ChatMessage) -> bytes:
    """Return the message as LlamaIndex writes it; a lone surrogate, which it refuses, is escaped."""
    try:
        text: str = message.model_dump_json()
    except ValueError:
        return render_json(message.model_dump(mode="json"))
    return text.encode()


def message_from_json(line: bytes) -> ChatMessage:
    """Return the message in the line; ValueError if there is none."""
    try:
        return ChatMessage.model_validate_json(line)
    except ValueError:
        return ChatMessage.model_validate(parse_json(line))
