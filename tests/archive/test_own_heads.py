"""What a person adds to the head of a dated file, and what editors and formatters make of it: it is whole, and stays as they saved it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.operations.forget import forget as operation
from recalld.supervisor.operations.operation import Caller, perform
from tests.world import World, at, message

BOAT = "小船停在九号码头"
SAID = [
    message("1", "2026-01-30T09:00", BOAT),
    message("2", "2026-01-30T09:01", "wifi 的密码是 plum-otter-1931，客人用。"),
    message("3", "2026-01-30T09:02", "清单：\n\n\n- 护照\n\n- 充电器"),
]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "w", at("2026-01-31T10:00"))
    world.write(SAID)
    world.settle()
    return world


def day(world: World) -> Path:
    (name,) = world.dated_files()
    return world.root / name


def with_head(lines: str) -> Callable[[str], str]:
    return lambda text: text.replace("\n---\n", f"\n{lines}\n---\n", 1)


def first_in_head(lines: str) -> Callable[[str], str]:
    return lambda text: text.replace("---\n", f"---\n{lines}\n", 1)


OWN: dict[str, Callable[[str], str]] = {
    "a list": with_head("tags:\n  - daily\n  - 码头"),
    "a list without indent": with_head("cssclasses:\n- wide"),
    "more lines than recalld writes": with_head("tags:\n" + "\n".join(f"  - 标签{number}" for number in range(60))),
    "more than is read at first": with_head("summary: >\n  " + "很长的说明" * 600),
    "a comment": with_head("# kept: by hand, 别动\nmood: 好 # 真的"),
    "quoted values": lambda text: text.replace("recalld: 1", 'recalld: "1"').replace("kind: dated", "kind: 'dated'"),
    "a nested map": with_head("weather:\n  kind: day\n  count: 7\n  wind: {from: north}"),
    "keys before ours": first_in_head("tags: [daily]\n心情: 好"),
    "a line that is no YAML": with_head("up: [[船]] and more: so"),
    "no last newline": lambda text: text.rstrip("\n"),
    "a head, and no last newline": lambda text: with_head("tags: [daily]")(text).rstrip("\n"),
    "words below, without a newline": lambda text: f"{text}\n我补一句：第三根柱子旁边",
    "a head, a BOM and CRLF": lambda text: "\ufeff" + with_head("tags:\n- daily")(text).replace("\n", "\r\n"),
    "no blank lines": lambda text: re.sub(r"\n{2,}", "\n", text),
    "no blank lines, and CRLF": lambda text: re.sub(r"\n{2,}", "\n", text).replace("\n", "\r\n"),
    "a blank line below each comment": lambda text: text.replace("-->\n**", "-->\n\n**"),
}


@pytest.mark.parametrize("edit", OWN.values(), ids=OWN)
def test_persons_own_head_or_end_is_no_damage_and_stays(world, edit):
    path = day(world)
    data = edit(path.read_text("utf-8")).encode()
    path.write_bytes(data)
    again = world.reopen()
    again.settle()
    assert again.verdict()[1]
    ledger = again.fsck()
    assert (ledger.is_well, ledger.lost, ledger.removed, ledger.in_files) == (True, [], 0, 3)
    assert again.repair().set_aside == ()
    assert path.read_bytes() == data
    (boat,) = (hit.unit for hit in again.search("小船停在哪里？").hits if hit.unit.text == BOAT)
    assert again.get(boat.path).text.splitlines()[boat.start - 1] == BOAT
    assert [one.text for one in again.context("小船呢？").history].count(BOAT) == 1


@pytest.mark.parametrize("edit", OWN.values(), ids=OWN)
def test_forgetting_leaves_a_persons_head_whole(world, edit):
    def run(act: Any, request: Any) -> Any:
        return perform(act, world.ws, request, Caller(clock=world.clock))

    path = day(world)
    path.write_bytes(edit(path.read_text("utf-8")).encode())
    head = path.read_text("utf-8-sig").split("\ncount:")[0]
    world.reopen()
    shown = run(operation, {"by": "match", "value": BOAT}).digest
    assert run(operation, {"by": "match", "value": BOAT, "yes": True, "shown": shown}).done
    world.settle()
    text = day(world).read_text("utf-8")
    assert (BOAT in text, text.startswith(head)) == (False, True)
    assert world.verdict()[1]
