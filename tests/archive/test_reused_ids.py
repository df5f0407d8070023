"""Programs that give an id to other words: what was met under it before is archived too, and a growing answer only once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from recalld.supervisor.storage.clock import to_wire
from tests.world import World, message, without


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
            world.write(said(*talk[: n // 3 + 2][-12:]))
            world.round("all")
        world.drop("msg.json", {"role": "user", "text": text} | ({"createdAt": to_wire(world.clock())} if timed else {}))
        world.round("all")
        world.clock.forward(minutes=1)
    assert filed(world) == Counter((*talk, *dropped))


def said(*texts: str) -> list[dict[str, str]]:
    """Messages without ids and times; what begins with "提示" is a system's."""
    return [{"role": "system" if text.startswith("提示") else "user", "content": text} for text in texts]


def filed(world: World) -> Counter[str]:
    return Counter(block.text for file in world.dated_files().values() for block in file)
