"""What was said is found again after its file moved, by the tag that the block before the assistant has."""

from __future__ import annotations

import re

import pytest

from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.interfaces.tools.anthropic_memory import AnthropicMemory
from tests.world import message


@pytest.fixture
def filled(world):
    world.fill(
        [message("7", "2026-01-10T10:00", "猫的疫苗九月十二号打。"), message("8", "2026-01-10T10:01", "记下了。", "assistant")]
    )
    return world


def test_tag_of_a_file_that_moved_is_read_by_get_and_by_the_memory_tool(filled):
    question = "猫的疫苗"
    found = filled.search(question)
    (moved,) = (
        hit.unit for hit in found.hits if hit.unit.path.startswith("memory/originals/2026-01/") and hit.unit.role == "user"
    )
    tag = re.search(r"\[(memory/(2026-01-10-[^/]*\.md)#L\d+[^]]*)\]", filled.inject(question, found).memory)
    assert tag
    assert tag[2] == moved.path.rpartition("/")[2]
    assert filled.get(tag[1]).text.startswith("猫的疫苗九月十二号打。")
    viewed = AnthropicMemory(Memory(filled.ws, clock=filled.clock))({"command": "view", "path": f"/memories/{tag[2]}"})
    assert not viewed.is_error
    assert "猫的疫苗九月十二号打。" in viewed.text
