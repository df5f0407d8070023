"""A program that drops ids and writes times in whole seconds: each message stays the one that it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.message import fingerprint_of, is_in_whole_seconds
from recalld.supervisor.storage.clock import from_wire
from tests.world import WITHOUT_MODEL, World, at, message, parsed

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

#: How programs make whole seconds of a time.
WAYS = {
    "cut off": lambda t: f"{t:%Y-%m-%dT%H:%M:%SZ}",
    "cut off, in seconds": lambda t: int(t.timestamp()),
    "cut off, with zeros": lambda t: f"{t:%Y-%m-%dT%H:%M:%S.000Z}",
    "rounded": lambda t: round(t.timestamp()),
    "rounded, in milliseconds": lambda t: round(t.timestamp()) * 1000,
}
SAID = ("好", "好", "我对花生过敏。", "好")


@pytest.fixture
def talked(world: World) -> World:
    """Four messages of `append`, each 0.7 seconds after the one before, the first at 10:00:00.150."""
    world.reopen(WITHOUT_MODEL)
    for n, text in enumerate(SAID):
        world.append({"role": "user", "text": text, "session": "tg"}, now=at(f"2026-01-31T10:00:0{n * 0.7 + 0.15:05.3f}"))
    return world


def rewrite(world: World, way: Callable[[datetime], object]) -> None:
    """Another program writes what it holds: no ids, no fields of ours."""
    told = ((raw, from_wire(raw["createdAt"]) if isinstance(raw["createdAt"], str) else None) for raw in world.history())
    world.write([{"role": raw["role"], "text": raw["text"], "createdAt": way(t) if t else raw["createdAt"]} for raw, t in told])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("filed", [True, False])
def test_intake_knows_a_message_without_its_id_in_whole_seconds(talked, way, filed):
    ids, met = talked.ids(), [(raw["id"], from_wire(raw["createdAt"])) for raw in talked.history()]
    if filed:
        talked.settle()
    for _ in range(3):
        rewrite(talked, WAYS[way])
        talked.settle()
    assert talked.ids() == ids
    assert [(block.id, block.created_at) for blocks in talked.dated_files().values() for block in blocks] == met


@pytest.mark.parametrize("way", WAYS)
def test_session_has_a_message_in_whole_seconds_once(talked, way):
    talked.settle()
    before = talked.ws.session_talk.messages("tg", talked.clock())
    talked.write([{**raw, "createdAt": WAYS[way](from_wire(raw["createdAt"]))} for raw in talked.history()])
    talked.settle()
    after = talked.ws.session_talk.messages("tg", talked.clock())
    assert [(one.id, one.created_at) for one in after] == [(one.id, one.created_at) for one in before]
    assert len(after) == len(SAID)


def test_intake_learns_what_an_older_version_met_in_one_round(talked):
    talked.settle()
    seen = talked.paths.seen
    marks = {one for entry in talked.history() for one in parsed(entry).fingerprints[-1:]}
    for mark in marks:
        seen.write_text(seen.read_text(encoding="utf-8").replace(f', "{mark}"', ""), encoding="utf-8")
    talked.reopen()
    assert not marks & talked.ws.journal.known.by_fingerprint.keys()
    talked.settle()
    rewrite(talked, WAYS["cut off"])
    talked.settle()
    assert sorted(talked.archived_texts()) == sorted(SAID)
    size = seen.stat().st_size
    talked.reopen().settle()
    assert seen.stat().st_size == size


def test_fingerprint_of_a_message_is_that_of_an_older_version():
    """The id of a message without one is made of its createdAt as found, whatever else it is known by."""
    raw = {"role": "user", "text": "花生", "createdAt": "2026-01-15T01:02:03.456Z"}
    found = parsed(raw)
    assert found.fingerprint == fingerprint_of(raw["createdAt"], "user", "花生")
    assert parsed({**raw, "createdAt": "2026-01-15T01:02:03Z"}).fingerprints[1:] == (
        fingerprint_of("2026-01-15T01:02:03.000Z", "user", "花生"),
    )


def test_intake_keeps_two_messages_with_milliseconds_apart(world):
    world.reopen(WITHOUT_MODEL)
    first = {"role": "user", "text": "好", "createdAt": "2026-01-31T02:00:00.100Z"}
    world.write([first])
    world.settle()
    world.write([first, {**first, "createdAt": "2026-01-31T02:00:00.400Z"}])
    world.settle()
    assert world.archived_texts() == ["好", "好"]
    world.write([{**first, "createdAt": "2026-01-31T02:00:00Z"}] * 2)
    world.settle()
    assert world.archived_texts() == ["好", "好"]


@pytest.mark.parametrize("other", [{"text": "好的"}, {"role": "assistant"}, {"createdAt": "2026-01-31T02:00:02Z"}])
def test_intake_keeps_other_words_roles_and_seconds_apart(world, other):
    world.reopen(WITHOUT_MODEL)
    world.write([message("x1", "2026-01-31T10:00:00.400", "好")])
    world.settle()
    said: dict[str, Any] = {"role": "user", "text": "好", "createdAt": "2026-01-31T02:00:00Z", **other}
    world.write([said])
    world.settle()
    assert len(world.archived()) == 2


@given(st.integers(0, 10**13), st.integers(-2_000, 2_000))
def test_is_in_whole_seconds_holds_for_cut_and_rounded_seconds_alone(ms, off):
    def t(millis: int) -> datetime:
        return parsed({"role": "user", "text": "", "createdAt": 1_000_000_000_000 + millis}).created_at  # type: ignore[return-value]

    whole = (ms // 1000) * 1000
    exact = whole + off
    is_one = 0 <= off < 1000 or -500 <= off < 0
    assert is_in_whole_seconds(t(whole), t(max(exact, 0))) == (is_one if exact >= 0 else whole < 1000)
