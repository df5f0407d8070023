"""
A chat store of LlamaIndex in a workspace: one file a key, `.recalld/sessions/chat-<digest>.jsonl`.

The first line has the key, each other line a message. A message is appended, durably; everything else replaces the file. A
line that a crash cut off is set aside, with an event, and the whole ones are read. Source: docs/reference/protocol.md, 11.7.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.storage.chat_store import BaseChatStore

from supervisor.conversation.sessions import session_digest
from supervisor.interfaces.api import Memory
from supervisor.protocol.errors import from_os_error
from supervisor.protocol.lenient_json import render_json

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from supervisor.protocol.files import FileVersion
    from supervisor.workspace import Workspace

_VERSION: Final = 1
_NAME: Final = re.compile(r"chat-[0-9a-f]+\.jsonl")


class FileChatStore(BaseChatStore):
    """The chat store of the workspace at *root*; any number of processes may use it. BadRequest if there is no such folder."""

    root: str
    _workspace: Workspace = PrivateAttr()

    def __init__(self, root: str | os.PathLike[str]) -> None:
        workspace = Memory(root).workspace
        super().__init__(root=str(workspace.paths.root))
        self._workspace = workspace

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex knows the class by."""
        return "FileChatStore"

    @property
    def workspace(self) -> Workspace:
        """The workspace, whose configuration and events a chat memory uses."""
        return self._workspace

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Replace the messages of the key."""
        with self._locked(key):
            _, version = self._read(key)
            self._write(key, messages, version)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages of the key, none for one that is not known."""
        with self._locked(key):
            return self._read(key)[0]

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Add a message; it is durable then."""
        with self._locked(key):
            path = self._workspace.paths.chat(session_digest(key))
            if self._workspace.files.disk.stat(path) is None:
                self._write(key, [message], None)
            else:
                self._workspace.files.append(path, _line(message))

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Delete the messages of the key, and return them; None where there are none."""
        with self._locked(key):
            messages, version = self._read(key)
            self._workspace.files.remove(self._workspace.paths.chat(session_digest(key)))
        return messages if version else None

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message at *idx* and return it, None where there is none."""
        with self._locked(key):
            messages, version = self._read(key)
            if not -len(messages) <= idx < len(messages):
                return None
            deleted = messages.pop(idx)
            self._write(key, messages, version)
        return deleted

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Delete the last message and return it, None where there is none."""
        return self.delete_message(key, -1)

    def get_keys(self) -> list[str]:
        """Return the keys that have a file."""
        files, folder = self._workspace.files, self._workspace.paths.sessions
        names = files.disk.names(folder) if files.disk.stat(folder) else []
        versions = [files.read_stable(folder / name) for name in names if _NAME.fullmatch(name)]
        heads = [_head(version.data) for version in versions if version]
        return sorted(key for key in heads if key is not None)

    # ── the file ─────────────────────────────────────────────────────────────

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        paths, files = self._workspace.paths, self._workspace.files
        lock = paths.chat_lock(session_digest(key))
        try:
            files.make_folder(lock.parent, lasting=True)
            with files.lock(lock):
                yield
        except OSError as error:
            raise from_os_error(error, error.filename or lock) from error

    def _read(self, key: str) -> tuple[list[ChatMessage], FileVersion | None]:
        """Return the messages and the file, after what can't be read in it was set aside."""
        files, path = self._workspace.files, self._workspace.paths.chat(session_digest(key))
        version = files.read_stable(path)
        if version is None:
            return [], None
        first, *lines = version.data.splitlines(keepends=True) or [b""]
        found = [_message(line) for line in lines]
        messages = [one for one in found if one is not None]
        if _head(first) == key and len(messages) == len(found):
            return messages, version
        kept = self._workspace.quarantine.keep("chat", version.data)
        copy = {"copy": False} if kept == "full" else {}
        if kept != "known":
            name = self._workspace.paths.relative(path)
            self._workspace.events.emit("file_quarantined", file=name, why="lines of it are cut off or damaged", **copy)
        if kept != "full":  # nothing is overwritten that has no copy
            self._write(key, messages, version)
            version = files.read_stable(path)
        return messages, version

    def _write(self, key: str, messages: Sequence[ChatMessage], seen: FileVersion | None) -> None:
        head = render_json({"version": _VERSION, "key": key}) + b"\n"
        path = self._workspace.paths.chat(session_digest(key))
        self._workspace.files.replace(path, b"".join([head, *map(_line, messages)]), seen)


def _line(message: ChatMessage) -> bytes:
    text: str = message.model_dump_json()
    return text.encode() + b"\n"


def _message(line: bytes) -> ChatMessage | None:
    """Return the message of a whole line, None for another one."""
    if not line.endswith(b"\n"):
        return None
    try:
        return ChatMessage.model_validate_json(line)
    except ValueError:
        return None


def _head(data: bytes) -> str | None:
    """Return the key that the first line has, None where that is none."""
    try:
        found: Any = json.loads(data.partition(b"\n")[0])
    except ValueError:
        return None
    key = found.get("key") if isinstance(found, dict) and found.get("version") == _VERSION else None
    return key if isinstance(key, str) else None
