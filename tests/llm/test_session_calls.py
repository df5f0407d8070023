"""A call for a session counts as that of a task does: its tokens, the day's cap, and the provider's pause."""

from pathlib import Path
from typing import Any

import pytest

from recalld import Memory
from recalld.supervisor.storage.clock import to_wire
from recalld.supervisor.storage.errors import NoSummary
from tests.llm.server import Act, Server
from tests.llm.shop import KEY, ServedWorld
from tests.world import message, talk

LINE = Act(text="备份脚本改到凌晨 4:15，端口 8443")
AWAY = Act(status=503, message="Loading model")


@pytest.fixture
def world(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> ServedWorld:
    """A day that is due for a summary, and a session."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made = ServedWorld(tmp_path, server)
    old = message("m1", "2026-01-10T09:00", "备份脚本改到凌晨 4:15，端口 8443。", archived=False)
    new = message("m2", "2026-01-30T09:00", "备份脚本改到凌晨 4:15，端口 8443。", archived=False, session="备份")
    made.write([old, new])
    return made


def summed_up(world: ServedWorld) -> bool:
    """Sum the session up, as a process beside the supervisor does, by a worker that is a process, too."""
    ws = world.another().ws
    ws.environ = {"RECALLD_NOW": to_wire(world.clock())}
    return Memory(ws, clock=world.clock).summarize("备份", again=True) is not None


def today(world: ServedWorld) -> dict[str, Any]:
    found: dict[str, Any] = world.status()["today"]
    return found


def test_session_call_adds_its_tokens_to_those_of_the_tasks(world, server):
    server.play(LINE)
    assert summed_up(world)
    assert today(world)["promptTokens"] + today(world)["completionTokens"] == server.seen.tokens > 0
    world.settle()
    assert (today(world)["calls"], server.seen.calls) == (2, 2)
    assert today(world)["promptTokens"] + today(world)["completionTokens"] == server.seen.tokens


def test_session_call_that_fails_pauses_the_provider_for_tasks_too(world, server):
    server.play(AWAY, LINE)
    with pytest.raises(NoSummary, match="still loading the model"):
        summed_up(world)
    assert world.plan()["providerPausedUntil"] == today(world)["pausedUntil"] is not None
    world.settle()
    assert server.seen.calls == 1
    world.forward(minutes=12)
    assert summed_up(world)
    assert today(world)["pausedUntil"] is None
    assert server.seen.calls == 2


def test_session_call_that_is_too_long_for_the_server_is_made_with_half(world, server):
    said = [f"第 {n} 号箱子在阁楼第 {n % 7} 层，贴着蓝色的标签，里面是冬天的衣服和两床被子。" for n in range(40)]
    world.write(
        [message(f"b{n}", f"2026-01-30T10:{n:02d}", text, archived=False, session="备份") for n, text in enumerate(said)]
    )
    server.play("too long", Act(text="箱子都在阁楼，贴着蓝色的标签，里面是冬天的衣服和被子。"))
    assert summed_up(world)
    whole, *halves = server.seen.prompts
    assert all(text in whole for text in said)
    assert len(halves) > 1
    assert max(map(len, halves)) < len(whole)
    assert all(sum(text in half for half in halves) == 1 for text in said)


def test_turn_continues_no_summary_while_the_provider_is_paused(world, server):
    server.play(AWAY)
    world.configure('[turns]\noverflow = "summary"')
    world.settle()
    world.add(*(one | {"session": "备份"} for one in talk("2026-01-31T08:00", 30)))
    other = world.another()
    made = Memory(other.ws, clock=world.clock).context("备份在哪里？", session="备份")
    assert (server.seen.calls, other.events.of("conversation_failed")) == (1, [])
    assert made.history


def test_session_call_is_not_made_where_the_calls_of_the_day_are_spent(world, server):
    server.play(LINE)
    world.configure("max_calls_per_day = 1")
    world.settle()
    with pytest.raises(NoSummary, match="the day's 1 calls are used up") as refused:
        summed_up(world)
    assert (refused.value.reason, server.seen.calls) == ("spent", 1)
