"""
The chats of LlamaIndex in a workspace: one file a key, `.recalld/sessions/chat-<digest>.jsonl`.

The first line has the key, each other line a message. A message is appended, durably; everything else replaces the file. A line
that a crash cut off is set aside, with an event, and the whole ones are read. The caller decides what a message looks like.
Source: docs/reference/protocol.md, 11.7.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Generic, TypeVar

from ..archive.quarantine import Quarantine
from ..events import Events
from ..protocol.paths import WorkspacePaths
from ..storage.errors import from_os_error
from ..storage.files import Files, FileVersion
from ..storage.lenient_json import render_json
from ..text.lazy_re import lazy_re
from .sessions import session_digest

M = TypeVar("M")

_VERSION: Final = 1
_NAME: Final = lazy_re(r"chat-[0-9a-f]+\.jsonl")


class ChatFiles(Generic[M]):
    """
    The messages of each key; any number of processes may read and write them.

    *render* makes one line of JSON of a message, *parse* a message of such a line; ValueError if it is none.
    """

    def __init__(
        self,
        files: Files,
        paths: WorkspacePaths,
        quarantine: Quarantine,
        events: Events,
        *,
        render: Callable[[M], bytes],
        parse: Callable[[bytes], M],
    ) -> None:
        self._files, self._paths, self._quarantine, self._events = files, paths, quarantine, events
        self._render, self._parse = render, parse

    def keys(self) -> list[str]:
        """Return the keys that have a file."""
        folder = self._paths.sessions
        names = self._files.disk.names(folder) if self._files.disk.stat(folder) else []
        versions = [self._files.read_stable(folder / name) for name in names if _NAME.fullmatch(name)]
        heads = [_head(version.data) for version in versions if version]
        return sorted(key for key in heads if key is not None)

    def messages(self, key: str) -> list[M]:
        """Return the messages of the key, none for one that is not known."""
        with self._locked(key):
            return self._read(key)[0]

    def add(self, key: str, message: M) -> None:
        """Add a message; it is durable then."""
        with self._locked(key):
            path = self._paths.chat(session_digest(key))
            stat = self._files.disk.stat(path)
            if stat and stat.size:
                self._files.append(path, self._render(message) + b"\n")
            else:
                self._write(key, [message], self._files.read_stable(path))

    def replace(self, key: str, messages: Sequence[M]) -> None:
        """Replace the messages of the key."""
        with self._locked(key):
            _, version = self._read(key)
            self._write(key, messages, version)

    def delete(self, key: str) -> list[M] | None:
        """Delete the messages of the key, and return them; None where there are none."""
        with self._locked(key):
            messages, version = self._read(key)
            self._files.remove(self._paths.chat(session_digest(key)))
        return messages if version else None

    def delete_at(self, key: str, index: int) -> M | None:
        """Delete the message at *index* and return it, None where there is none."""
        with self._locked(key):
            messages, version = self._read(key)
            if not -len(messages) <= index < len(messages):
                return None
            deleted = messages.pop(index)
            self._write(key, messages, version)
        return deleted

    # ── the file ─────────────────────────────────────────────────────────────

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        lock = self._paths.chat_lock(session_digest(key))
        try:
            self._files.make_folder(lock.parent, lasting=True)
            with self._files.lock(lock):
                yield
        except OSError as error:
            raise from_os_error(error, error.filename or lock) from error

    def _read(self, key: str) -> tuple[list[M], FileVersion | None]:
        """Return the messages and the file, after what can't be read in it was set aside."""
        path = self._paths.chat(session_digest(key))
        version = self._files.read_stable(path)
        if version is None:
            return [], None
        first, *lines = version.data.splitlines(keepends=True) or [b""]
        messages: list[M] = []
        for line in lines:
            with suppress(ValueError):
                messages += [self._parse(line)] if line.endswith(b"\n") else []
        if _head(first) == key and len(messages) == len(lines):
            return messages, version
        kept = self._quarantine.keep("chat", version.data)
        copy = {"copy": False} if kept == "full" else {}
        if kept != "known":
            why = "lines of it are cut off or damaged"
            self._events.emit("file_quarantined", file=self._paths.relative(path), why=why, **copy)
        if kept != "full":  # nothing is overwritten that has no copy
            self._write(key, messages, version)
            version = self._files.read_stable(path)
        return messages, version

    def _write(self, key: str, messages: Sequence[M], seen: FileVersion | None) -> None:
        lines = [render_json({"version": _VERSION, "key": key}), *map(self._render, messages)]
        self._files.replace(self._paths.chat(session_digest(key)), b"".join(line + b"\n" for line in lines), seen)


def _head(data: bytes) -> str | None:
    try:
        head: Any = json.loads(data.partition(b"\n")[0])
    except ValueError:
        return None
    key = head.get("key") if isinstance(head, dict) and head.get("version") == _VERSION else None
    return key if isinstance(key, str) else None
