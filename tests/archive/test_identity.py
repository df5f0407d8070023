"""The id and the time of a message whose writer gave none, and the place of one that was lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.archive.identity import Known, assign_ids, reinsert_lost, same_places
from recalld.supervisor.protocol.message import Entry, History, Message, fingerprint_of
from recalld.supervisor.storage.clock import to_wire
from tests.archive.states import HISTORIES, NOON, entry, parsed_message
from tests.world import parsed

DAY = timedelta(days=1)
TIME = to_wire(NOON)


def said(text: str, **fields: Any) -> Any:
    return entry({"role": "user", "text": text, **fields})


def ids(history: History) -> list[str]:
    return [one.id for one in history if isinstance(one, Message)]


def known_of(history: History, here: History | None = None) -> Known:
    """What a journal knows after it has met *history*, of which *here* is still there."""
    by_base: defaultdict[str, list[str]] = defaultdict(list)
    times = {}
    for one in history:
        if isinstance(one, Message):
            for base in one.fingerprints:
                if one.id not in by_base[base]:
                    by_base[base].append(one.id)
            if "createdAtFound" in one.raw:
                times[one.id] = str(one.raw["createdAt"])
    keys = {one.key for one in history if isinstance(one, Message)}
    last = [one.key for one in (history if here is None else here) if isinstance(one, Message)]
    return Known(by_base, last, times, ids(history), keys.__contains__)


# ── the first look ───────────────────────────────────────────────────────────


def test_assign_ids_numbers_equal_messages():
    base = f"m-{fingerprint_of(TIME, 'user', '好的')}"
    history = tuple(said("好的", createdAt=TIME) for _ in range(3))
    assert ids(assign_ids(history, Known(), NOON, DAY)) == [base, f"{base}-2", f"{base}-3"]


# ── a writer that strips ids ─────────────────────────────────────────────────


def bare(one: Entry, drop: Collection[str]) -> Entry:
    return entry({k: v for k, v in one.raw.items() if k not in drop}) if isinstance(one, Message) else one


def stripped(history: History, *also: str) -> History:
    """The same array, written by a program that knows neither our ids nor our fields."""
    return tuple(bare(one, {"id", "createdAtFound", "archived", *also}) for one in history)


# ── always ───────────────────────────────────────────────────────────────────

DROPS = st.sampled_from([(), ("id",), ("id", "createdAt"), ("createdAt",)])
STRIPPED = HISTORIES.flatmap(lambda history: st.tuples(*(DROPS.map(partial(bare, one)) for one in history)))


@given(STRIPPED)
def test_assign_ids_gives_each_message_a_unique_id_and_a_valid_time(history):
    met = assign_ids(history, Known(), NOON + timedelta(days=60), DAY)
    given_ids = [one.id for one in history if isinstance(one, Message)]
    for before, after in zip(history, met, strict=True):
        if not isinstance(before, Message):
            assert after is before
            continue
        assert isinstance(after, Message)
        assert after.id
        assert after.created_at is not None
        assert after.text == before.text
        assert before.id in {"", after.id}
        if not before.id:
            assert ids(met).count(after.id) == 1
            assert after.id not in given_ids
    assert assign_ids(met, known_of(met), NOON + timedelta(days=60), DAY) is met


@given(STRIPPED, st.booleans(), st.integers(0, 30))
def test_assign_ids_makes_no_duplicates_for_a_writer_that_strips_ids(history, timed, trimmed):
    """It may hold all it ever wrote, or what recalld left; the newest is never trimmed, and here it was said once only."""
    also = () if timed else ("createdAt",)
    met = assign_ids(stripped((*history, parsed_message("last", "再见")), *also), Known(), NOON + timedelta(days=60), DAY)
    left = met[min(trimmed, len(met) - 1) :]
    for written in (met, left):
        again = assign_ids(stripped(written, *also), known_of(met, left), NOON + timedelta(days=61), DAY)
        assert set(ids(again)) <= set(ids(met))


# ── many equal messages ──────────────────────────────────────────────────────


class Asked(dict[Any, None]):
    """A collection that counts how often it is asked."""

    times = 0

    def __contains__(self, key: object) -> bool:
        Asked.times += 1
        return super().__contains__(key)


def counted(known: Known) -> Known:
    Asked.times = 0
    ids = {base: dict.fromkeys(them) for base, them in known.by_fingerprint.items()}
    return replace(known, by_fingerprint=ids, in_history=Asked.fromkeys(known.in_history), ids=Asked.fromkeys(known.ids))


@pytest.mark.parametrize("fields", [{}, {"createdAt": TIME}], ids=["without a time", "of one time"])
def test_assign_ids_asks_as_often_for_each_of_many_equal_messages(fields):
    count = 2_000
    nameless = tuple(said("继续", **fields) for _ in range(count))
    first = assign_ids(nameless, counted(Known()), NOON, DAY)
    assert len(set(ids(first))) == count
    assert Asked.times <= 8 * count
    known = counted(known_of(first))
    assert ids(assign_ids(nameless, known, NOON, DAY)) == ids(first)
    assert Asked.times <= 8 * count


# ── an array that a program wrote back ───────────────────────────────────────


@given(st.lists(st.sampled_from("继好一二三四"), max_size=12), st.lists(st.sampled_from("继好一二三四"), max_size=12))
def test_same_places_never_takes_one_place_twice(before, after):
    places = same_places(before, after)
    assert len(set(places.values())) == len(places)
    assert all(after[there] == before[here] for there, here in places.items())


# ── lost messages, put back in the order of their times and of their first sight ─

START = datetime(2026, 1, 31, 9, tzinfo=UTC)


def spoken(number: int, minute: int | None) -> Message:
    at = {} if minute is None else {"createdAt": to_wire(START + timedelta(minutes=minute))}
    return parsed({"id": f"话{number}", "role": "user", "text": f"第 {number} 句", **at})


def one_by_one(history: list[Message], lost: list[Message], met: list[str]) -> list[Message]:
    """The rule as it is said: each before the first that is later, of one moment before the first that was met after it."""
    found = list(history)
    for one in sorted(lost, key=lambda one: (one.created_at, met.index(one.id))):
        here = one.created_at, met.index(one.id)
        later = (n for n, e in enumerate(found) if e.created_at is not None and (e.created_at, met.index(e.id)) > here)
        found.insert(next(later, len(found)), one)
    return found


@given(st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 5)), st.booleans()), max_size=12), st.randoms())
def test_reinsert_lost_matches_the_reference_rule_for_any_history(minutes, pick):
    messages = [spoken(number, minute) for number, (minute, _) in enumerate(minutes)]
    met = [one.id for one in messages]
    history = [one for one, (_, is_lost) in zip(messages, minutes, strict=True) if not is_lost]
    lost = [one for one, (minute, is_lost) in zip(messages, minutes, strict=True) if is_lost and minute is not None]
    pick.shuffle(history)
    pick.shuffle(lost)
    assert list(reinsert_lost(tuple(history), lost, met)) == one_by_one(history, lost, met)
