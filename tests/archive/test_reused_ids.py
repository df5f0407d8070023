"""Programs that give an id to other words: what was met under it before is archived too, and a growing answer only once."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from recalld.supervisor.storage.clock import to_wire
from tests.world import World, at, message, without


def numbered(session: str, count: int, first: int = 0, *, timed: bool = True) -> list[dict[str, Any]]:
    """What a program holds that numbers the messages of a session from *first* on."""
    day = at("2026-01-31T09:00") + timedelta(seconds=ord(session[0]) % 60)
    raws = [
        message(str(first + n), (day + timedelta(minutes=n)).isoformat(), f"{session}的第 {n} 句", ("user", "assistant")[n % 2])
        for n in range(count)
    ]
    return raws if timed else [without([raw], "createdAt")[0] for raw in raws]


def texts(*lists: list[dict[str, Any]]) -> list[str]:
    return sorted(raw["text"] for raws in lists for raw in raws)


def settled(world: World, *, seen: int) -> None:
    """Nothing is lost, nothing is twice, and as many were met."""
    world.settle()
    found = world.fsck()
    assert (found.seen, found.in_files, found.removed) == (seen, seen, 0)


@pytest.mark.parametrize("timed", [True, False])
def test_intake_keeps_acknowledged_messages_whose_ids_are_used_again(world, timed):
    acknowledged, own = numbered("手机", 4), numbered("电脑", 4, timed=timed)
    world.append(*acknowledged)
    world.clock.forward(minutes=1)
    world.write(own)
    world.intake()
    assert [raw["text"] for raw in world.history()] == [raw["text"] for raw in own]  # nothing is put beside its own
    assert world.fsck().seen == 8
    settled(world, seen=8)
    assert sorted(world.archived_texts()) == texts(acknowledged, own)


@pytest.mark.parametrize("timed", [True, False])
def test_intake_keeps_a_session_that_another_with_its_ids_replaces(world, timed):
    first, second = numbered("上午", 6, 1, timed=timed), numbered("下午", 4, 1, timed=timed)
    for raws in (first, second):
        for end in range(1, len(raws) + 1):
            world.write(raws[:end])
            world.round()
            world.clock.forward(minutes=1)
    settled(world, seen=10)
    assert sorted(world.archived_texts()) == texts(first, second)


@pytest.mark.parametrize("runs", ["due", "all"])
@pytest.mark.parametrize("timed", [True, False])
def test_intake_keeps_each_message_once_when_its_place_is_its_id(world, timed, runs):
    """A window of twelve, of which each message has the number of its place, while forty pass; written early and late."""
    talk = numbered("窗口", 40, timed=timed)
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
    talk = numbered("窗口", 9)
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
def test_add_missing_knows_what_has_another_number_now(world, tmp_path, timed):
    """A copy of history.json is taken in just when a program has numbered its window anew."""
    talk = numbered("窗口", 8, timed=timed)
    world.write([{**raw, "id": n} for n, raw in enumerate(talk[:6])])
    world.round("none")
    copy = tmp_path / "copy.json"
    copy.write_bytes(world.paths.history.read_bytes()[:-9])
    world.write([{**raw, "id": n} for n, raw in enumerate(talk[1:])])
    world.add_missing(copy)
    settled(world, seen=8)
    assert sorted(world.archived_texts()) == texts(talk)


@pytest.mark.parametrize("timed", [True, False])
def test_intake_numbers_each_message_anew_when_the_journal_is_cut_off(world, timed):
    """The power goes out while the journal is told of new numbers: of each message it knows the old one or the new one."""
    talk = numbered("窗口", 9, timed=timed)
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


def test_intake_tells_only_new_messages_as_seen_when_places_are_ids(world):
    talk = numbered("窗口", 6)
    for start in range(3):
        world.write([{**raw, "id": n} for n, raw in enumerate(talk[start : start + 4])])
        world.intake()
    assert [told["messages"] for told in world.events.of("seen")] == [4, 1, 1]


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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"createdAt": "2026-01-31T01:00:00Z"}, {"createdAt": "2026-01-31T01:00:01Z"}),
        ({"role": "user"}, {"role": "assistant"}),
        ({"createdAt": None}, {"createdAt": None}),
        ({"role": "assistant", "createdAt": None}, {"role": "assistant", "createdAt": None, "text": "用 rsync 吗？"}),
        ({"role": "assistant", "createdAt": None, "text": ""}, {"role": "assistant", "createdAt": None}),
        (
            {"role": "assistant", "createdAt": "2026-01-31T01:00:00Z"},
            {"role": "assistant", "createdAt": "2026-01-31T01:00:01Z"},
        ),
    ],
)
def test_intake_keeps_both_texts_of_an_id_that_is_not_streamed(world, before, after):
    raw = message("a", "2026-01-31T09:00")
    kept = [{"text": "三点备份", **before}, {"text": "三点备份。", **after}]
    for fields in kept:
        world.write([{k: v for k, v in {**raw, **fields}.items() if v is not None}])
        world.round("none")
    settled(world, seen=2)
    assert sorted(world.archived_texts()) == texts(kept)


# ── a window without ids and times ───────────────────────────────────────────


@pytest.mark.parametrize("pinned", [0, 1])
@pytest.mark.parametrize("runs", ["due", "all"])
def test_intake_keeps_repeated_words_of_a_window_without_ids(world, runs, pinned):
    """[{role, content}], the last twelve: what has slid out is not the twin of what came in."""
    turns = [("user", "继续"), ("assistant", "第 {} 段。"), ("user", "继续"), ("assistant", "好，第 {} 段。")]
    talk = [{"role": role, "content": text.format(n)} for n, (role, text) in enumerate(turns * 5)]
    system = [{"role": "system", "content": "你是助手。"}] * pinned
    for end in range(len(talk) + 1):
        world.write(system + talk[:end][-12:])
        world.round(runs)
        world.clock.forward(minutes=1)
        if end == 15:
            world.ws.journal.compact()
            world.reopen()
    settled(world, seen=20 + pinned)
    blocks = sorted((block for file in world.dated_files().values() for block in file), key=lambda block: block.created_at)
    assert [block.text for block in blocks] == [raw["content"] for raw in system + talk]


@pytest.mark.parametrize("has_ids", [True, False])
def test_intake_knows_what_it_trimmed_from_a_longer_window(world, has_ids):
    """What `append` puts between, even by an id of its window, says nothing of the places of the others."""
    world.reopen(world.toml + "[history]\nsoft_cap = 22\nhard_cap = 24\n")
    talk = [{"role": "user", "content": "继续" if n % 2 and not has_ids else f"第 {n} 段。"} for n in range(60)]
    for end in range(2, 61, 2):
        world.write([{**raw, **({"id": n} if has_ids else {})} for n, raw in enumerate(talk[:end][-30:])])
        world.round("all")
        world.clock.forward(minutes=1)
        world.append({"id": str(end % 9), "role": "user", "text": f"手机说的第 {end} 句。"})
        world.round("all")
        world.clock.forward(minutes=1)
    others = [f"手机说的第 {end} 句。" for end in range(2, 61, 2)]
    assert sorted(world.archived_texts()) == sorted(others + [raw["content"] for raw in talk])


def test_intake_keeps_repeated_words_before_a_message_appended_by_another(world):
    """The window has slid, and `append` adds a message before the next look: what stands before that one is no older for it."""
    talk = [
        {"role": role, "content": text} for n in range(7) for role, text in (("user", "继续"), ("assistant", f"第 {n} 段。"))
    ]
    world.write(talk[:10])
    world.round("all")
    world.write(talk[2:])
    world.append(message("手机", "2026-01-31T09:00", "手机说的话。"))
    world.round("all")
    assert sorted(world.archived_texts()) == sorted(["手机说的话。", *(raw["content"] for raw in talk)])


@pytest.mark.parametrize("timed", [True, False])
def test_intake_knows_a_trimmed_window_beside_messages_of_the_drop_box(world, timed):
    """They have no ids either, and are not of the window: they say nothing of its order, nor of where it ends."""
    world.reopen(world.toml.replace("[archive]\n", "[archive]\nkeep_newest = 3\n") + "[history]\nsoft_cap = 6\nhard_cap = 8\n")
    talk = [text for n in range(8) for text in ("继续", f"做完了第 {n} 步。")]
    dropped = [f"手机说的第 {n} 句。" for n in range(96)]
    for n, text in enumerate(dropped):
        if n % 12 == 0:
            world.write(said(*talk[: n // 6 + 2][-12:]))
            world.round("all")
        world.drop("msg.json", {"role": "user", "text": text} | ({"createdAt": to_wire(world.clock())} if timed else {}))
        world.round("all")
        world.clock.forward(minutes=1)
    assert filed(world) == Counter((*talk, *dropped))


def test_intake_knows_a_window_that_sums_up_beside_the_drop_box(world):
    world.write(said("甲", "乙", "丙"))
    world.drop("msg.json", {"role": "user", "text": "手机说的话。"})
    world.round("all")
    world.write(said("之前说过甲", "乙", "丙", "丁"))
    world.round("all")
    assert filed(world) == Counter(["甲", "乙", "丙", "手机说的话。", "之前说过甲", "丁"])


def test_journal_keeps_the_order_of_history_when_it_is_compacted(world):
    world.write(numbered("上午", 3))
    world.settle()
    world.write([*numbered("上午", 3)[1:], *numbered("下午", 2, 5)])
    world.intake()
    world.ws.journal.compact()
    world.reopen()
    world.ws.journal.refresh()
    assert [identity for identity, _ in world.ws.journal.known.in_history] == ["1", "2", "5", "6"]


def test_intake_knows_two_messages_of_one_id_when_ids_are_stripped(world):
    raws = [message("3", f"2026-01-31T09:0{n}", f"第 {n} 句") for n in range(2)]
    world.append(*raws)
    world.settle()
    world.write(without(world.history(), "id", "archived"))
    world.settle()
    assert [raw["id"] for raw in world.history()] == ["3", "3"]
    assert sorted(world.archived_texts()) == texts(raws)


def test_intake_knows_appended_messages_in_a_window_that_strips_them(world):
    """The program reads what is there, says something, and writes back the last six without ids and times."""
    for n in range(12):
        world.append({"role": "user", "text": "继续"})
        world.round("due" if n % 3 else "all")
        world.clock.forward(minutes=1)
        own = {"role": "assistant", "content": f"第 {n} 段。"}
        world.write(
            [*([{"role": raw["role"], "content": raw.get("text", raw.get("content"))} for raw in world.history()][-5:]), own]
        )
        world.round("due")
        world.clock.forward(minutes=1)
    world.settle()
    assert sorted(world.archived_texts()) == sorted(["继续"] * 12 + [f"第 {n} 段。" for n in range(12)])


def said(*texts: str) -> list[dict[str, str]]:
    """Messages without ids and times; what begins with "提示" is a system's."""
    return [{"role": "system" if text.startswith("提示") else "user", "content": text} for text in texts]


