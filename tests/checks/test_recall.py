"""The check of recall: a filed message is found by its own rarest words, another each day."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from recalld.supervisor.checks.memory import found_again
from recalld.supervisor.protocol.marks import Struck
from recalld.supervisor.recall.ended import write_ended
from tests.world import WITHOUT_MODEL, World, message

#: Words of memory, and what an index was made of in its place, as long in bytes.
SWAPPED = (("nginx", "caddy"), ("备份", "存档"), ("花生", "芝麻"), ("过敏", "反感"), ("青霉素", "小笼包"), ("backup", "picnic"))
LIVES = Path(__file__).parents[2] / "bench/questions/life/workspaces"


def made_of_other_words(world: World, *names: str) -> None:
    """Make the index anew while these files have other words, and put theirs back with the same time."""
    kept = {world.root / name: ((world.root / name).read_bytes(), (world.root / name).stat().st_mtime_ns) for name in names}
    for path, (data, time_ns) in kept.items():
        text = data.decode()
        for one, other in SWAPPED:
            text = text.replace(one, other)
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(time_ns, time_ns))
    world.ws.searcher.refresh(rebuild=True)
    for path, (data, time_ns) in kept.items():
        path.write_bytes(data)
        os.utime(path, ns=(time_ns, time_ns))
    world.reopen(WITHOUT_MODEL)


def told(world: World) -> list[str]:
    return [fault.why for fault in found_again(world.look())]


@pytest.fixture
def filed(world: World) -> World:
    """A memory of two days with different words, indexed."""
    world.reopen(WITHOUT_MODEL)
    world.write(
        [
            message("a", "2026-01-29T09:00", "我对花生过敏，青霉素也不行。"),
            message("b", "2026-01-30T09:00", "关于 nginx 的 backup"),
        ]
    )
    world.settle()
    world.refresh()
    return world


def test_found_again_asks_for_a_message_of_another_file_the_next_day(filed: World) -> None:
    made_of_other_words(filed, min(filed.dated_files()))
    days = []
    for _ in range(2):
        days.append(len(told(filed)))
        filed.forward(days=1)
    assert sorted(days) == [0, 1]


def test_found_again_asks_for_no_message_that_is_no_longer_true(filed: World) -> None:
    made_of_other_words(filed, *filed.dated_files())
    assert told(filed) != []
    for entry in filed.history():
        write_ended(filed.files, filed.paths, "message", entry["id"], Struck("", filed.clock().date()))
    assert told(filed) == []


@pytest.mark.parametrize(
    "texts", [(), ("好的，谢谢！", "ok thanks"), ("\U0001f44d", "……")], ids=["nothing", "courtesies", "signs"]
)
def test_found_again_finds_nothing_wrong_where_nothing_rare_was_said(world: World, texts: Sequence[str]) -> None:
    world.reopen(WITHOUT_MODEL)
    world.write([message(f"m{n}", f"2026-01-30T09:0{n}", text) for n, text in enumerate(texts)])
    world.settle()
    world.refresh()
    assert told(world) == []


@pytest.mark.parametrize("life", ["life-en", "life-zh"])
def test_found_again_finds_a_message_of_each_file_of_a_life(world: World, life: str) -> None:
    world.forward(days=365).reopen(WITHOUT_MODEL)
    world.write(json.loads((LIVES / life / "history.json").read_bytes()))
    world.settle()
    world.refresh()
    files = world.ws.memory.dated()
    assert len(files) > 10
    for _ in files:
        assert told(world) == []
        world.forward(days=1)
