"""The chat-completions messages of a turn: one system message at most, memory where it is configured, the time, the question."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.context.history_window import WindowMessage, turn_messages

MEMORY = "## Memory\n[memory/2026-01-28-allergy.md#L4] 我对花生过敏。\n"
FENCED = f"<memory>\n{MEMORY}</memory>"
NOW = datetime(2026, 1, 31, 10, 0, tzinfo=ZoneInfo("Asia/Shanghai"))
TIME = "(It is Saturday, 31 January 2026, 10:00.)"
TALK = (WindowMessage("user", "早", "m1", day_line="（2026年1月31日星期六）"), WindowMessage("assistant", "早上好", "m2"))


def made(**given: Any) -> list[tuple[str, str]]:
    turn: dict[str, Any] = {"system": "你是小记。", "memory": MEMORY, "history": TALK, "question": "花生酱呢？", "now": NOW}
    return [(one["role"], one["content"]) for one in turn_messages(**(turn | given))]


def test_messages_have_memory_after_the_system_prompt_if_configured():
    found = made(place="system")
    assert found[0] == ("system", f"你是小记。\n\n{FENCED}")
    assert found[-1] == ("user", f"{TIME}\n\n花生酱呢？")
    assert made(place="system", system="")[0] == ("system", FENCED)


SAID = st.lists(
    st.builds(WindowMessage, st.sampled_from(("user", "assistant")), st.sampled_from(("好", " ", "早\n")), st.just(""))
)


@given(
    SAID,
    st.sampled_from(("", "你是小记。\n ")),
    st.sampled_from(("", MEMORY)),
    st.sampled_from(("question", "system", "message")),
)
def test_messages_hold_at_most_one_system_message_the_first(said, system, memory, place):
    found = made(history=said, system=system, memory=memory, place=place)
    assert [role for role, _ in found[1:] if role == "system"] == []
    assert not system or found[0][1].startswith(system)


@pytest.mark.parametrize("place", ["question", "system", "message"])
@given(said=SAID)
def test_messages_alternate_from_the_user_on_if_configured(place, said):
    roles = [role for role, _ in made(history=said, place=place, alternate=True)[1:]]
    assert roles == [("user", "assistant")[n % 2] for n in range(len(roles))]
    assert roles[-1] == "user"
