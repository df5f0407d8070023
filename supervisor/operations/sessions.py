"""The operation that lists the conversations of a memory: when they were, and how far each is summed up."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime  # noqa: TC003 - the types of an answer's fields
from typing import Final

from ..storage.errors import SupervisorError
from ..text.record import record
from .operation import Request, Visible, operation, within

#: Sessions of one answer, at most.
MOST_SESSIONS: Final = 1_000


@record(kw_only=True)
class SessionsRequest(Request):
    """The *limit* sessions that were talked in last."""

    limit: int = within(100, 1, MOST_SESSIONS)


@record(kw_only=True)
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


@record(kw_only=True)
class SessionsAnswer:
    """The *sessions*, of *total*, the one talked in last first."""

    sessions: tuple[SessionHead, ...]
    total: int


@dataclass(slots=True)
class _Found:
    days: set[date] = field(default_factory=set)
    waiting: int = 0


@operation("sessions", SessionsRequest, reads=True, owner=True)
def sessions(memory: Visible, request: SessionsRequest) -> SessionsAnswer:
    """Return the sessions that messages name, the one talked in last first."""
    ws, now = memory.ws, memory.caller.clock()
    counted: defaultdict[str, _Found] = defaultdict(_Found)
    for file in ws.memory.dated():
        for session in file.sessions if file.ours else ():
            counted[session].days.add(file.day)
    for message in ws.unfiled.messages(now):
        key = message.raw.get("session")
        session_count = counted[key if isinstance(key, str) else ""]
        session_count.days.add(ws.today(message.created_at or now))
        session_count.waiting += 1
    newest = sorted(counted, key=lambda key: (max(counted[key].days), key), reverse=True)
    heads = (
        SessionHead(
            session=key,
            chat=ws.groups.chat({"session": key}, now).kind,
            first=min(counted[key].days),
            last=max(counted[key].days),
            days=len(counted[key].days),
            waiting=counted[key].waiting,
            summed_up=_summed_up(memory, key),
        )
        for key in newest[: request.limit]
    )
    return SessionsAnswer(sessions=tuple(heads), total=len(counted))


def _summed_up(memory: Visible, session: str) -> datetime | None:
    """Return the time of the newest message of the session that is in a long-term line; None if its file can't be read."""
    with suppress(SupervisorError, OSError):
        marker = memory.ws.session_files.read(session).markers.get("summary")
        return marker.last.at if marker else None
    return None
