"""
The pool on Dramatiq and Redis, as a courier sees it (`pool.Pool`).

The queue in Redis is short: a host offers its share of what the workers can begin in the next seconds, since order and priority
are decided before. What happens at one stroke is in `scripts.py`.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal

from ..pool import scripts
from .engine import message_of
from .limits import Spent, report
from .pool import Answer, PoolAway

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .connection import Broker
    from .pool import Cargo, Sign, Uid

_SIGNS: Final[Mapping[str, Sign]] = {"d": "done", "r": "runs", "w": "waits"}
#: Seconds between two looks at who is there, and how full Redis is.
_LOOK_S: Final = 2.0
#: The most answers at once.
_MOST_ANSWERS: Final = 64


class DramatiqPool:
    """The pool of workers behind *broker*; results come back to *host*, which is alone in calling itself so."""

    def __init__(self, broker: Broker, host: str) -> None:
        self._broker, self._host = broker, host
        self._room, self._looked_s = 0, float("-inf")
        self._seen: dict[str, Spent] = {}
        self._is_fit = False

    def room(self) -> int:
        """Return this host's share of twice the threads that are there; 0 where Redis is nearly full."""
        if time.monotonic() >= self._looked_s + _LOOK_S:
            hosts = self._broker.run(scripts.THERE, "hosts", self._host, 1)
            slots = self._broker.run(scripts.THERE, "slots", "", 0)
            self._room = 0 if self._broker.is_full() else -(-2 * slots // max(1, hosts))
            self._looked_s = time.monotonic()
        return self._room

    def offer(self, cargo: Cargo) -> Literal["new", "known", "done"]:
        """Offer a task."""
        queue = "asked" if cargo.is_asked else "tasks"
        identity, message = message_of(queue, cargo.uid, self._host)
        said: Any = self._broker.run(scripts.OFFER, cargo.uid, self._host, queue, identity, message, cargo.sealed).decode()
        return said  # type: ignore[no-any-return]

    def signs(self, uids: Collection[Uid]) -> Mapping[Uid, Sign]:
        """Return what is known of these tasks."""
        letters = self._broker.run(scripts.SIGNS, *uids).decode() if uids else ""
        return {uid: _SIGNS[letter] for uid, letter in zip(uids, letters, strict=True) if letter in _SIGNS}

    def withdraw(self, uids: Collection[Uid]) -> None:
        """Take back what no worker has begun; who has begun stops."""
        if uids:
            self._broker.run(scripts.WITHDRAW, *uids)

    def take(self) -> Sequence[Answer]:
        """Return the answers that have come; PoolAway where this Redis can't carry a pool."""
        if not self._is_fit:
            for why in self._broker.unfit():
                raise PoolAway(why)
            self._is_fit = True
        found = self._broker.run(scripts.TAKE, self._host, _MOST_ANSWERS)
        return [_answer(uid.decode(), data) for uid, data in zip(found[::2], found[1::2], strict=True)]

    def taken(self, answers: Sequence[Answer]) -> None:
        """Forget these answers."""
        if answers:
            self._broker.run(scripts.TAKEN, self._host, "1", *(answer.uid for answer in answers))

    def come_again(self, uid: Uid) -> None:
        """Have the answer of a task that is done come here, if it is not on its way."""
        self._broker.run(scripts.COME_AGAIN, self._host, uid)

    def leave(self, answers: Sequence[Answer]) -> None:
        """Leave these answers to whoever offers their tasks again."""
        self._broker.run(scripts.TAKEN, self._host, "0", *(answer.uid for answer in answers))

    def report(self, workspace: str, profile: str, spent: int) -> None:
        """Say what was spent today, and the total that was seen last: Redis may have lost it."""
        self._seen[profile] = report(self._broker, profile, workspace, spent, self._seen.get(profile, Spent()))

    def close(self) -> None:
        """Leave room for the other hosts."""
        with suppress(PoolAway):
            self._broker.run(scripts.THERE, "hosts", self._host, 0)


def _answer(uid: Uid, data: bytes) -> Answer:
    return Answer(uid, b"", data[1:].decode("ascii", "replace")) if data[:1] == scripts.REFUSED else Answer(uid, data)
