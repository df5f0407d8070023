"""
The words of a model's answer, from the bytes of a response: a whole object, or a stream of server-sent events. Pure.

An answer that calls a tool is not the final one, and no talk. Nor is one that did not end as its protocol says it ends: the
server failed or went away in the middle, or the client did.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.context.spoken import spoken
from recalld.supervisor.interfaces.proxy.talk import words_of
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from recalld.supervisor.interfaces.proxy.talk import Kind

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
        for one in _events(data) if is_stream else (json.loads(data),):
            if one == _DONE:
                return replace(answer, is_whole=answer.is_whole or kind == "chat")
            if isinstance(one, dict):
                if one.get("error"):  # the end may follow all the same
                    return replace(answer, is_whole=False)
                answer = (_STREAMED if is_stream else _WHOLE)[kind](answer, one)
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


# ── chat completions ─────────────────────────────────────────────────────────


def _chat(_: Answer, found: Mapping[str, Any]) -> Answer:
    choice = found["choices"][0]
    return _said(Answer(id=_id(found)), choice["message"], choice.get("finish_reason"))


def _chat_piece(answer: Answer, found: Mapping[str, Any]) -> Answer:
    answer = replace(answer, id=answer.id or _id(found))
    for choice in found.get("choices") or ():
        if not choice.get("index"):
            answer = _said(answer, choice.get("delta") or {}, choice.get("finish_reason"))
    return answer


def _said(answer: Answer, message: Mapping[str, Any], ended: object) -> Answer:
    if ended in _FAILED:
        raise ValueError(ended)
    words = words_of(message.get("content")) or message.get("refusal") or ""
    calls = bool(message.get("tool_calls") or message.get("function_call")) or ended in ("tool_calls", "function_call")
    return Answer(answer.words + words, answer.is_whole or bool(ended), answer.calls or calls, answer.id)


# ── responses ────────────────────────────────────────────────────────────────


def _response(_: Answer, found: Mapping[str, Any]) -> Answer:
    output = found.get("output") or ()
    words = "\n".join(words_of(one.get("content")) for one in output if one.get("type") == "message")
    calls = any(one.get("type") in _CALLS for one in output)
    return Answer(words, found.get("status") in (None, "completed", "incomplete"), calls, _id(found))


def _response_piece(answer: Answer, found: Mapping[str, Any]) -> Answer:
    match found.get("type"):
        case "response.output_text.delta" | "response.refusal.delta":
            return replace(answer, words=answer.words + found["delta"])
        case "response.completed" | "response.incomplete":
            whole = _response(answer, found["response"])
            return replace(whole, words=whole.words or answer.words)
        case "response.created":
            return replace(answer, id=_id(found["response"]))
    return answer


# ── messages ─────────────────────────────────────────────────────────────────


def _message(_: Answer, found: Mapping[str, Any]) -> Answer:
    content = found.get("content")
    calls = any(one.get("type") in _CALLS for one in content) if isinstance(content, list) else False
    return Answer(_joined(content), bool(found.get("stop_reason")), calls, _id(found))


def _message_piece(answer: Answer, found: Mapping[str, Any]) -> Answer:
    match found.get("type"):
        case "message_start":
            return replace(answer, id=_id(found["message"]))
        case "content_block_start":
            block = found["content_block"]
            return replace(answer, words=answer.words + _joined([block]), calls=answer.calls or block.get("type") in _CALLS)
        case "content_block_delta" if found["delta"].get("type") == "text_delta":
            return replace(answer, words=answer.words + found["delta"]["text"])
        case "message_stop":
            return replace(answer, is_whole=True)
    return answer


def _joined(content: object) -> str:
    """Return the words of the blocks of text, which are one text that citations divide."""
    blocks = content if isinstance(content, list) else ()
    return "".join(one["text"] for one in blocks if one.get("type") == "text")


def _id(found: Mapping[str, Any]) -> str:
    one = found.get("id")
    return one if isinstance(one, str) else ""


_WHOLE: Final[Mapping[Kind, Callable[[Answer, Mapping[str, Any]], Answer]]] = {
    "chat": _chat,
    "responses": _response,
    "messages": _message,
}
_STREAMED: Final[Mapping[Kind, Callable[[Answer, Mapping[str, Any]], Answer]]] = {
    "chat": _chat_piece,
    "responses": _response_piece,
    "messages": _message_piece,
}
