"""
The words of a model's answer, from the bytes of a response: a whole object, or a stream of server-sent events. Pure.

An answer that calls a tool is not the final one, and no talk. Nor is one that did not end as its protocol says it ends: the
server failed or went away in the middle, or the client did.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...context.spoken import spoken
from ...text.record import record
from .talk import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .talk import Kind

#: Kinds of parts and of items with which a model calls a tool of the client.
_CALLS: Final = frozenset({"tool_use", "function_call", "custom_tool_call", "computer_call", "local_shell_call"})
#: The end of a stream of chat completions.
_DONE: Final = "[DONE]"
#: A `finish_reason` that is none of the API: the server gave up.
_FAILED: Final = ("error", "abort")


@record
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
                return replace(answer, is_whole=answer.is_whole or kind == "chat")
            if isinstance(event, dict):
                if event.get("error"):  # the end may follow all the same
                    return replace(answer, is_whole=False)
                answer = _READ[kind](answer, event)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, IndexError):
        return replace(answer, is_whole=False)
    return answer


def _events(data: bytes) -> Iterator[Any]:
    for line in data.splitlines():
        if line.startswith(b"data:") and line[5:].strip():
            try:
                yield _DONE if line[5:].strip() == _DONE.encode() else json.loads(line[5:])
            except ValueError:
                return  # the last one, cut off


def _chat(answer: Answer, event: Mapping[str, Any]) -> Answer:
    """Return the answer with a whole completion, or with a piece of one."""
    answer = replace(answer, id=answer.id or _id(event))
    for choice in event.get("choices") or ():
        if choice.get("index"):  # another answer to the same question
            continue
        message, ended = choice.get("message") or choice.get("delta") or {}, choice.get("finish_reason")
        if ended in _FAILED:
            raise ValueError(ended)
        words = words_of(message.get("content")) or message.get("refusal") or ""
        calls = bool(message.get("tool_calls") or message.get("function_call")) or ended in ("tool_calls", "function_call")
        answer = Answer(answer.words + words, answer.is_whole or bool(ended), answer.calls or calls, answer.id)
    return answer


def _responses(answer: Answer, event: Mapping[str, Any]) -> Answer:
    """Return the answer with a whole response, which has no type, or with an event of its stream."""
    match event.get("type"):
        case "response.output_text.delta" | "response.refusal.delta":
            return replace(answer, words=answer.words + event["delta"])
        case "response.created":
            return replace(answer, id=_id(event["response"]))
        case "response.completed" | "response.incomplete":
            event = event["response"]
        case str():
            return answer
    output = event.get("output") or ()
    words = "\n".join(words_of(item.get("content")) for item in output if item.get("type") == "message")
    calls = any(item.get("type") in _CALLS for item in output)
    return Answer(words or answer.words, event.get("status") in (None, "completed", "incomplete"), calls, _id(event))


def _messages(answer: Answer, event: Mapping[str, Any]) -> Answer:
    """Return the answer with a whole message, or with an event of its stream."""
    match event.get("type"):
        case "message_start":
            return replace(answer, id=_id(event["message"]))
        case "content_block_start":
            return _with_blocks(answer, [event["content_block"]])
        case "content_block_delta" if event["delta"].get("type") == "text_delta":
            return replace(answer, words=answer.words + event["delta"]["text"])
        case "message_stop":
            return replace(answer, is_whole=True)
        case "message":
            whole = Answer(is_whole=bool(event.get("stop_reason")), id=_id(event))
            return _with_blocks(whole, event["content"])
    return answer


def _with_blocks(answer: Answer, blocks: list[Mapping[str, Any]]) -> Answer:
    """Return the answer with the words of the blocks of text, which are one text that citations divide."""
    words = "".join(block["text"] for block in blocks if block.get("type") == "text")
    calls = any(block.get("type") in _CALLS for block in blocks)
    return replace(answer, words=answer.words + words, calls=answer.calls or calls)


def _id(event: Mapping[str, Any]) -> str:
    identity = event.get("id")
    return identity if isinstance(identity, str) else ""


_READ: Final[Mapping[Kind, Callable[[Answer, Mapping[str, Any]], Answer]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
}
