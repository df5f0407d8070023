"""A memory block for LlamaIndex's `Memory`: it recalls from a workspace, and stores flushed messages there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from llama_index.core.memory import BaseMemoryBlock

from ...text.llm_input import estimate_tokens
from ..api import Memory
from .chat_store import message_to_json

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage


class RecalldMemoryBlock(BaseMemoryBlock[str]):
    """The block over the workspace at *root*; BadRequest if there is no such folder."""

    name: str = "recalld"
    root: str

    def __init__(self, root: str | os.PathLike[str], **fields: Any) -> None:
        super().__init__(root=str(Memory(root).workspace.paths.root), **fields)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        """Return the memory block for the user's last message; "" if nothing fits, or there is no such message."""
        question = next(
            (message.content for message in reversed(messages or []) if message.role.value == "user" and message.content), ""
        )
        if not question:
            return ""
        return await asyncio.to_thread(lambda: Memory(self.root).inject(question).memory)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Add messages of user and assistant to the workspace; messages that were added before are not added twice."""
        raws = _raws(messages)
        if raws:
            await asyncio.to_thread(lambda: Memory(self.root).append(raws))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the content without its last lines, which have at least these tokens; None if nothing is left."""
        lines = content.splitlines()
        room = estimate_tokens(content) - tokens_to_truncate
        while lines and estimate_tokens("\n".join(lines)) > room:
            lines.pop()
        return "\n".join(lines) or None


def _raws(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Return the messages of user and assistant with ids: the same list always gets the same ids, another list others."""
    texts = [(message, message.content or "") for message in messages if message.role.value in ("user", "assistant")]
    together = sha256(b"".join(message_to_json(message) for message, _ in texts)).hexdigest()
    raws = []
    for n, (message, text) in enumerate(texts):
        if not text.strip():
            continue
        identity = sha256(f"{together} {n}".encode()).hexdigest()[:16]
        session = message.additional_kwargs.get("session_id")
        where = {"session": session} if isinstance(session, str) else {}
        raws.append({"id": f"llamaindex-{identity}", "role": message.role.value, "text": text, **where})
    return raws
