"""The running summary of a session: where it continues, what it costs, and that no message is in it twice or nowhere."""

from __future__ import annotations

import json
import re

import pytest

from recalld import Memory
from recalld.supervisor.storage.errors import Busy, NoSummary
from tests.conversation.talk import Scripted, answer, fenced, question
from tests.world import World, message

SESSION = "家里"


def fact(n: int) -> str:
    return f"第 {n} 件事的端口是 {n}"


def facts(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"第 (\d+) 件事", text)]


def said(count: int, first: int = 0, session: str = SESSION) -> list[dict[str, object]]:
    roles = ("user", "assistant")
    return [
        message(f"m{n}", f"2026-01-30T{9 + n // 60:02}:{n % 60:02}", fact(n), roles[n % 2], session=session)
        for n in range(first, first + count)
    ]


def telling() -> Scripted:
    """A model that keeps all that it is told."""
    return Scripted(lambda prompt: "；".join(fact(n) for n in dict.fromkeys(facts("".join(fenced(prompt))))))


def places(memory: Memory) -> tuple[list[int], list[int]]:
    """The facts in the summary of the session, and those in its buffer, as a process finds them that comes later."""
    talk = Memory(memory.workspace, clock=memory.clock).conversation(session=SESSION)
    shown = talk.recompose()
    buffer = [n for raw in talk.pending for n in facts(str(raw["content"]))]
    assert all(set(raw) <= {"role", "content", "name", "tool_calls", "tool_call_id"} for raw in shown)
    return facts(talk.conversation_summary), buffer


@pytest.fixture
def memory(world: World) -> Memory:
    return Memory(world.ws, clock=world.clock)


# ── a session ────────────────────────────────────────────────────────────────


def test_session_memory_continues_where_the_session_is(world: World, memory: Memory) -> None:
    talk = memory.conversation(telling(), "你是家里的助手。", session=SESSION)
    for n in range(12):
        talk.add((question, answer)[n % 2](fact(n)))
        world.forward(minutes=1)
    assert talk.summarize()
    talk.add(question(fact(12)))
    assert [n for raw in talk.message_buffer[1:] for n in facts(raw["content"])] == [*range(13)]

    assert places(memory) == ([0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11, 12])
    again = Memory(world.ws, clock=world.clock).conversation(None, "你是家里的助手。", session=SESSION)
    assert again.recompose() == talk.recompose()
    assert talk.recompose()[0]["content"].startswith("你是家里的助手。\n\n对话历史总结：\n")
    assert [one["session"] for one in json.loads((world.root / "history.json").read_bytes())] == [SESSION] * 13


@pytest.mark.parametrize("wrong", [{"role": "user"}, {"content": "没有角色"}, question("长" * 9000)])
def test_session_memory_refuses_what_is_no_message_and_adds_nothing(world: World, memory: Memory, wrong: dict) -> None:
    talk = memory.conversation(session=SESSION)
    with pytest.raises(ValueError, match=r"no message|window"):
        talk.add(wrong)
    assert json.loads(world.read("history.json") or b"[]") == []


# ── the file of the session ──────────────────────────────────────────────────


def test_session_memory_that_fails_keeps_all_and_waits_in_every_process(world: World, memory: Memory) -> None:
    world.write(said(60))
    model = Scripted(lambda _: RuntimeError("模型不在"))
    sent = memory.conversation(model, session=SESSION).context()
    assert len(sent) == 60
    assert memory.conversation(model, session=SESSION).context() == sent
    assert (len(model.prompts), len(world.events.of("conversation_failed"))) == (1, 1)
    with pytest.raises(NoSummary):
        memory.conversation(model, session=SESSION).summarize()
    assert places(memory) == ([], list(range(60)))

    world.forward(minutes=31)
    world.add(*said(10, 60))  # the next try is five turns later, too
    memory.conversation(telling(), session=SESSION).context()
    assert places(memory) == (list(range(64)), list(range(64, 70)))
    assert world.events.of("conversation_summarised")[-1]["messages"] == 64


def test_session_memory_is_continued_by_one_process_at_a_time(world: World, memory: Memory) -> None:
    world.write(said(60))
    mine = telling()
    other = memory.conversation(mine, session=SESSION)
    seen: list[object] = []

    def script(prompt: str) -> str:
        seen.append(len(other.context()))  # goes on without a summary
        with pytest.raises(Busy):
            other.summarize()
        other.add(question(fact(60)))
        return str(telling().script(prompt))

    assert memory.conversation(Scripted(script), session=SESSION).summarize()
    assert (seen, mine.prompts) == ([60], [])
    assert places(memory) == (list(range(54)), list(range(54, 61)))
