"""
Recognise a message: give ids and times where its writer gave none, and find its place and its text again.

A program that strips ids, or gives them to other messages, is matched against the messages seen before, so that one message
never becomes two, nor two become one, whatever was trimmed meanwhile (docs/reference/protocol.md, 2, Identity): by id, else by
time, role and words, else as the n-th of equal ones. What these can't tell is two messages (docs/explanation/durability.md).
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate, count
from typing import Any, Final

from ..protocol.message import Entry, History, Key, Message, fingerprint_of, with_id, with_timestamp
from ..storage.clock import from_wire, to_wire

#: How many equal messages in a row tell where the old history ends in one that a program wrote anew; more where every message
#: that was ever seen is compared.
_LEAST: Final = 2
_SURE: Final = 3
#: At most so many messages are compared for it.
_LOOKED_AT: Final = 200
_BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Known:
    """The messages seen before: their ids, fingerprints and words, and which were in history.json last."""

    by_fingerprint: Mapping[str, Collection[str]] = field(default_factory=dict)  # ids in the order of first sight
    in_history: Collection[Key] = ()  # what history.json held when it was last read, in its order
    times: Mapping[str, str] = field(default_factory=dict)  # id → wire time of first sight, where recalld gave it
    ids: Collection[str] = ()  # in the order of first sight
    holds: Callable[[Key], bool] = lambda _: False  # whether these words were seen under this id

    def is_of_history(self, identity: str) -> bool:
        """Return whether the id was made from a message of history.json; the drop-box makes ids from its files."""
        return is_derived(identity) and identity in self.by_fingerprint.get(identity[2:18], ())


def assign_ids(history: History, known: Known, now: datetime, future: timedelta) -> History:
    """Return the history in which every message has an id and a possible time; the same object when all had."""
    if all(not isinstance(e, Message) or (e.id and _is_possible(e, known, now + future)) for e in history):
        return history
    return tuple(
        _with_time(entry, known, now, future) if isinstance(entry, Message) else entry for entry in _with_ids(history, known)
    )


def continues(old: Message, new: Message) -> bool:
    """
    Return whether *new* is *old* with newer words, and no other message that was given its id.

    True where both have the same time; also where both are an assistant's, the times allow it, and the new words begin with
    the old ones: an answer that grows (docs/reference/protocol.md, 2.6).
    """
    if old.role != new.role:
        return False
    if old.given_at is not None and old.given_at == new.given_at:
        return True
    may_be_one = old.given_at is None or new.given_at is None
    return may_be_one and old.role == "assistant" and bool(old.text) and new.text.startswith(old.text)


def renumbered(history: History, known: Known) -> dict[Key, Key]:
    """
    Return, for each message whose id has changed, the key under which it was seen first.

    It was seen without an id, or an id here was seen with other words: a program that numbers what it holds gives each number
    to many messages. Such a message is known by its time, role and words; without a time by its place.
    """
    messages = [entry for entry in history if isinstance(entry, Message) and entry.id]
    unmet = [message for message in messages if not known.holds(message.key)]
    if not unmet:
        return {}
    timeless = [message for message in messages if message.given_at is None]
    places = _keys_by_place(timeless, known.in_history)
    by_place = {timeless[n].key: key for n, key in places.items()}
    may_have_left = {message.key for message in timeless[: max(places, default=0)]}
    present = {message.key for message in messages}
    taken = present | set(by_place.values())
    are_numbers = any(message.id in known.ids for message in unmet)
    met = _Once(partial(_met_by, known, bool if are_numbers else is_derived), taken)
    first: dict[Key, Key] = {}
    for message in unmet:
        is_reused = message.id in known.ids
        match = by_place.get(message.key) if is_reused else None
        if match and (match in present or not known.holds(match)):
            match = None
        if not match and (message.given_at is not None or (is_reused and message.key in may_have_left)):
            match = met.take(message)
        if match:
            first[message.key] = match
            taken.add(match)
    return first


def add_messages(history: History, messages: Iterable[Message], is_known: Callable[[Key], bool]) -> History:
    """
    Return the history with those of the messages at its end that it lacks and that are not known, each once.

    One that it holds without an id, which a program has stripped, or under an id that recalld gave it, gets its own id there.
    The same object when nothing is added.
    """
    given = {message.key: message for message in messages}
    held = {entry.key for entry in history if isinstance(entry, Message)}
    new = [message for key, message in given.items() if key not in held and not is_known(key)]
    if not new:
        return history
    by_fingerprint: defaultdict[str, list[Key]] = defaultdict(list)
    for message in new:
        for fingerprint in message.fingerprints:
            by_fingerprint[fingerprint].append(message.key)
    taken: set[Key] = set()
    free = _Once(lambda stripped: (key for fingerprint in stripped.fingerprints for key in by_fingerprint[fingerprint]), taken)

    def with_own_id(message: Message) -> Message:
        may_be_new = message.key not in given and (not message.id or is_derived(message.id))
        # equal words without a time are two messages
        key = free.take(message) if may_be_new and message.given_at is not None else None
        if key is None:
            return message
        taken.add(key)
        return with_id(message, key[0])

    entries = [with_own_id(entry) if isinstance(entry, Message) else entry for entry in history]
    return (*entries, *(message for message in new if message.key not in taken))


def reinsert_lost(history: History, lost: Sequence[Message], order: Collection[str]) -> History:
    """
    Return the history with the lost messages, each before the first message that is later.

    *order* holds the known ids; messages of the same moment are in this order, and so is one whose time is recalld's: the clock
    may have been set back since. A lost message is left out when its id is in the history, or when it has no time.
    """
    rank = {identity: n for n, identity in enumerate([*order])}
    ids = {entry.id for entry in history if isinstance(entry, Message)}

    def first_sight(entry: Entry) -> int:
        return rank.get(entry.id, len(rank)) if isinstance(entry, Message) else -1

    missing = [message for message in lost if message.id not in ids and message.created_at]
    timed = [message for message in missing if "createdAtFound" not in message.raw]
    timeless = [message for message in missing if "createdAtFound" in message.raw]
    return inserted(inserted(history, timed, lambda entry: (moment(entry), first_sight(entry))), timeless, first_sight)


def moment(entry: Entry) -> datetime:
    """Return the time of a message, the first there is for any other entry."""
    return (entry.created_at if isinstance(entry, Message) else None) or _BEFORE_ALL


def inserted(history: History, missing: Sequence[Message], measure: Callable[[Entry], Any]) -> History:
    """Return the history with the missing messages, each before the first entry of which the measure is more."""
    missing = sorted(missing, key=measure)
    most = list(accumulate(map(measure, history), max))  # never falls, so that a bisection finds the first that is more
    entries: list[Entry] = []
    done = 0
    for message in missing:
        place = bisect_right(most, measure(message))
        entries += [*history[done:place], message]
        done = place
    return (*entries, *history[done:])


def _is_possible(message: Message, known: Known, latest: datetime) -> bool:
    """Return whether the time is possible; that of a known message was judged at first sight, whatever the clock says today."""
    if message.created_at is None:
        return False
    if message.created_at > latest and (given := _time_given(message, known)):  # a backup may be from before it was assigned
        return to_wire(message.created_at) == given
    return message.id in known.ids or message.created_at <= latest


def _with_time(message: Message, known: Known, now: datetime, future: timedelta) -> Message:
    is_possible = _is_possible(message, known, now + future)
    is_given_anew = is_possible and ("createdAtFound" in message.raw or not _is_seen(message, known, message.fingerprints))
    if (given := _time_given(message, known)) and not is_given_anew:
        return with_timestamp(message, from_wire(given))
    return message if is_possible else with_timestamp(message, now)


def _time_given(message: Message, known: Known) -> str:
    """Return the time that recalld gave to these words, "" for none: other words under the id may be another message."""
    at = known.times.get(message.id, "")
    return at if _is_seen(message, known, [fingerprint_of(at, message.raw.get("role"), message.text)]) else ""


def _is_seen(message: Message, known: Known, fingerprints: Iterable[str]) -> bool:
    return any(message.id in known.by_fingerprint.get(fingerprint, ()) for fingerprint in fingerprints)


def _with_ids(history: History, known: Known) -> History:
    ids = _known_ids(history, known)
    messages = [(n, entry) for n, entry in enumerate(history) if isinstance(entry, Message)]
    used = {(ids.get(n, message.id), message.text_digest) for n, message in messages}
    used_ids = {identity for identity, _ in used}
    placed = [n for n, message in messages if n in ids and message.created_at is None]
    # subtle: a message that another program added may be behind the new ones: it marks the end only if nothing else does
    present = [n for n, message in messages if n in ids or message.key in known.in_history]
    last_known = max(placed or present, default=-1)
    free = _Once(partial(_known_keys, known), used)
    numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))

    def unused(message: Message) -> str:
        """Return an id made of the fingerprint, which no message has or had; that of the n-th of equal ones ends with -n."""
        first = f"m-{message.fingerprint}"
        ids = (first if n == 1 else f"{first}-{n}" for n in numbers[first])
        return next(identity for identity in ids if identity not in used_ids and identity not in known.ids)

    entries = []
    for n, entry in enumerate(history):
        if isinstance(entry, Message) and not entry.id:
            identity = ids.get(n, "")
            # subtle: without a time words are those that left only before the last known message; all after it are new
            if not identity and entry.created_at is None and n < last_known:
                identity = (free.take(entry) or ("",))[0]
            identity = identity or unused(entry)
            used.add((identity, entry.text_digest))
            used_ids.add(identity)
            entry = with_id(entry, identity)  # noqa: PLW2901 - the same entry, with its id
        entries.append(entry)
    return tuple(entries)


def _known_ids(history: History, known: Known) -> dict[int, str]:
    """Return, by position, the known ids of the messages that lack one: by time, role and words, or without a time by place."""
    used = {entry.key for entry in history if isinstance(entry, Message)}
    nameless = [(n, entry) for n, entry in enumerate(history) if isinstance(entry, Message) and not entry.id]
    free = _Once(partial(_known_keys, known), used)
    ids: dict[int, str] = {}
    for n, message in nameless:
        key = free.take(message) if message.created_at else None
        if key:
            ids[n] = key[0]
            used.add(key)
    timeless = [(n, message) for n, message in nameless if not message.created_at]
    if not timeless:
        return ids
    before = [key for key in known.in_history if key not in used]
    places = _keys_by_place([message for _, message in timeless], before, known.is_of_history)
    if places:
        return ids | {timeless[n][0]: key[0] for n, key in places.items()}
    # the journal was deleted, or another program's messages were there last: all that was ever seen, in its order
    seen = [*filter(known.is_of_history, [*known.ids])]
    words = [message.fingerprint for _, message in timeless]
    met = same_places([identity[2:18] for identity in seen], words, least=_SURE)
    return ids | {timeless[place][0]: seen[here] for place, here in met.items()}


def _keys_by_place(
    messages: Sequence[Message], before: Iterable[Key], is_own: Callable[[str], bool] = lambda _: False
) -> dict[int, Key]:
    """Return, by position, the keys that they had in history.json *before*; *is_own* is true of their writer's ids."""
    before = list(before)
    matched: dict[int, Key] = {}
    # a prompt may be another each turn, and says nothing of the place of what follows it
    for is_prompt in (False, True):
        numbers = [n for n, message in enumerate(messages) if (message.role == "system") is is_prompt]
        words = [messages[n].text_digest for n in numbers]
        # what another program had added among them, and their writer does not have, says nothing of their order
        present = set(words)
        keys = [key for key in before if key[1] in present or (is_own(key[0]) and not is_prompt)]
        places = same_places([digest for _, digest in keys], words)
        matched |= {numbers[n]: keys[place] for n, place in places.items()}
    return matched


