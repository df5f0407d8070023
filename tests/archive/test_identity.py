"""
The id and the time of a message whose writer gave none, and the place of one that was lost.

Below, programs that give an id to other words: what was met under it before is archived too, and a growing answer only once.
"""

from collections import Counter, defaultdict
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
from tests.archive.states import HISTORIES, NOON, entry, ids, parsed_message
from tests.world import World, message, parsed, without

DAY = timedelta(days=1)
TIME = to_wire(NOON)


def said(text: str, **fields: Any) -> Any:
    return entry({"role": "user", "text": text, **fields})


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


# ── a program that gives an id to other words ────────────────────────────────────


def numbered(count: int, *, timed: bool = True) -> list[dict[str, Any]]:
    """What a program holds that numbers its messages."""
    raws = [message(str(n), f"2026-01-31T09:{n:02}", f"第 {n} 句", ("user", "assistant")[n % 2]) for n in range(count)]
    return raws if timed else without(raws, "createdAt")


def texts(raws: list[dict[str, Any]]) -> list[str]:
    return sorted(raw["text"] for raw in raws)


def settled(world: World, *, seen: int) -> None:
    """Nothing is lost, nothing is twice, and as many were met."""
    world.settle()
    found = world.fsck()
    assert (found.seen, found.in_files, found.removed) == (seen, seen, 0)


@pytest.mark.parametrize("runs", ["due", "all"])
@pytest.mark.parametrize("timed", [True, False])
def test_intake_keeps_each_message_once_when_its_place_is_its_id(world, timed, runs):
    """A window of twelve, of which each message has the number of its place, while forty pass; written early and late."""
    talk = numbered(40, timed=timed)
    for end in range(2, 41, 2):
        world.write([{**raw, "id": n} for n, raw in enumerate(talk[max(0, end - 12) : end])])
        world.round(runs)
        world.clock.forward(minutes=1)
        if end == 24:
            world.ws.journal.compact()
            world.reopen()
    settled(world, seen=40)
    assert sorted(world.archived_texts()) == texts(talk)


@pytest.mark.parametrize("runs", ["none", "all"])
def test_restore_history_knows_messages_whose_place_was_their_id(world, runs):
    """Backup, journal and what is left of the damaged file have each message under a number of its own."""
    talk = numbered(9)
    for start in range(4):
        window = [{**raw, "id": n} for n, raw in enumerate(talk[start : start + 6])]
        world.write(window)
        if start < 3:
            world.round(runs)
    world.write(world.paths.history.read_bytes()[:-9])
    world.restore()
    settled(world, seen=8)
    assert sorted(world.archived_texts()) == texts(talk[:8])


@pytest.mark.parametrize("timed", [True, False])
def test_intake_numbers_each_message_anew_when_the_journal_is_cut_off(world, timed):
    """The power goes out while the journal is told of new numbers: of each message it knows the old one or the new one."""
    talk = numbered(9, timed=timed)
    world.write([{**raw, "id": n} for n, raw in enumerate(talk[:6])])
    world.intake()
    known = world.paths.seen.read_bytes()
    window = [{**raw, "id": n} for n, raw in enumerate(talk[3:])]
    world.write(window)
    world.intake()
    told = world.paths.seen.read_bytes()
    for end in [n for n in range(len(known), len(told)) if told[n - 1 : n] == b"\n"]:
        world.paths.seen.write_bytes(told[:end])
        world.write(window)
        world.reopen()
        world.intake()
        assert sorted(one.text for one in world.unwritten()) == texts(talk)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"text": "改到周四"}, {"text": "改到周五"}),
        ({"text": "用", "role": "assistant"}, {"text": "用 rsync", "role": "assistant", "createdAt": None}),
        ({"text": "用", "role": "assistant", "createdAt": None}, {"text": "用 rsync", "role": "assistant"}),
        (
            {"text": "用", "role": "agent"},
            {"text": "好，用 rsync", "role": "assistant", "createdAt": "2026-01-31T09:00:00+08:00"},
        ),
    ],
)
def test_intake_takes_newer_words_of_a_streamed_message_as_the_same(world, before, after):
    raw = message("a", "2026-01-31T09:00")
    for fields in (before, after):
        world.write([{k: v for k, v in {**raw, **fields}.items() if v is not None}])
        world.round("none")
        world.clock.forward(minutes=1)
    settled(world, seen=1)
    assert world.archived_texts() == [after["text"]]


# ── a window without ids and times ───────────────────────────────────────────


@pytest.mark.parametrize("timed", [True, False])
def test_intake_knows_a_trimmed_window_beside_messages_of_the_drop_box(world, timed):
    """They have no ids either, and are not of the window: they say nothing of its order, nor of where it ends."""
    world.reopen(world.toml.replace("[archive]\n", "[archive]\nkeep_newest = 3\n") + "[history]\nsoft_cap = 6\nhard_cap = 8\n")
    talk = [text for n in range(8) for text in ("继续", f"做完了第 {n} 步。")]
    dropped = [f"手机说的第 {n} 句。" for n in range(48)]
    for n, text in enumerate(dropped):
        if n % 6 == 0:
            world.write(untimed(*talk[: n // 3 + 2][-12:]))
            world.round("all")
        world.drop("msg.json", {"role": "user", "text": text} | ({"createdAt": to_wire(world.clock())} if timed else {}))
        world.round("all")
        world.clock.forward(minutes=1)
    assert filed(world) == Counter((*talk, *dropped))


def untimed(*texts: str) -> list[dict[str, str]]:
    """Messages without ids and times; what begins with "提示" is a system's."""
    return [{"role": "system" if text.startswith("提示") else "user", "content": text} for text in texts]


def filed(world: World) -> Counter[str]:
    return Counter(block.text for file in world.dated_files().values() for block in file)
