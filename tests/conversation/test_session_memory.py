"""The running summary of a session: where it continues, what it costs, and that no message is in it twice or nowhere, by any clock."""

import json
import re
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld import Memory
from recalld.supervisor.conversation.sessions import session_digest
from recalld.supervisor.storage.errors import Busy, NoSummary
from tests.conversation.talk import Scripted, answer, fenced, question
from tests.world import ZONE, World, at, message

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


# ── what is summed up ────────────────────────────────────────────────────────


def told(model: Scripted) -> list[int]:
    """The facts that a model was told, in their order; what it had summed up before counts once."""
    return list(dict.fromkeys(n for prompt in model.prompts for n in facts(fenced(prompt)[-1])))


def as_before(world: World) -> None:
    """Write the session's file as 0.9.0 had it: its markers have a moment alone."""
    path = world.paths.session(session_digest(SESSION))
    raw = json.loads(path.read_bytes())
    for marker in (*raw["markers"].values(), (raw.get("running") or {}).get("marker")):
        for name in ("format", "messages", "files"):
            (marker or {}).pop(name, None)
    world.put(str(path.relative_to(world.root)), json.dumps(raw).encode())


def sent(n: int, time: Any) -> dict[str, Any]:
    """The n-th message, as a program writes it whose clock says *time*."""
    return message(
        f"m{n}", time.astimezone(ZONE).strftime("%Y-%m-%dT%H:%M:%S"), fact(n), ("user", "assistant")[n % 2], session=SESSION
    )


def test_session_with_the_marker_of_0_9_0_is_summed_up_again(world: World) -> None:
    world.write([sent(n, world.clock() + timedelta(minutes=n - 60)) for n in range(20)])
    memory = Memory(world.ws, clock=world.clock)
    assert memory.summarize(SESSION, llm=telling())
    as_before(world)
    model = telling()
    assert memory.summarize(SESSION, llm=model)
    assert {*told(model)} == {*range(20)}


class Talks:
    """A session whose messages come from clocks that are wrong, and what was told to models that sum it up."""

    def __init__(self, root: Path) -> None:
        self.world = World(root, at("2026-01-31T10:00"))
        self.model, self.line_model, self.raws = telling(), telling(), []

    def act(self, act: str, skew: int) -> None:
        memory = Memory(self.world.ws, clock=self.world.clock)
        match act:
            case "say":
                self.world.forward(minutes=1)
                self.raws.append(sent(len(self.raws), self.world.clock() + timedelta(minutes=skew)))
                self.world.write(self.raws)
            case "continue":
                memory.conversation(self.model, session=SESSION).summarize()
            case "summarize" if self.raws:
                memory.summarize(SESSION, llm=self.line_model)
            case "archive":
                self.world.round("all")
        self.world.reopen()

    def check(self) -> None:
        everything = {*range(len(self.raws))}
        _, shown = places(Memory(self.world.ws, clock=self.world.clock))
        assert {*shown} | {*told(self.model)} == everything


SKEWS = st.sampled_from([0, 0, 0, 1, -5, 540, -540, 1_300, -60 * 24 * 40])
ACTS = st.sampled_from(["say", "say", "say", "say", "continue", "summarize", "archive"])


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(ACTS, SKEWS), min_size=8, max_size=40))
def test_every_message_that_no_summary_covers_is_shown(steps: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        talks = Talks(Path(folder))
        for act, skew in steps:
            talks.act(act, skew)
        talks.check()
        if talks.raws:
            talks.act("summarize", 0)
            assert {*told(talks.line_model)} == {*range(len(talks.raws))}
