"""The prompts by the names of CountBot, and those of a workspace."""

from __future__ import annotations

import re

import pytest

from recalld import Memory, prompts
from recalld.supervisor.storage.errors import BadRequest

#: The placeholders of each prompt, as programs of CountBot fill them.
NAMES = {
    "CONVERSATION_TO_MEMORY_PROMPT": "messages",
    "RECURSIVE_SUMMARY_PROMPT": "previous_summary past_messages char_limit",
    "OVERFLOW_SUMMARY_PROMPT": "messages",
    "MEMORY_ENTRY_TEMPLATE": "date source content",
    "HEARTBEAT_GREETING_PROMPT": "ai_name time_desc user_name idle_hours user_context personality_desc memory_context",
}


@pytest.mark.feature("000.39")
@pytest.mark.parametrize("name", NAMES)
def test_prompts_have_the_names_and_placeholders_of_countbot(name):
    prompt = getattr(prompts, name)
    assert set(re.findall(r"{(\w+)}", prompt)) == set(NAMES[name].split())
    filled = prompt.format(**{one: f"«{one}»" for one in NAMES[name].split()})
    assert all(f"«{one}»" in filled for one in NAMES[name].split())


def test_prompts_of_countbot_are_these_five():
    assert set(prompts.__all__) == {*NAMES, "workspace_prompt"}
    assert prompts.MEMORY_ENTRY_TEMPLATE == "{date}|{source}|{content}"
    with pytest.raises(AttributeError):
        _ = prompts.ANOTHER_PROMPT


@pytest.mark.parametrize("asked", [("../recalld",), ("heartbeat-greeting", "../zh")])
def test_workspace_prompt_refuses_what_is_no_prompt(world, asked):
    with pytest.raises(BadRequest):
        prompts.workspace_prompt(Memory(world.ws, clock=world.clock), *asked)
