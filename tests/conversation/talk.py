"""Messages of a conversation, and models that answer for a summary."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any


def question(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def call(*ids: str, tool: str = "weather") -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps({"city": "泉州"}, ensure_ascii=False)}
    calls = [{"id": one, "type": "function", "function": function} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(identity: str, text: str = "小雨") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": text}


class Scripted:
    """A model that answers what *script* returns for the last turn, a character at a time; an exception is raised."""

    def __init__(self, script: Callable[[str], str | Exception]) -> None:
        self.script = script
        self.asked: list[list[dict[str, Any]]] = []
        self.prompts: list[str] = []  # the last turns
        self.temperatures: list[float] = []

    def chat_stream(self, *, messages: list[dict[str, Any]], temperature: float) -> Iterator[str]:
        *_, message = messages
        self.asked.append(messages)
        self.prompts.append(message["content"])
        self.temperatures.append(temperature)
        said = self.script(message["content"])
        if isinstance(said, Exception):
            raise said
        yield from said


def fenced(prompt: str) -> list[str]:
    """The quoted texts of a prompt: the summary so far, where there is one, and the conversation."""
    return [text for _, text in re.findall(r"^(`{3,})\n(.*?)\n\1$", prompt, re.DOTALL | re.MULTILINE)]
