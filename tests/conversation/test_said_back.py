"""What was injected and comes back in the assistant's words is not news: it is kept word for word, and nothing is learnt from it."""

from __future__ import annotations

import pytest

from recalld.supervisor.protocol.task_material import only_says_back
from tests.world import GOOD_SUMMARY, WITH_MODEL, World, message

GIVEN = (
    "## Memory\n[memory.md#L3] 发布会定在12月15日，星海厅 | 对花生过敏，虾也不能吃\n"
    "[memory.md#L4] backups go to the Synology in the attic\n发布会在哪天？"
)


@pytest.mark.parametrize(
    ("answer", "is_said_back"),
    [
        ("你的发布会定在12月15日，在星海厅。", True),
        ("发布会定在12月15日。你对花生过敏，虾也不能吃。", True),
        ("Your backups go to the Synology in the attic.", True),
        ("发布会定在12月16日。", False),
        ("发布会不在12月15日。", False),
        ("发布会定在12月15日。门票我发到群里了。", False),
        ("备份放在 Hetzner。", False),
        ("好的。", False),
        ("", False),
    ],
)
def test_only_says_back(answer, is_said_back):
    assert only_says_back(answer, GIVEN) is is_said_back


def test_forty_turns_in_which_the_assistant_repeats_memory_teach_nothing(world: World) -> None:
    world.reopen(f"{WITH_MODEL}[recall]\ntimeout_ms = 60000\n")
    world.put("memory.md", "2026-01-10|web-chat|发布会定在12月15日，星海厅\n")
    said = []
    for n in range(40):
        world.save_receipt(world.inject("发布会定在哪天？"))
        at = world.clock().astimezone(world.ws.zone)
        said.append(message(f"q{n}", f"{at:%Y-%m-%dT%H:%M}", f"发布会定在哪天？第{n}次问"))
        said.append(message(f"a{n}", f"{at:%Y-%m-%dT%H:%M}", "你的发布会定在12月15日，在星海厅。", role="assistant"))
        world.forward(minutes=3)
    world.write(said)
    given: list[str] = []

    def write(messages: list[dict[str, str]]) -> str:
        given.extend(one["content"] for one in messages)
        return ""

    world.ws.session_lines.summarize("", write, world.clock())
    assert given
    assert not any("星海厅" in one for one in given)
    prompts: list[str] = []

    def summarise(*asked: object) -> str:
        prompts.append(repr(asked))
        return GOOD_SUMMARY

    world.model.script = summarise
    world.archive(everything=True)
    world.forward(days=40).settle()
    assert not any("星海厅" in one for one in prompts)
    assert (world.root / "memory.md").read_text(encoding="utf-8") == "2026-01-10|web-chat|发布会定在12月15日，星海厅\n"
    filed = [block.text for file in world.ws.memory.dated() for block in world.ws.memory.blocks(file.name)]
    assert sum("星海厅" in text for text in filed) == 40
