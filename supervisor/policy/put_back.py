"""Where messages that another program lost go back to in history.json (docs/protocol.md, 5.5)."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from supervisor.protocol.message import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from supervisor.protocol.message import Entry, History

_BEFORE_ALL: Final = (datetime.min.replace(tzinfo=UTC), -1)


def put_back(history: History, lost: Sequence[Message], met: Collection[str]) -> History:
    """
    Return the history with the lost messages, each before the first that is later; of one moment, in the order of *met*, ids.

    A message whose id is there, and one without a time, is left out.
    """
    order = {identity: n for n, identity in enumerate(met)}
    ids = {entry.id for entry in history if isinstance(entry, Message)}

    def moment(entry: Entry) -> tuple[datetime, int]:
        if not isinstance(entry, Message) or entry.created_at is None:
            return _BEFORE_ALL
        return entry.created_at, order.get(entry.id, len(order))

    missing = sorted((one for one in lost if one.id not in ids and one.created_at), key=moment)
    latest = list(accumulate(map(moment, history), max))  # it grows: where it is first later, the entry itself is
    found: list[Entry] = []
    done = 0
    for one in missing:
        place = bisect_right(latest, moment(one))
        found += [*history[done:place], one]
        done = place
    return (*found, *history[done:])
