"""The operations on the conversation: append messages, read the recent ones of a session, list the sessions."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Final

from ..storage.clock import Clock
from ..storage.errors import BadRequest, SupervisorError
from ..storage.lenient_json import parse_json, render_json
from ..storage.texts import Text
from ..workspace import Workspace
from .operation import Bounds, Visible, operation

#: Sessions of one answer, at most.
MOST_SESSIONS: Final = 1_000


@operation("append", owner=True)
def append(memory: Visible, messages: Sequence[dict[str, Any]], entropy: bytes = b"", as_found: bool = False) -> list[str]:
    """
    Add the messages, durably, and return their ids.

    They are in their order; "" is that of a message that was forgotten, which is not stored. A message has role, text, and the
    other fields of protocol.md, 2.1. *entropy* is ten random bytes for each, from which its id is made: a client that repeats a
    request sends the same bytes. With *as_found* they are taken as another program wrote them: with its own roles, and with the
    time of their arrival if theirs can't be read. BadRequest, and none is added, if one is no message, has an unknown role, or
    has a createdAt that can't be read.
    """
    return _append(memory.ws, messages, memory.caller.clock, entropy, as_found=as_found)


@operation("recent", owner=True)
def recent(memory: Visible, session: str = "") -> list[dict[str, Any]]:
    """Return the last `conversation.max_history` messages as {role, content}, without those of tools."""
    return memory.ws.session_lines.history(session, memory.caller.clock())


def adder(ws: Workspace, clock: Clock) -> Callable[[Mapping[str, Any] | Sequence[Mapping[str, Any]]], object]:
    """Return the function that adds a message of a conversation, or some in one write, to the workspace."""
    return lambda raw: _append(ws, as_messages(raw), clock)


def _append(
    ws: Workspace, messages: Sequence[dict[str, Any]], clock: Clock, entropy: bytes = b"", *, as_found: bool = False
) -> list[str]:
    from ..archive.append import append as append_messages
    from ..archive.append import refuse_odd

    raws, now = [*messages], clock()
    if not as_found:
        refuse_odd(raws, ws.zone, now + ws.config.archive.future_limit)
    ws.files.make_folder(ws.paths.state)
    return append_messages(ws, raws, now, entropy or os.urandom(10 * len(raws)))


def as_messages(messages: object) -> list[dict[str, Any]]:
    """Return one message, or many, as the JSON objects that are stored; BadRequest for anything else."""
    if isinstance(messages, Mapping):
        messages = [messages]
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Iterable):
        raise BadRequest(
            "messages", Text("it must be a message, or a list of messages, not {kind}", kind=type(messages).__name__)
        )
    raws = []
    for message in messages:
        if not isinstance(message, Mapping):
            raise BadRequest(
                "message", Text("it must be an object with role and text, not {kind}", kind=type(message).__name__)
            )
        try:
            raws.append(parse_json(render_json(dict(message))))
        except (TypeError, ValueError, RecursionError):
            why = Text("it has a value that JSON can't hold; give text, numbers, truth values, lists and objects")
            raise BadRequest("message", why) from None
    return raws


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHead:
    """
    A session: its key ("": the messages that name none), the kind of its chat, its *first* and *last* day, and how many *days*.

    *waiting* of its messages are in no file yet. *summed_up* is the time of the newest message that `summarize` has taken in.
    """

    session: str
    chat: str
    first: date
    last: date
    days: int
    waiting: int
    summed_up: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsAnswer:
    """The *sessions*, of *total*, the one talked in last first."""

    sessions: tuple[SessionHead, ...]
    total: int


@operation("sessions", owner=True)
def sessions(memory: Visible, limit: Annotated[int, Bounds(least=1, most=MOST_SESSIONS)] = 100) -> SessionsAnswer:
    """Return the sessions that messages name, the one talked in last first."""
    ws, now = memory.ws, memory.caller.clock()
    days: defaultdict[str, set[date]] = defaultdict(set)
    waiting: Counter[str] = Counter()
    for file in ws.memory.dated():
        for session in file.sessions if file.ours else ():
            days[session].add(file.day)
    for message in ws.unfiled.messages(now):
        key = message.raw.get("session")
        session = key if isinstance(key, str) else ""
        days[session].add(ws.today(message.created_at or now))
        waiting[session] += 1
    newest = sorted(days, key=lambda key: (max(days[key]), key), reverse=True)
    heads = (
        SessionHead(
            session=key,
            chat=ws.groups.chat({"session": key}, now).kind,
            first=min(days[key]),
            last=max(days[key]),
            days=len(days[key]),
            waiting=waiting[key],
            summed_up=_summed_up(memory, key),
        )
        for key in newest[:limit]
    )
    return SessionsAnswer(sessions=tuple(heads), total=len(days))


def _summed_up(memory: Visible, session: str) -> datetime | None:
    """Return the time of the newest message of the session that is in a long-term line; None if its file can't be read."""
    with suppress(SupervisorError, OSError):
        marker = memory.ws.session_files.read(session).markers.get("summary")
        return marker.at if marker else None
    return None
