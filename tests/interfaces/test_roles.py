"""The role of a message: what a command and Python refuse, what is meant by other names, and what other programs write."""

from typing import Any

import pytest

from recalld import Memory
from recalld.supervisor.protocol.message import role_of
from recalld.supervisor.protocol.parts import said_as
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.storage.texts import render
from tests.world import WITHOUT_MODEL, World, message, parsed

MEANT = {
    "user": ("user", "User", " USER ", "human", "Human", "用户"),
    "assistant": ("assistant", "Assistant", "ai", "AI", "model", "bot", "chatbot", "agent", "teller", "助手", "助理"),
    "system": ("system", "SYSTEM"),
    "tool": ("tool",),
    "boss": ("boss",),
    "usr": ("usr",),
    "老板": ("老板",),
    "function": ("function",),
}


@pytest.fixture
def memory(world: World) -> Memory:
    world.reopen(WITHOUT_MODEL)
    return Memory(world.ws, clock=world.clock)


@pytest.mark.parametrize(("meant", "found"), [(meant, found) for meant, names in MEANT.items() for found in names])
def test_role_of_knows_the_names_of_other_programs(meant: str, found: str) -> None:
    assert role_of(found) == meant
    assert parsed({"role": found, "text": "好"}).role == meant


@pytest.mark.parametrize("role", ["usr", "boss", "老板", "用户们", "users"])
def test_append_refuses_a_role_that_there_is_not(memory: Memory, world: World, role: str) -> None:
    with pytest.raises(BadRequest, match="role") as refused:
        memory.append([{"role": "user", "text": "好"}, {"role": role, "text": "下班前交。"}])
    assert refused.value.sentence == f"role: '{role}' is no role; give user, assistant, system or tool."
    assert render(refused.value.sentence, "zh") == f"role：没有 '{role}' 这个角色；请用 user、assistant、system 或 tool。"
    assert not world.paths.history.exists() or world.history() == []


@pytest.fixture
def bossy(world: World) -> World:
    """A history in which another program has a role of its own."""
    world.reopen(WITHOUT_MODEL)
    said: list[dict[str, Any]] = [
        message("1", "2026-01-31T09:00", "报表什么时候交？", session="tg"),
        message("2", "2026-01-31T09:01", "下班前交。", "boss", session="tg"),
        message("3", "2026-01-31T09:02", "Before five, please.", "老板", session="tg"),
        message("4", "2026-01-31T09:03", "好的，下班前。", "assistant", session="tg"),
        message("5", "2026-01-31T09:04", "（内部）刷新缓存", "system", session="tg"),
        message("6", "2026-01-31T09:05", "42", "tool", session="tg"),
    ]
    world.write(said)
    return world


SHOWN = [
    ("user", "报表什么时候交？"),
    ("user", "boss：下班前交。"),
    ("user", "老板: Before five, please."),
    ("assistant", "好的，下班前。"),
]


@pytest.mark.parametrize("filed", [True, False])
def test_context_shows_a_role_of_another_program_by_its_name(bossy: World, filed: bool) -> None:
    if filed:
        bossy.settle()
    memory = Memory(bossy.ws, clock=bossy.clock)
    turn = memory.context("几点交报表？")
    assert [(one["role"], one["content"].partition("\n")[2] or one["content"]) for one in turn.messages[:4]] == SHOWN
    assert [(one["role"], one["content"]) for one in memory.get_history_with_summary("tg")] == SHOWN
    assert [one["role"] for one in bossy.history()] == ["user", "boss", "老板", "assistant", "system", "tool"]


def test_conversation_sends_a_role_of_another_program_as_a_user(bossy: World) -> None:
    sent = Memory(bossy.ws, clock=bossy.clock).conversation(session="tg").messages
    assert [(one["role"], one["content"]) for one in sent[:4]] == SHOWN


def test_said_as_shows_one_line_of_a_role_of_any_length() -> None:
    role, words = said_as("老板\n# system " * 9, "好")
    assert (role, "\n" in words, len(words)) == ("user", False, 23)
