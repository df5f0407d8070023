"""The prompts by the names of CountBot, and those of a workspace."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from recalld import Memory, prompts
from recalld.supervisor.protocol.llm import load_template
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


@pytest.mark.parametrize("save", [lambda data: data.replace(b"\n", b"\r\n"), lambda data: b"\xef\xbb\xbf" + data])
def test_prompt_of_a_workspace_asks_the_same_however_an_editor_saves_it(world, save):
    own = (resources.files("recalld.prompts") / "daily-summary.zh.md").read_bytes() + "\n语气要像老朋友。\n".encode()
    asked = []
    for data in (own, save(own)):
        world.put("prompts/daily-summary.zh.md", data)
        template = load_template("daily-summary", "zh", world.files, world.paths)
        asked.append(template.fill(date="2026-01-10", messages="材料"))
    assert "老朋友" in asked[0]
    assert asked[0] == asked[1]
