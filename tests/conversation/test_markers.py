"""What of a session is summed up is known by its messages, and by no moment: no clock hides a conversation."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld import Memory
from recalld.supervisor.conversation.sessions import session_digest
from tests.conversation.talk import Scripted, fenced
from tests.conversation.test_session_memory import SESSION, fact, facts, places, telling
from tests.world import ZONE, World, at, message

AHEAD = {"nine hours, in local times without an offset": timedelta(hours=9), "a year": timedelta(days=365)}


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


@pytest.mark.parametrize("ahead", AHEAD.values(), ids=AHEAD)
def test_messages_of_a_clock_that_was_ahead_hide_none_that_come_later(world: World, ahead: timedelta) -> None:
    start = world.clock()
    early = [sent(n, start - timedelta(hours=1) + timedelta(minutes=n) + ahead) for n in range(20)]
    world.write(early)
    memory = Memory(world.ws, clock=world.clock)
    talk = memory.conversation(telling(), session=SESSION)
    assert talk.summarize()
    covered, _ = places(memory)
    later = [sent(n, start + timedelta(minutes=n)) for n in range(20, 60)]
    world.write([*early, *later])
    world.forward(minutes=80)  # the talk goes on

    summed_up, shown = places(memory)
    assert set(covered) <= {*summed_up}
    assert {*range(20, 60)} <= {*shown}
    context = json.dumps(memory.context("还有吗？", session=SESSION).messages, ensure_ascii=False)
    assert {*range(30, 60, 2)} <= {*facts(context)}  # the user's; of the assistant's those that are near enough
    model = telling()
    assert memory.summarize(SESSION, llm=model)
    assert {*range(20, 60)} <= {*told(model)}


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
