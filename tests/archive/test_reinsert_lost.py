"""Lost messages are reinserted in the order of their times and of their first sight, among any others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.archive.identity import reinsert_lost
from recalld.supervisor.protocol.message import Message, with_timestamp
from recalld.supervisor.storage.clock import to_wire
from tests.world import parsed

START = datetime(2026, 1, 31, 9, tzinfo=UTC)


def said(number: int, minute: int | None) -> Message:
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
    messages = [said(number, minute) for number, (minute, _) in enumerate(minutes)]
    met = [one.id for one in messages]
    history = [one for one, (_, is_lost) in zip(messages, minutes, strict=True) if not is_lost]
    lost = [one for one, (minute, is_lost) in zip(messages, minutes, strict=True) if is_lost and minute is not None]
    pick.shuffle(history)
    pick.shuffle(lost)
    assert list(reinsert_lost(tuple(history), lost, met)) == one_by_one(history, lost, met)


def test_reinsert_lost_skips_present_and_undated_messages():
    there, timeless, lost = said(1, 3), said(2, None), said(3, 1)
    assert reinsert_lost((there,), [there, timeless, lost], ["话1", "话2", "话3"]) == (lost, there)


def test_reinsert_lost_puts_what_had_no_time_where_it_was_first_met():
    """The clock was set back since, and the time of first sight is recalld's."""
    messages = [with_timestamp(said(number, None), START - timedelta(days=number)) for number in range(4)]
    met = [one.id for one in messages]
    assert list(reinsert_lost(tuple(messages[1::2]), messages[::2], met)) == messages


def test_reinsert_lost_restores_thousands_of_messages_in_order():
    """Looking through the history for each of them took minutes, under the lock that writers wait for."""
    messages = [said(number, number) for number in range(8_000)]
    assert list(reinsert_lost(tuple(messages[::2]), messages[1::2], [one.id for one in messages])) == messages
