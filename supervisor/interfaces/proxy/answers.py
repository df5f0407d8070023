"""
The words of a model's answer, from the bytes of a response: a whole object, or a stream of server-sent events. Pure.

An answer that calls a tool is not the final one, and no talk. Nor is one that did not end as its protocol says it ends: the
server failed or went away in the middle, or the client did.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ...context.spoken import spoken
from .talk import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .talk import Kind

#: Kinds of parts and of items with which a model calls a tool of the client.
_CALLS: Final = frozenset({"tool_use", "function_call", "custom_tool_call", "computer_call", "local_shell_call"})
#: A `finish_reason` that is none of the API: the server gave up.
_FAILED: Final = ("error", "abort")
#: The end of a stream of chat completions.
_DONE: Final = "[DONE]"


@dataclass
class Answer:
    """What was answered: the *words* so far, whether it is *whole*, whether it *calls* a tool, and the *id* of the response."""

    words: str = ""
    is_whole: bool = False
    calls: bool = False
    id: str = ""

    @property
    def text(self) -> str:
        """What the assistant said; "" until it is whole."""
        return spoken(self.words) if self.is_whole and not self.calls else ""


def read_answer(kind: Kind, data: bytes, *, is_stream: bool) -> Answer:
    """Return the answer that the *data* of a response have; an empty one for what is no answer."""
    answer = Answer()
    try:
        for event in _events(data) if is_stream else (json.loads(data),):
            if event == _DONE:
                answer.is_whole |= kind == "chat"
                break
            if event.get("error"):  # the end may follow all the same
                raise ValueError("the server failed")
            _READ[kind](answer, event)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, IndexError):
        answer.is_whole = False
    return answer


def _events(data: bytes) -> Iterator[Any]:
    for line in data.splitlines():
        if line.startswith(b"data:") and line[5:].strip():
            try:
                yield _DONE if line[5:].strip() == _DONE.encode() else json.loads(line[5:])
            except ValueError:
                return  # the last one, cut off


def _add_chat(answer: Answer, event: Mapping[str, Any]) -> None:
    """Add a whole completion, or a piece of one."""
    answer.id = answer.id or str(event.get("id") or "")
    for choice in event.get("choices") or ():
        if choice.get("index"):  # another answer to the same question
            continue
        message, ended = choice.get("message") or choice.get("delta") or {}, choice.get("finish_reason")
        if ended in _FAILED:
            raise ValueError(ended)
        answer.words += words_of(message.get("content")) or message.get("refusal") or ""
        answer.calls |= bool(message.get("tool_calls") or message.get("function_call"))
        answer.is_whole |= bool(ended)


def _add_response(answer: Answer, event: Mapping[str, Any]) -> None:
    """Add a whole response, which has no type, or an event of its stream."""
    match event.get("type"):
        case "response.output_text.delta" | "response.refusal.delta":
            answer.words += event["delta"]
            return
        case "response.completed" | "response.incomplete":
            event = event["response"]
        case str():
            return
    output = event.get("output") or ()
    words = "\n".join(words_of(item.get("content")) for item in output if item.get("type") == "message")
    answer.words, answer.id = words or answer.words, str(event.get("id") or "")
    answer.calls = any(item.get("type") in _CALLS for item in output)
    answer.is_whole = event.get("status") in (None, "completed", "incomplete")


def _add_message(answer: Answer, event: Mapping[str, Any]) -> None:
    """Add a whole message, or an event of its stream. Its blocks of text are one text that citations divide."""
    blocks: list[Mapping[str, Any]] = []
    match event.get("type"):
        case "message_start":
            answer.id = str(event["message"].get("id") or "")
        case "content_block_start":
            blocks = [event["content_block"]]
        case "content_block_delta" if event["delta"].get("type") == "text_delta":
            answer.words += event["delta"]["text"]
        case "message_stop":
            answer.is_whole = True
        case "message":
            answer.is_whole, answer.id, blocks = bool(event.get("stop_reason")), str(event.get("id") or ""), event["content"]
    answer.words += "".join(block["text"] for block in blocks if block.get("type") == "text")
    answer.calls |= any(block.get("type") in _CALLS for block in blocks)


_READ: Final[Mapping[Kind, Callable[[Answer, Mapping[str, Any]], None]]] = {
    "chat": _add_chat,
    "responses": _add_response,
    "messages": _add_message,
}