def same_places(before: Sequence[str], after: Sequence[str], least: int = _LEAST) -> dict[int, int]:
    """
    Return, for positions of *after*, the position in *before* of the same thing; what is missing there is new.

    *after* is *before* as a program wrote it back: the oldest may have left, others have come, most of them at the end. The
    newest thing of *before* that *after* has with *least* equal neighbours says where it goes on: all behind it is new. What is
    ahead of these is the same as the n-th of equal things, counted from there. With fewer neighbours it may be another
    conversation: then all is new, unless *after* begins with the end of *before*, or as it began.

    >>> same_places(["go on", "one", "go on", "two"], ["go on", "two", "go on", "three"])
    {1: 3, 0: 2}
    """
    where: defaultdict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(after):
        where[word].append(place)
    newest = len(before) - 1
    for here in range(newest, max(-1, newest - _LOOKED_AT), -1):
        runs = []
        for place in where.get(before[here], ()):
            length = _equal_neighbours(before, here, after, place)
            begins = length == place + 1 and (here == newest or (here == place and before.count(before[here]) == 1))
            if length >= least or begins:
                runs.append((length, -abs(place - here), place))
        if runs:
            length, _, place = max(runs)
            return _counted_back(before, here, after, place, length)
    return {}


def _equal_neighbours(before: Sequence[str], here: int, after: Sequence[str], place: int) -> int:
    """Return how many things are equal, these two and those before them, up to a number."""
    most = min(here, place, _LOOKED_AT) + 1
    return next((n for n in range(most) if before[here - n] != after[place - n]), most)


