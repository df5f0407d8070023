"""Where messages that another program lost go back to in history.json (docs/protocol.md, 5.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.protocol.message import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from supervisor.protocol.message import Entry, History


def put_back(history: History, lost: Sequence[Message], met: Collection[str]) -> History:
    """
    Return the history with the lost messages, each before the first that is later; of one moment, in the order of *met*, ids.

    A message whose id is there, and one without a time, is left out.
    """
    order = {identity: n for n, identity in enumerate(met)}
    found: list[Entry] = list(history)
    ids = {entry.id for entry in history if isinstance(entry, Message)}

    def moment(message: Message, at: datetime) -> tuple[datetime, int]:
        return at, order.get(message.id, len(order))

    def is_later(entry: Entry, than: tuple[datetime, int]) -> bool:
        return isinstance(entry, Message) and entry.created_at is not None and moment(entry, entry.created_at) > than

    for message in lost:
        if message.id in ids or message.created_at is None:
            continue
        here = moment(message, message.created_at)
        found.insert(next((n for n, entry in enumerate(found) if is_later(entry, here)), len(found)), message)
    return tuple(found)
