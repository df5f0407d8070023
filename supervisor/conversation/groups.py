"""
Whose conversation a session is: the user's own, or that of a group, whose readers may see less.

The stores are opened when a session is first asked about. Source: docs/reference/protocol.md, 11.10.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..protocol.inbox import Chat, ChatKind, chat_of
from ..protocol.message import Message
from ..storage.errors import BadFile

if TYPE_CHECKING:
    from ..archive.memory_folder import MemoryFolder
    from ..recall.unfiled import Unfiled
    from .session_files import SessionFiles

#: A message, or what history.json has in the place of one.
E = TypeVar("E")


class Groups:
    """
    Which sessions are a group's, since one of their messages says so or has said so, and which of *direct* are not.

    What a message says is kept in the file of its session, where it stays when the message is forgotten.
    """

    def __init__(
        self,
        sessions: Callable[[], SessionFiles],
        memory: Callable[[], MemoryFolder],
        unfiled: Callable[[], Unfiled],
        direct: Collection[str],
    ) -> None:
        self._sessions, self._memory, self._unfiled, self._direct = sessions, memory, unfiled, direct
        self._kept: set[str] = set()

    def chat(self, raw: Mapping[str, Any], now: datetime) -> Chat:
        """Return the chat that reads the answer to a question: a group where its session is one, whatever the question says."""
        chat = chat_of(raw)
        if chat.session in self._direct and raw.get("chat") is None:
            return replace(chat, kind="direct")
        return replace(chat, kind=self._kind(chat.session, now)) if chat.is_direct and chat.session else chat

    def mark(self, entries: Sequence[E], now: datetime, *, are_asking: bool = False) -> tuple[E, ...]:
        """Return the messages with the `chat` of their session; one that says that it is direct stays so, unless it asks."""
        kind_of = cache(partial(self._kind, now=now))

        def marked(entry: E) -> E:
            if not isinstance(entry, Message) or not (are_asking or entry.raw.get("chat") is None):
                return entry
            chat = chat_of(entry.raw)
            kind = kind_of(chat.session) if chat.is_direct and chat.session else "direct"
            return entry if kind == "direct" else replace(entry, raw={**entry.raw, "chat": kind})

        return tuple(map(marked, entries))

    def keep(self, now: datetime) -> None:
        """Write what the messages say into the files of their sessions."""
        for session, kind in self._kinds(now).items():
            if session in self._kept:
                continue
            with self._sessions().locked(session):
                progress = self._sessions().read(session)
                if progress.chat == "direct":
                    self._sessions().keep(session, replace(progress, chat=kind))
            self._kept.add(session)

    def _kind(self, session: str, now: datetime) -> ChatKind:
        if session in self._direct:
            return "direct"
        try:
            kept = self._sessions().read(session).chat
        except BadFile:
            return "group"  # what can't be read is closed
        return self._kinds(now).get(session, "direct") if kept == "direct" else kept

    def _kinds(self, now: datetime) -> dict[str, ChatKind]:
        """Return the sessions that are a group's by a message that is filed, or waits for that, with the kind."""
        waiting = (chat_of(message.raw) for message in self._unfiled().messages(now))
        kinds = {chat.session: chat.kind for chat in waiting if chat.session and not chat.is_direct}
        return kinds | {session: kind for file in self._memory().dated() for session, kind in file.groups}
