"""A message of LlamaIndex as one line of JSON, and back; half of a character, as a stream may leave it, is kept."""

from __future__ import annotations

from llama_index.core.base.llms.types import ChatMessage

from recalld.supervisor.storage.lenient_json import parse_json, render_json


def message_to_json(message: ChatMessage) -> bytes:
    """Return the message as LlamaIndex writes it; a lone surrogate, which it refuses, is escaped."""
    try:
        text: str = message.model_dump_json()
    except ValueError:
        return render_json(message.model_dump(mode="json"))
    return text.encode()


def message_from_json(line: bytes) -> ChatMessage:
    """Return the message in the line; ValueError if there is none."""
    try:
        return ChatMessage.model_validate_json(line)
    except ValueError:
        return ChatMessage.model_validate(parse_json(line))
