"""
What a client's event does to a workspace: memory for a question, messages to keep, the block of a session that begins.

A supervisor runs it for the hook that asks at its socket (`serve.py`), the hook itself where none answers. Each step may fail
alone: the client gets what there is, and the log one event.
"""

import contextlib
from collections.abc import Iterator, Mapping
from datetime import UTC, timedelta
from typing import Any, Final

from ...context.render import framed
from ...operations.operation import Caller, perform
from ...storage.clock import Clock, read_instant, to_wire
from ...storage.errors import as_supervisor_error
from ...workspace import Workspace
from ..connect.clients import Event, OddEvent, fits, messages_of, read_event, written
from . import MAX_EVENT

#: The tokens of a block, the next where the client does not take the one before it whole.
_BUDGETS: Final = (2_000, 1_400, 800)
#: How many of the newest messages of the session the client shows itself.
_SHOWN: Final = 20
#: The time of a hook counts unless its clock is so far ahead of this one.
_AHEAD: Final = timedelta(minutes=1)
#: A part of a question that is searched for at most; a prompt may be a pasted file.
_MOST_CHARS: Final = 20_000


def answer(ws: Workspace, request: Mapping[str, Any], clock: Clock, *, keep_fresh: bool) -> str:
    """
    Keep what was said, and return what the client should read, "" for nothing.

    *request* is {client, event, at, size, project, worktree}; the hook that gives up keeps its words under the same time. They
    are on disk before memory is searched.
    """
    folder = "project" if ws.config.recall.worktrees == "together" else "worktree"
    client, project = (value if isinstance(value := request.get(name), str) else "" for name in ("client", folder))
    try:
        event = read_event(client, request.get("event"))
    except OddEvent as odd:
        size = request.get("size")
        why = f"it is larger than {MAX_EVENT >> 20} MiB" if isinstance(size, int) and size > MAX_EVENT else str(odd)
        ws.events.emit("hook_failed", client=client[:40], why=why, bytes=size)
        return ""
    faults: list[str] = []
    text = ""
    now, at = clock(), read_instant(request.get("at"), UTC)
    now = at if at and at <= now + _AHEAD else now
    if messages := messages_of(event, client, project, to_wire(now)):
        from ...operations.history import append

        with _alone(faults, "keeping what was said", ws):
            perform(append, ws, {"messages": messages}, Caller(clock=clock))
    with _alone(faults, "the block", ws):
        text = written(event, _block(ws, event, client, project, clock, keep_fresh=keep_fresh))
    if faults:
        ws.events.emit("hook_failed", client=client, why="; ".join(faults))
    return text


@contextlib.contextmanager
def _alone(faults: list[str], step: str, ws: Workspace) -> Iterator[None]:
    """Let the step fail alone; its error is one of the *faults*."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the client goes on, and the event says it
        faults.append(as_supervisor_error(error, step, ws.paths.root).sentence)


def _block(ws: Workspace, event: Event, client: str, project: str, clock: Clock, *, keep_fresh: bool) -> str:
    who = Caller(session=event.session, chat="direct", interface="socket", clock=clock, keep_fresh=keep_fresh)
    if event.kind == "start":
        from ...operations.assistant import STARTS, opening

        start = event.start if event.start in STARTS else "startup"
        begun = {"project": project, "session": event.session, "start": start, "tokens": _BUDGETS[0]}
        block = framed(perform(opening, ws, begun, who).text)
        return block if fits(client, block) else ""
    if not event.question:
        return ""
    from ...operations.recall import inject

    question = {"question": event.question[:_MOST_CHARS], "shows": _SHOWN, "project": project, "client": client}
    for tokens in _BUDGETS:
        block = framed(perform(inject, ws, {**question, "tokens": tokens}, who).memory)
        if fits(client, block):
            return block
    return ""
