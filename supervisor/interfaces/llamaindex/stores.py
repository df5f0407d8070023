"""The chats that LlamaIndex keeps in a workspace, over `conversation/chat_files.py`."""

from __future__ import annotations

import os

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.storage.chat_store import BaseChatStore

from ...conversation.chat_files import ChatFiles
from ...storage.lenient_json import parse_json, render_json
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
