"""
Who a message is when its writer does not say: ids, and times where there are none (docs/protocol.md, 2, Identity).

A writer that strips ids is matched against what was seen before anything is counted, so that the same words never become
a second message, whatever has been trimmed meanwhile.

Whether words stand in a file that another program kept (docs/protocol.md, 1, Adoption).

Where messages that another program lost go back to in history.json (docs/protocol.md, 5.5).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from supervisor.protocol.clock import from_wire
from supervisor.protocol.message import History, Message, with_id, with_timestamp

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from supervisor.protocol.message import Entry

FUTURE: Final = timedelta(days=1)  # a time further ahead than this is impossible


@dataclass(frozen=True, slots=True)
class Known:
    """What was seen before: ids by base in the order of first sight, those in history at the last look, given times."""

    by_base: Mapping[str, Sequence[str]] = field(default_factory=dict)
    here: Collection[str] = ()  # in the order of the history
    times: Mapping[str, str] = field(default_factory=dict)  # id → wire time of first sight, where recalld gave it
    ids: Collection[str] = ()  # in the order of first sight


def assign_ids(history: History, known: Known, now: datetime, future: timedelta = FUTURE) -> History:
    """Return the history in which every message has an id and a possible time; the same object when all had."""
    if all(not isinstance(e, Message) or (e.id and _possible(e, known, now + future)) for e in history):
        return history
    return tuple(
        _timed(entry, known, now, future) if isinstance(entry, Message) else entry for entry in _with_ids(history, known)
    )


def _possible(message: Message, known: Known, latest: datetime) -> bool:
    """Tell whether the time can be; that of a message seen before was judged then, whatever the clock says today."""
    return message.created_at is not None and (message.id in known.ids or message.created_at <= latest)


def _timed(message: Message, known: Known, now: datetime, future: timedelta) -> Message:
    if message.id in known.times and "createdAtFound" not in message.raw:
        return with_timestamp(message, from_wire(known.times[message.id]))
    return message if _possible(message, known, now + future) else with_timestamp(message, now)


def _with_ids(history: History, known: Known) -> History:
    used = {entry.id for entry in history if isinstance(entry, Message)}
    placed = _placed(history, known)
    used |= set(placed.values())
    last_known = max(placed) if placed else _last_known(history, known, used)
    found = []
    for n, entry in enumerate(history):
        if n in placed and isinstance(entry, Message):
            entry = with_id(entry, placed[n])  # noqa: PLW2901 - the same entry, with its name
        elif isinstance(entry, Message) and not entry.id:
            # subtle: words without a time can only be matched by their place, behind the last known all is new
            may_have_left = entry.created_at is not None or n < last_known
            identity = _known_id(entry, known, used, may_have_left=may_have_left) or _new_id(entry.base, known, used)
            used.add(identity)
            entry = with_id(entry, identity)  # noqa: PLW2901 - the same entry, with its name
        found.append(entry)
    return tuple(found)


def _placed(history: History, known: Known) -> dict[int, str]:
    """
    Return the ids of words without id and time by their place, where the array begins with a sequence seen before.

    That is what stood here at the last look (its writer reads back what is left), or all that was ever seen (it holds a list
    of its own). Where both fit the first is taken: words are rather doubled than lost. Empty where neither does.
    """
    places = [n for n, e in enumerate(history) if isinstance(e, Message) and not e.id and e.created_at is None]
    if not places:
        return {}
    bases: defaultdict[str, set[str]] = defaultdict(set)
    for base, ids in known.by_base.items():
        for identity in ids:
            bases[identity].add(base)
    for seen in (known.here, known.ids):
        sequence = [identity for identity in seen if identity.startswith("m-")]
        pairs = list(zip(places, sequence, strict=False))
        if len(pairs) == len(sequence) and all(_message(history, n).base in bases[identity] for n, identity in pairs):
            return dict(pairs)
    return {}


def _message(history: History, n: int) -> Message:
    entry = history[n]
    if not isinstance(entry, Message):
        raise TypeError("not a message")
    return entry


def _last_known(history: History, known: Known, used: Collection[str]) -> int:
    """Return the position of the last message that was in history at the last look; -1 when there is none."""
    spent = set(used)
    last = -1
    for n, entry in enumerate(history):
        if not isinstance(entry, Message):
            continue
        identity = entry.id or _known_id(entry, known, spent, may_have_left=False)
        if identity in known.here:
            last = n
            spent.add(identity)
    return last


def _known_id(message: Message, known: Known, used: Collection[str], *, may_have_left: bool) -> str:
    """Return the id these words were seen under: first one that was in history at the last look, then one that left."""
    free = [identity for identity in known.by_base.get(message.base, ()) if identity not in used]
    here = [identity for identity in free if identity in known.here]
    return next(iter(here or (free if may_have_left else ())), "")


def _new_id(base: str, known: Known, used: Collection[str]) -> str:
    identity, n = f"m-{base}", 1
    while identity in used or identity in known.ids:
        n += 1
        identity = f"m-{base}-{n}"
    return identity


#: What other programs put before a message on its line: a list mark, a time, who said it.
_LABEL: Final = re.compile(
    r"[-*+>\s]*(?:\[?[\d:T.\-\sZ]{4,24}\]?\s*)?[*_]{0,2}(?:\w[\w -]{0,30}[*_]{0,2}\s*[:：][*_]{0,2})?\s*"
)


def contains_message(words: str, text: str) -> bool:
    """
    Tell whether the words stand whole in the text: as paragraphs, or as a line behind a label.

    >>> contains_message("对花生过敏", "- 09:02 user: 对花生过敏"), contains_message("花生", "- 09:02 user: 对花生过敏")
    (True, False)
    """
    words = words.strip().replace("\r\n", "\n")
    if not words:
        return False
    place = text.find(words)
    while place >= 0:
        before = text[text.rfind("\n", 0, place) + 1 : place]
        after = text[place + len(words) :]
        whole_before = not before.strip() or bool(_LABEL.fullmatch(before))
        if whole_before and (not after or after.lstrip(" \t\r").startswith("\n") or not after.strip()):
            return True
        place = text.find(words, place + 1)
    return False


_BEFORE_ALL: Final = (datetime.min.replace(tzinfo=UTC), -1)


def reinsert_lost(history: History, lost: Sequence[Message], met: Collection[str]) -> History:
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
