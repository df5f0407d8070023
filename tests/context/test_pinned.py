"""The pinned lines of memory.md, which a direct chat is always given (protocol/marks, recall/search, context/memory_block)."""

from __future__ import annotations

import os

import pytest

from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.text.llm_input import estimate_tokens
from tests.world import WITHOUT_MODEL, World, at, message

NOW = at("2026-01-31T10:00")
MEMORY = "# 始终\n\n- 住在杭州，做后端。\n- 对花生过敏。\n\n# 别的\n\n- 称呼我小林。 #置顶\n- 护照在保险柜里。\n"
PINNED = "[memory.md#L3-L4,L8] 住在杭州，做后端。 | 对花生过敏。 | 称呼我小林。\n"


@pytest.fixture
def opened(tmp_path):
    """A function that opens a workspace with a memory.md, a filed message and this configuration."""

    def made(memory=MEMORY, toml=""):
        world = World(tmp_path, NOW, WITHOUT_MODEL + toml)
        world.write([message("a", "2026-01-28T09:00", "备份放在书房的 NAS 上。")])
        world.settle()
        if memory:
            world.put("memory.md", memory)
        return world, Memory(world.ws, clock=world.clock)

    return made


def because(turn):
    return {hit.unit.text: hit.because[-1] for hit in turn.shown}


@pytest.mark.parametrize("question", ["澳大利亚袋鼠吃什么？", "你好", "hello!"])
def test_pinned_lines_are_given_where_nothing_is_found(opened, question):
    _, memory = opened()
    turn = memory.inject(question)
    assert turn.memory.endswith(f"。）\n{PINNED}") or turn.memory.endswith(f".)\n{PINNED}")
    assert because(turn) == {"住在杭州，做后端。": "pinned", "对花生过敏。": "pinned", "称呼我小林。": "pinned"}
    assert (turn.receipt.tokens["memory"] < 65, turn.receipt.tokens["pinned"] > 30) == (True, True)
    assert memory.find(question).hits == ()


@pytest.mark.feature("003.19")
@pytest.mark.parametrize("question", ["你好", "hello!", "澳大利亚袋鼠吃什么？"])
def test_nothing_is_given_where_nobody_pinned_a_line(opened, question):
    """003: 无命中时不注入."""
    _, memory = opened("- 住在杭州，做后端。\n2026-01-02|web-chat|对花生过敏。\n")
    assert memory.inject(question).memory == ""


def test_pinned_lines_stand_before_what_is_found_each_once(opened):
    _, memory = opened()
    turn = memory.inject("对花生过敏的人，备份放在哪里？")
    assert turn.memory.index(PINNED) < turn.memory.index("书房的 NAS")
    assert turn.memory.count("花生") == 1
    assert [hit.unit.text for hit in turn.shown if hit.score > 0] == ["对花生过敏。", "备份放在书房的 NAS 上。"]
    assert not turn.left_out


def test_a_group_is_given_no_pinned_lines(opened):
    _, memory = opened(f"{MEMORY}- 周六爬山 #pin #shared\n", toml='[recall]\nin_groups = "all"\n')
    assert memory.inject("澳大利亚袋鼠吃什么？", chat="group", session="g").memory == ""


def test_no_memory_file_no_pinned_lines(opened):
    world, memory = opened("")
    assert memory.inject("澳大利亚袋鼠吃什么？").memory == ""
    os.symlink("/etc/passwd", world.root / "memory.md")
    assert memory.inject("澳大利亚袋鼠吃什么？").memory == ""
    assert not world.events.of("recall_failed")


def test_a_long_pinned_line_does_not_keep_the_others_out(opened):
    _, memory = opened(f"# 始终\n\n- 叫我小林。\n- {'很长的一条' * 600}\n", "[recall]\nline_chars = 100000\n")
    assert "叫我小林" in memory.inject("你好").memory


@pytest.mark.parametrize("fails", [False, True], ids=["found", "where the search fails"])
def test_a_secret_of_a_pinned_line_is_shown_only_to_who_asks(opened, fails):
    world, memory = opened("# Always\n- the bank password is heron-12-lake\n- the wifi password is plum-orchid-77\n")
    assert "heron" not in memory.inject("澳大利亚袋鼠吃什么？").memory
    if fails:
        world.ws.index.search = None
    block = memory.inject("what is the wifi password?").memory
    assert ("plum-orchid-77" in block, "heron" in block) == (True, False)


def test_a_small_window_has_room_for_pinned_lines(opened):
    _, memory = opened("# 始终\n" + "- 一件事。\n" * 300, "[context]\nwindow_tokens = 4096\n")
    turn = memory.context("备份放在哪里？", system="你是家里的助手。" * 100)
    spent = sum(estimate_tokens(one["content"]) for one in turn.messages)
    assert spent <= 4096 * 3 // 4
    assert turn.receipt.tokens["pinned"] > 0
