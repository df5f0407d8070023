"""A line with several items, of which a newer line replaces one: which it is, what goes on, and what is refused, everywhere."""

from __future__ import annotations

import pytest

from recalld import Memory
from recalld.supervisor.interfaces.tools.memory_tools import MemoryTools
from recalld.supervisor.storage.errors import BadRequest
from tests.world import World, at

NOW = at("2026-11-23T07:30")
ENVIRON = {"RECALLD_RECALL_TIMEOUT_MS": "60000", "RECALLD_ARCHIVE_TIMEZONE": "Asia/Shanghai", "RECALLD_LANGUAGE": "zh"}
TWO = "2026-02-14|web-chat|老婆小雨不吃羊肉；我开始学游泳，周二周四"
ENGLISH = "2026-02-14|web-chat|Anna eats no lamb. I started swimming, Tuesdays and Thursdays. The car is at Dr. Weber's"


def memory_with(world: World, text: str) -> Memory:
    world.put("memory.md", text)
    return Memory(world.root, environ=ENVIRON, clock=lambda: NOW)


def lines(memory: Memory) -> list[str]:
    return [one.text for one in memory.read(1, 99).lines]


def ref(memory: Memory) -> str:
    return memory.read(1, 99).lines[0].ref


@pytest.mark.parametrize(
    ("line", "content", "struck", "others"),
    [
        (TWO, "游泳改到周三周五", "~~我开始学游泳，周二周四~~（至 2026-11-23）", "老婆小雨不吃羊肉"),
        (TWO, "小雨开始吃羊肉了", "~~老婆小雨不吃羊肉~~（至 2026-11-23）", "我开始学游泳，周二周四"),
        (TWO, "老婆小雨不吃羊肉；改学打网球", "~~老婆小雨不吃羊肉；我开始学游泳，周二周四~~（至 2026-11-23）", ""),
        (
            ENGLISH,
            "I swim on Fridays now",
            "~~I started swimming, Tuesdays and Thursdays.~~ (until 2026-11-23)",
            "Anna eats no lamb. The car is at Dr. Weber's",
        ),
        (ENGLISH, "The car is back", "~~The car is at Dr. Weber's~~ (until 2026-11-23)", ENGLISH[20:].partition(" The car")[0]),
    ],
)
def test_write_ends_the_item_that_it_is_about_alone(world, line, content, struck, others):
    memory = memory_with(world, f"{line}\n- 车停在 B2\n")
    made = memory.write(content, replaces=ref(memory))
    now = {one.ref: one.text for one in memory.read(1, 99).lines}
    before = line[:20]
    assert now[made.replaced] == before + struck
    assert now.get(made.others, before) == before + others
    assert lines(memory) == [
        *filter(None, [now.get(made.others)]),
        now[made.replaced],
        "- 车停在 B2",
        f"2026-11-23|web-chat|{content}",
    ]


def test_item_names_the_one_that_ends(world):
    memory = memory_with(world, f"{TWO}\n")
    for item in (0, 3, -1):
        with pytest.raises(BadRequest, match=r"^item: .*\(1\) 老婆小雨不吃羊肉 \(2\) 我开始学游泳，周二周四"):
            memory.write("改学打网球", replaces=ref(memory), item=item)
    with pytest.raises(BadRequest, match=r"^item: "):
        memory.write("改学打网球", item=2)
    memory.write("改学打网球", replaces=ref(memory), item=2)
    assert [one[20:] for one in lines(memory)[:2]] == ["老婆小雨不吃羊肉", "~~我开始学游泳，周二周四~~（至 2026-11-23）"]


def test_group_is_told_the_numbers_of_its_own_lines(world):
    group = {"session": "telegram:group:家", "chat": "group"}
    memory = memory_with(world, f"{TWO}\n2026-02-16|web-chat|钥匙在信箱里；周五聚餐 #shared\n")
    made = memory.write("钥匙在门卫那里", replaces=memory.read(1, 9, **group).lines[0].ref, **group)
    assert (made.others[:2], made.replaced[:2]) == ("1@", "2@")
    shown = [one.text[20:] for one in memory.read(1, 9, **group).lines]
    assert shown == ["周五聚餐 #shared", "~~钥匙在信箱里 #shared~~（至 2026-11-23）"]
    assert lines(memory)[0] == TWO


def test_tool_takes_an_item_and_says_what_goes_on(world):
    tools = MemoryTools(memory_with(world, f"{TWO}\n"))
    with pytest.raises(BadRequest, match=r"\(1\) 老婆"):
        tools.memory_write("改学打网球", replaces=ref(tools.memory))
    said = tools.memory_write("改学打网球", replaces=ref(tools.memory), item=2)
    assert (said.others[:2], said.replaced[:2]) == ("1@", "2@")
    assert f"what else it said still holds, and goes on as line {said.others}." in said.plain
