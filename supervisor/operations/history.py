"""The operations on the history: append messages, and read the recent ones of a session."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..storage.errors import BadRequest
from ..storage.lenient_json import parse_json, render_json
from ..storage.texts import Text
from ..text.record import record
from .operation import Request, Visible, operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..storage.clock import Clock
    from ..workspace import Workspace


@record(kw_only=True)
class AppendRequest(Request):
    """
    Messages in their order: role, text, and the other fields of protocol.md, 2.1.

    *entropy* is ten random bytes for each message, from which its id is made: a client that repeats a request sends the same
    bytes. With *as_found* the messages are taken as another program wrote them: with its own roles, and with the time of their
    arrival if theirs can't be read.
    """

    messages: Sequence[dict[str, Any]]
    entropy: bytes = b""
    as_found: bool = False


@record(kw_only=True)
class HistoryRequest(Request):
    """The *session* whose history is asked for; "" is the session of the messages that name none."""

    session: str = ""


@operation("append", AppendRequest, owner=True)
def append(memory: Visible, request: AppendRequest) -> list[str]:
    """
    Add the messages, durably, and return their ids.

    BadRequest, and none is added, if one is no message, has an unknown role, or has a createdAt that can't be read.
    """
    return _append(memory.ws, request, memory.caller.clock)


@operation("recent", HistoryRequest, reads=True, owner=True)
def recent(memory: Visible, request: HistoryRequest) -> list[dict[str, Any]]:
    """Return the last `conversation.max_history` messages as {role, content}, without those of tools."""
    return memory.ws.session_lines.history(request.session, memory.caller.clock())


def adder(ws: Workspace, clock: Clock) -> Callable[[Mapping[str, Any] | Sequence[Mapping[str, Any]]], object]:
    """Return the function that adds a message of a conversation, or some in one write, to the workspace."""
    return lambda raw: _append(ws, AppendRequest(messages=as_messages(raw)), clock)


def _append(ws: Workspace, request: AppendRequest, clock: Clock) -> list[str]:
    from ..archive.append import append as append_messages
    from ..archive.append import refuse_odd

    raws, now = [*request.messages], clock()
    if not request.as_found:
        refuse_odd(raws, ws.zone, now + ws.config.archive.future_limit)
    ws.files.make_folder(ws.paths.state)
    return append_messages(
        raws,
        now,
        request.entropy or os.urandom(10 * len(raws)),
        history=ws.history,
        journal=ws.journal,
        drop_box=ws.drop_box,
        settings=ws.config.archive,
        events=ws.events,
        mark=ws.mark,
    )


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