def _counted_back(before: Sequence[str], before_end: int, after: Sequence[str], after_end: int, length: int) -> dict[int, int]:
    places = {after_end - n: before_end - n for n in range(length)}
    left: defaultdict[str, list[int]] = defaultdict(list)
    for place in range(before_end - length + 1):
        left[before[place]].append(place)
    for n in range(after_end - length, -1, -1):
        if left[after[n]]:
            places[n] = left[after[n]].pop()
    return places


def is_derived(identity: str) -> bool:
    """Return whether the id was given by recalld, to a message without one."""
    return identity.startswith("m-")


class _Once:
    """
    The keys by which messages may be known, each taken once; *taken*, which only grows, has those that are not free.

    *keys* are asked for once for all messages with the same fingerprints: ten thousand equal messages take linear time.
    """

    def __init__(self, keys: Callable[[Message], Iterable[Key]], taken: Collection[Key]) -> None:
        self._keys, self._taken = keys, taken
        self._left: dict[tuple[str, ...], Iterator[Key]] = {}

    def take(self, message: Message) -> Key | None:
        """Return the first key of the message that is free, None for none."""
        fingerprints = message.fingerprints
        if fingerprints not in self._left:
            self._left[fingerprints] = iter(self._keys(message))
        return next((key for key in self._left[fingerprints] if key not in self._taken), None)


def _keys(known: Known, message: Message) -> Iterator[Key]:
    """Yield the keys of its fingerprints with its words, in the order of first sight."""
    ids = (identity for fingerprint in message.fingerprints for identity in known.by_fingerprint.get(fingerprint, ()))
    return ((identity, message.text_digest) for identity in dict.fromkeys(ids))


def _known_keys(known: Known, message: Message) -> list[Key]:
    """Return these keys, first those that were in history.json last."""
    return sorted(_keys(known, message), key=lambda key: key not in known.in_history)


def _met_by(known: Known, is_wanted: Callable[[str], bool], message: Message) -> Iterator[Key]:
    """Yield those of these keys by which the words were seen."""
    return (key for key in _keys(known, message) if is_wanted(key[0]) and known.holds(key))
