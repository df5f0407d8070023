"""The line that `systemctl status` shows of a workspace; made at the end of a round, and repeated until the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..archive.intake import unwritten
from ..protocol.quiet_hours import quiet_until
from ..storage.clock import local
from ..storage.errors import BadFile
from ..text.record import record
from .due import midnight, next_retry
from .last_night import read_last_fsck

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta
    from typing import Self

    from ..workspace import Workspace


@record
class StatusLine:
    """
    The first of the *troubles*, then "3 pending · last archive 12 min ago · 0 lost · next roll-up 03:00".

    *pending* is None if history.json can't be read. *lost* is the count of the last fsck. The next roll-up is when the next
    retry is due or the next day begins, but after the quiet hours.
    """

    troubles: tuple[str, ...]
    pending: int | None
    archived_at: datetime | None
    lost: int | None
    roll_up: datetime

    @classmethod
    def of(cls, ws: Workspace, now: datetime, troubles: Sequence[str] = ()) -> Self:
        """Return the line of the workspace at *now*."""
        made = [file.created for file in ws.memory.dated() if file.created]
        last = read_last_fsck(ws)
        roll_up = min(filter(None, (midnight(ws, now), next_retry(ws, now))))
        return cls(
            troubles=tuple(troubles[:1]),
            pending=_pending(ws),
            archived_at=max(made, default=None),
            lost=last.lost if last else None,
            roll_up=local(quiet_until(ws.config.care.quiet_hours, roll_up, ws.zone) or roll_up, ws.zone),
        )

    def at(self, now: datetime) -> str:
        """Return the text of the line, with its ages as of *now*."""
        parts = [
            *self.troubles,
            f"{self.pending} pending" if self.pending is not None else "history.json can't be read",
            f"last archive {_age(now - self.archived_at)} ago" if self.archived_at else "nothing archived yet",
            f"{self.lost} lost" if self.lost is not None else "not checked yet",
            f"next roll-up {self.roll_up:%H:%M}",
        ]
        return " · ".join(parts)


def _pending(ws: Workspace) -> int | None:
    try:
        return len(unwritten(ws.history.read(), ws.journal))
    except BadFile:
        return None


def _age(span: timedelta) -> str:
    """
    Return about how long that is.

    >>> from datetime import timedelta
    >>> _age(timedelta(minutes=12, seconds=50)), _age(timedelta(hours=30)), _age(timedelta(days=9)), _age(timedelta(seconds=-3))
    ('12 min', '30 h', '9 days', '0 min')
    """
    minutes = max(0, int(span.total_seconds() // 60))
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} days"
