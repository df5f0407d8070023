"""What was said is found again: from the history through the dated files and summaries to the block before the assistant."""

from __future__ import annotations

import re

import pytest

from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.interfaces.tools.anthropic_memory import AnthropicMemory
from tests.world import message

SAID = [
    message("1", "2026-01-30T09:00", "我对花生过敏，点外卖要备注。"),
    message("2", "2026-01-30T09:01", "记住了，花生过敏。", "assistant"),
    message("3", "2026-01-30T09:05", "GitHub备份脚本上传失败，C盘满了。"),
    message("4", "2026-01-30T09:06", "把旧日志删掉再试。", "assistant"),
    message("5", "2026-01-30T10:00", "The demo moved to room 305, gpt-4o-mini writes the minutes."),
    message("6", "2026-01-30T10:01", "Noted: room 305.", "assistant"),
    message("7", "2026-01-10T10:00", "猫的疫苗九月十二号打。"),
    message("8", "2026-01-10T10:01", "记下了。", "assistant"),
]


@pytest.fixture
def filled(world):
    world.write(SAID)
    world.settle()
    world.refresh()
    return world


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("花生", "我对花生过敏"),
        ("我对什么过敏？", "我对花生过敏"),
        ("备份 上传", "备份脚本上传失败"),
        ("C盘怎么了", "C盘满了"),
        ("which room is the demo in", "room 305"),
        ("gpt-4o-mini", "gpt-4o-mini writes"),
        ("猫", "猫的疫苗"),
        ("1月10号说了什么", "猫的疫苗"),
    ],
)
def test_recall_finds_the_message_that_answers_a_question(filled, question, answer):
    found = filled.search(question)
    assert found.hits
    assert any(answer in hit.unit.text for hit in found.hits[:3])
    block = filled.inject(question, found).memory
    assert block.startswith("## Memory\n")
    assert answer in block


@pytest.mark.feature("001.7")
def test_refresh_adds_a_saved_file_and_drops_a_deleted_one(filled):
    note = filled.root / "memory/2026-01-29-idea.md"
    note.write_text("买一台电钢琴，预算六千。\n", encoding="utf-8")
    filled.refresh()
    assert "电钢琴" in filled.search("电钢琴多少钱").hits[0].unit.text
    note.unlink()
    filled.refresh()
    assert filled.search("电钢琴多少钱").hits == ()


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
