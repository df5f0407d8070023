"""
The context of the input that waits, ready in turns/ before the assistant asks for it (docs/protocol.md, 7).

inbox.json is the assistant's: it is read, and nothing else. Its newest open input names the turn. A context is made once for
each version of the inbox; what goes wrong costs this context, and an event tells of it.
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from supervisor.context.build import context
from supervisor.context.receipts import ReceiptStore
from supervisor.context.request import resolve_input
from supervisor.protocol.errors import BadFile, SupervisorError, as_ours
from supervisor.protocol.inbox import parse_inbox
from supervisor.protocol.turn import ready_id

if TYPE_CHECKING:
    from supervisor.protocol.clock import Clock
    from supervisor.protocol.disk import Stat
    from supervisor.protocol.files import FileVersion
    from supervisor.protocol.message import History
    from supervisor.workspace import Workspace

_A_SECOND: Final = 1e9  # in nanoseconds


class Ready:
    """Keeps a context ready in the workspace *ws*; it remembers which inbox it has last dealt with."""

    def __init__(self, ws: Workspace, clock: Clock) -> None:
        self._ws = ws
        self._clock = clock
        self._store = ReceiptStore(ws.files, ws.paths)
        self._stat: Stat | None = None
        self._digest = ""
        self._broken: tuple[Stat, float] | None = None

    def look(self) -> str | None:
        """Write the context of what waits, where inbox.json is another than at the last look; the id of the turn it made."""
        if self._ws.config.turns.reply != "off":
            return None
        stat = self._ws.files.disk.stat(self._ws.paths.inbox)
        if stat is None or stat == self._stat:
            return None
        found, why = None, ""
        try:
            found = self._make()
        except (SupervisorError, OSError) as error:
            why = str(as_ours(error, "ready context", self._ws.paths.inbox))
        self._ws.events.transition("degraded", bool(why), cleared="recovered", why=why)
        return found

    def _make(self) -> str | None:
        look = self._ws.files.read_stable(self._ws.paths.inbox)
        if look is None:
            return None
        try:
            inputs = parse_inbox(look.data, self._ws.zone)
        except ValueError as error:
            self._tell_broken(look, str(error))
            return None
        self._ws.events.transition("inbox_invalid", "")
        asked = resolve_input(None, inputs, self._history())
        made = None
        if asked.inputs and look.digest != self._digest:
            now = self._clock()
            written = datetime.fromtimestamp(look.stat.mtime_ns / _A_SECOND, UTC)
            turn = ready_id(asked.inputs[-1], written, now + self._ws.config.archive.future_limit)
            if self._store.inbox_of(turn) != look.digest:
                whole = context(self._ws, asked, now, self._ws.searcher.search(asked.question, now, asked.before))
                self._store.put(replace(whole.receipt, id=turn, inbox=look.digest))
                made = turn
        self._stat, self._digest = look.stat, look.digest
        return made

    def _history(self) -> History:
        """Return the talk so far, none where it can't be read: the supervisor's round tells of that."""
        try:
            return self._ws.history.read()
        except BadFile:
            return ()

    def _tell_broken(self, look: FileVersion, why: str) -> None:
        """Tell of an inbox that can't be read once nobody has written to it for a poll: it may be in the middle of a write."""
        if self._broken is None or self._broken[0] != look.stat:
            self._broken = (look.stat, time.monotonic())
        if time.monotonic() - self._broken[1] >= self._ws.config.care.poll.total_seconds():
            self._ws.events.transition("inbox_invalid", look.digest, why=str(BadFile(self._ws.paths.inbox, why)))