def filed(world: World) -> Counter[str]:
    return Counter(block.text for file in world.dated_files().values() for block in file)


_MANY = [f"第 {n} 句" for n in range(60)]


@pytest.mark.parametrize(
    "writes",
    [
        [["提示 0", "一"], ["提示 1", "一", "二", "三"], ["提示 2", "二", "三", "四"]],  # a prompt with the time in it
        [["一", "二", "三", "四", "五", "六"], ["提示：之前说过一到五", "六", "七", "八"]],  # the prompt sums up what slid out
        [[*_MANY, "答"], [*_MANY, "答完"]],  # the last answer is made again, in a window longer than the cap
        [_MANY, _MANY[:-1], _MANY[:-2]],
        [["甲1", "甲2", "甲3"], ["乙1", "乙2", "乙3"], ["甲1", "甲2", "甲3", "甲4"], ["乙1", "乙2", "乙3", "乙4"]],  # two talks
    ],
)
def test_intake_files_each_message_of_a_changing_window_once(world, writes):
    world.reopen(world.toml + "[history]\nsoft_cap = 22\nhard_cap = 24\n")
    for texts in writes:
        world.write(said(*texts))
        world.round("all")
        world.clock.forward(minutes=1)
    assert filed(world) == Counter({text for texts in writes for text in texts})
