"""The operation that takes words back, from every place of the workspace: first it shows what it would do, then it does it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Annotated, Final, cast

from ..archive.diary import amounts_of
from ..forgetting.wanted import KINDS, By, Spot, Standing, Wanted, left_alone, refuse_vague, wanted
from ..storage.clock import local_day, to_wire, within
from ..storage.control import author
from ..storage.errors import AlreadyRuns, BadRequest
from ..storage.texts import Text, msgid
from ..text.foreign_text import shortened
from ..workspace import Workspace
from .days import period_in
from .operation import Bounds, Visible, operation

#: Seconds to wait for a running supervisor, which does it in its next round.
_WAIT_S: Final = 30.0
_POLL_S: Final = 0.03
#: What lies outside of a workspace.
_OUTSIDE: Final = (
    msgid(
        "what other messages say of it in other words, such as the answer to it: look with `recalld search`, and forget it, too"
    ),
    msgid("the history of git, if this folder has one: `git filter-repo` takes words out of it"),
    msgid("what the server of a model has kept"),
    msgid(
        "the backups made before: delete them. What is restored from one is cleaned by the list of this workspace, where that is still there"
    ),
    msgid("exports, copies of the folder and of its backups, and logs of the clients that recalld was given"),
    msgid("the free blocks of the disk, until they are written over"),
)


@dataclass(frozen=True, slots=True)
class ToForget:
    """
    One message or line: its *ref* (id or number, and digest), time, speaker, how it begins, and its *day* there.

    A line of the number 0 stands nowhere any more, and is only kept so that `undo` could bring it back.
    """

    ref: str
    at: str
    role: str
    text: str
    day: str = ""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """
    What is meant, place by place, and what lies *outside*; *done* once nothing of it is left anywhere.

    *digest* names what is meant. *waits*: it is written down, and the supervisor has not finished it yet. *left* are a
    person's own files with the same words.
    """

    messages: tuple[ToForget, ...]
    lines: tuple[ToForget, ...]
    files: tuple[str, ...]
    places: tuple[Spot, ...]
    outside: tuple[str, ...]
    digest: str
    left: tuple[str, ...] = ()
    done: bool = False
    waits: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is meant that stands anywhere."""
        return not (self.messages or self.lines or self.files)

    @property
    def counts(self) -> dict[str, int]:
        """How many messages, lines and files are meant."""
        return {"messages": len(self.messages), "lines": len(self.lines), "files": len(self.files)}

    @property
    def amounts(self) -> tuple[Text, ...]:
        """The same in words, without what there is none of."""
        return amounts_of(self.counts)


@operation("forget", owner=True, within_s=600.0)
def forget(
    memory: Visible, by: Annotated[str, Bounds(choices=KINDS)], value: str = "", yes: bool = False, shown: str = ""
) -> Forgotten:
    """
    Show what forgetting would do; with *yes* do it, and finish before it says so.

    *by* is message, line, match, session, day, file or removed, and *value* names it. *shown* is the digest of what was shown:
    anything else is not forgotten.
    """
    from ..forgetting import sweep

    if by == "day":
        period_in("--day", value, "day")
    if by == "match":
        refuse_vague(value)
    ws, now = memory.ws, memory.caller.clock()
    ws.journal.refresh()
    aimed = wanted(ws, cast("By", by), value, now)
    if shown and aimed.digest != shown:
        raise BadRequest(
            "shown", Text("other messages are meant by now than those that were shown, and nothing was forgotten; look again")
        )
    preview = _shown(ws, aimed, value if by == "match" else "", now)
    if not yes or not aimed:
        return preview
    sweep.begin(ws, aimed, now, os.urandom(32), by=author(memory.caller.interface, "forget"))
    is_done = finish(ws, now)
    return replace(preview, done=is_done, waits=not is_done)


def finish(ws: Workspace, now: datetime) -> bool:
    """Go through all places now, or wait until the running supervisor has; return whether nothing is left."""
    from ..host.lock import supervisor_lock
    from ..host.round import forget as forget_now

    try:
        with supervisor_lock(ws), ws.journal.held():
            forget_now(ws, now)
    except AlreadyRuns:
        deadline = within(_WAIT_S)
        while ws.journal.tombstones.unfinished() and not deadline.is_over:
            time.sleep(_POLL_S)
    return not ws.journal.tombstones.unfinished()


def _shown(ws: Workspace, aimed: Wanted, text: str, now: datetime) -> Forgotten:
    from ..forgetting.sweep import preview

    messages = sorted(aimed.messages.values(), key=lambda message: (message.entry.created_at or now, message.entry.key))
    places = preview(ws, aimed, now) if aimed else ()
    return Forgotten(
        messages=tuple(_to_forget(message, ws.zone) for message in messages),
        lines=tuple(ToForget(line.ref, "", "", shortened(line.text)) for line in aimed.lines),
        files=aimed.files,
        places=places,
        outside=tuple(map(Text, _OUTSIDE)) if aimed else (),
        digest=aimed.digest,
        left=left_alone(ws, aimed, text, {name for place in places for name in place.files}),
    )


def _to_forget(message: Standing, zone: tzinfo) -> ToForget:
    entry, at = message.entry, message.entry.created_at
    times = (to_wire(at), local_day(at, zone).isoformat()) if at else ("", "")
    return ToForget(message.ref, times[0], entry.role, shortened(entry.text), times[1])
