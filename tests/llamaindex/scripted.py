"""Models of LlamaIndex that answer what a test says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import ChatMessage, ChatResponse, CompletionResponse, MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM


async def streamed(message: ChatMessage) -> AsyncIterator[ChatResponse]:
    """The words of the message one after the other, and its calls with the last."""
    words = message.content or ""
    for n in range(1, len(words)):
        yield ChatResponse(message=ChatMessage(role="assistant", content=words[:n]), delta=words[n - 1])
    yield ChatResponse(message=message, delta=words[-1:])


class Scripted(MockLLM):
    """A model that answers *script*, or what it returns for the prompt; an exception is raised."""

    _script: Any = None
    _prompts: list[str] = PrivateAttr(default_factory=list)

    def __init__(self, script: Any) -> None:
        super().__init__()
        self._script = script

    @property
    def prompts(self) -> list[str]:
        return self._prompts

    def chat(self, messages, **kwargs):
        prompt = "\n".join(one.content or "" for one in messages)
        self._prompts.append(prompt)
        said = self._script(prompt) if callable(self._script) else self._script
        if isinstance(said, Exception):
            raise said
        return ChatResponse(message=ChatMessage(role="assistant", content=said))

    async def achat(self, messages, **kwargs):
        return self.chat(messages, **kwargs)

    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text=self.chat([ChatMessage(role="user", content=prompt)]).message.content)

    async def acomplete(self, prompt, formatted=False, **kwargs):
        return self.complete(prompt)


class ScriptedTools(MockFunctionCallingLLM):
    """A model that calls `weather` for each question, and answers when it has what it asked for."""

    _seen: list[list[ChatMessage]] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[list[ChatMessage]]:
        return self._seen

    async def achat(self, messages, **kwargs):
        self._seen.append(list(messages))
        if messages[-1].role == "tool":
            return ChatResponse(message=ChatMessage(role="assistant", content="小雨，24 度，不冷。"))
        call = ToolCallBlock(tool_call_id=f"c{len(self._seen)}", tool_name="weather", tool_kwargs={"city": "泉州"})
        return ChatResponse(message=ChatMessage(role="assistant", blocks=[call]))

    async def achat_with_tools(self, tools, user_msg=None, chat_history=None, **kwargs):
        return await self.achat(chat_history or [])

    async def astream_chat_with_tools(self, tools, user_msg=None, chat_history=None, **kwargs):
        return streamed((await self.achat(chat_history or [])).message)
