"""
Recognise a message: give ids and times where its writer gave none, and find its place and its text again.

A program that strips ids is matched against the messages seen before, so that one message never becomes two, whatever was
trimmed meanwhile (docs/reference/protocol.md, 2, Identity). The same rules find a message in a note that another program wrote
(protocol.md, 1, Adoption), and the place of a message that another program lost (docs/reference/protocol.md, 5.5).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from supervisor.protocol.clock import from_wire, to_wire
from supervisor.protocol.message import History, Message, with_id, with_timestamp

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from supervisor.protocol.message import Entry

FUTURE: Final = timedelta(days=1)  # a time further ahead than this is impossible
#: What other programs write before a message on its line: a list mark, a time, the speaker.
_LABEL: Final = re.compile(
    r"[-*+>\s]*(?:\[?[\d:T.\-\sZ]{4,24}\]?\s*)?[*_]{0,2}(?:\w[\w -]{0,30}[*_]{0,2}\s*[:：][*_]{0,2})?\s*"
)
_BEFORE_ALL: Final = (datetime.min.replace(tzinfo=UTC), -1)


@dataclass(frozen=True, slots=True)
class Known:
    """The messages seen before: their ids and fingerprints, which were in history.json last, and times given by recalld."""

    by_fingerprint: Mapping[str, Sequence[str]] = field(default_factory=dict)  # ids in the order of first sight
    in_history: Collection[str] = ()  # ids that history.json held when it was last read, in its order
    times: Mapping[str, str] = field(default_factory=dict)  # id → wire time of first sight, where recalld gave it
    ids: Collection[str] = ()  # in the order of first sight


def assign_ids(history: History, known: Known, now: datetime, future: timedelta = FUTURE) -> History:
    """Return the history in which every message has an id and a possible time; the same object when all had."""
    if all(not isinstance(e, Message) or (e.id and _is_possible(e, known, now + future)) for e in history):
        return history
    return tuple(
        _with_time(entry, known, now, future) if isinstance(entry, Message) else entry for entry in _with_ids(history, known)
    )


def contains_message(text: str, note: str) -> bool:
    """
    Tell whether the note contains the text of a message whole: as paragraphs, or as a line after a label.

    >>> contains_message("对花生过敏", "- 09:02 user: 对花生过敏"), contains_message("花生", "- 09:02 user: 对花生过敏")
    (True, False)
    """
    text = text.strip().replace("\r\n", "\n")
    if not text:
        return False
    place = note.find(text)
    while place >= 0:
        before = note[note.rfind("\n", 0, place) + 1 : place]
        after = note[place + len(text) :]
        begins_line = not before.strip() or bool(_LABEL.fullmatch(before))
        if begins_line and (not after or after.lstrip(" \t\r").startswith("\n") or not after.strip()):
            return True
        place = note.find(text, place + 1)
    return False


def reinsert_lost(history: History, lost: Sequence[Message], order: Collection[str]) -> History:
    """
    Return the history with the lost messages, each before the first message that is later.

    *order* holds the known ids; messages of the same moment are in this order. A lost message is left out when its id is in
    the history, or when it has no time.
    """
    rank = {identity: n for n, identity in enumerate(order)}
    ids = {entry.id for entry in history if isinstance(entry, Message)}

    def moment(entry: Entry) -> tuple[datetime, int]:
        if not isinstance(entry, Message) or entry.created_at is None:
            return _BEFORE_ALL
        return entry.created_at, rank.get(entry.id, len(rank))

    missing = sorted((message for message in lost if message.id not in ids and message.created_at), key=moment)
    latest = list(accumulate(map(moment, history), max))  # never falls, so that a bisection finds the first later entry
    entries: list[Entry] = []
    done = 0
    for message in missing:
        place = bisect_right(latest, moment(message))
        entries += [*history[done:place], message]
        done = place
    return (*entries, *history[done:])


def _is_possible(message: Message, known: Known, latest: datetime) -> bool:
    """Tell whether the time is possible; that of a known message was judged at first sight, whatever the clock says today."""
    if message.created_at is None:
        return False
    if message.created_at > latest and message.id in known.times:  # a backup may be from before its time was assigned
        return to_wire(message.created_at) == known.times[message.id]
    return message.id in known.ids or message.created_at <= latest


def _with_time(message: Message, known: Known, now: datetime, future: timedelta) -> Message:
    is_possible = _is_possible(message, known, now + future)
    if message.id in known.times and ("createdAtFound" not in message.raw or not is_possible):
        return with_timestamp(message, from_wire(known.times[message.id]))
    return message if is_possible else with_timestamp(message, now)


def _with_ids(history: History, known: Known) -> History:
    used = {entry.id for entry in history if isinstance(entry, Message)}
    by_place = _ids_by_place(history, known)
    used |= set(by_place.values())
    last_known = max(by_place) if by_place else _last_known(history, known, used)
    entries = []
    for n, entry in enumerate(history):
        if n in by_place and isinstance(entry, Message):
            entry = with_id(entry, by_place[n])  # noqa: PLW2901 - the same entry, with its id
        elif isinstance(entry, Message) and not entry.id:
            # subtle: a message without a time can only be matched by its place; all after the last known one are new
            may_have_left = entry.created_at is not None or n < last_known
            identity = _known_id(entry, known, used, may_have_left=may_have_left) or _new_id(entry.fingerprint, known, used)
            used.add(identity)
            entry = with_id(entry, identity)  # noqa: PLW2901 - the same entry, with its id
        entries.append(entry)
    return tuple(entries)


def _ids_by_place(history: History, known: Known) -> dict[int, str]:
    """
    Return ids for messages without id and time, by position, when they begin with a sequence that was seen before.

    This is what history.json held last (its writer reads back what is left), or all that was ever seen (its writer has a list
    of its own). Where both fit the first counts: a message is rather doubled than lost. Empty when neither fits.
    """
    bare = [(n, e) for n, e in enumerate(history) if isinstance(e, Message) and not e.id and e.created_at is None]
    if not bare:
        return {}
    fingerprints: defaultdict[str, set[str]] = defaultdict(set)
    for fingerprint, ids in known.by_fingerprint.items():
        for identity in ids:
            fingerprints[identity].add(fingerprint)
    for seen in (known.in_history, known.ids):
        sequence = [identity for identity in seen if identity.startswith("m-")]
        pairs = list(zip(bare, sequence, strict=False))
        if len(pairs) == len(sequence) and all(
            message.fingerprint in fingerprints[identity] for (_, message), identity in pairs
        ):
            return {n: identity for (n, _), identity in pairs}
    return {}


def _last_known(history: History, known: Known, used: Collection[str]) -> int:
    """Return the position of the last message that history.json held when it was last read; -1 when there is none."""
    taken = set(used)
    last = -1
    for n, entry in enumerate(history):
        if not isinstance(entry, Message):
            continue
        identity = entry.id or _known_id(entry, known, taken, may_have_left=False)
        if identity in known.in_history:
            last = n
            taken.add(identity)
    return last


def _known_id(message: Message, known: Known, used: Collection[str], *, may_have_left: bool) -> str:
    """Return the free id of the same fingerprint, first one that was in history.json last, then one that left; "" for none."""
    free = [identity for identity in known.by_fingerprint.get(message.fingerprint, ()) if identity not in used]
    in_history = [identity for identity in free if identity in known.in_history]
    return next(iter(in_history or (free if may_have_left else ())), "")


def _new_id(fingerprint: str, known: Known, used: Collection[str]) -> str:
    identity, n = f"m-{fingerprint}", 1
    while identity in used or identity in known.ids:
        n += 1
        identity = f"m-{fingerprint}-{n}"
    return identity
