"""
The memory of a chat for LlamaIndex: a `ChatSummaryMemoryBuffer` that loses nothing.

Upstream's `get` replaces the stored messages by the summary and the rest, removes messages before the model has answered, and
does not count the summary. Here the store keeps every message. The summary is stored under a key of its own, and counts only
while the messages that it covers are still the first ones. The rule is that of `conversation/running.py`.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from sys import maxsize
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import ChatSummaryMemoryBuffer
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.utils import get_tokenizer

from ...conversation.memory_manager import MemoryManager
from ...conversation.running import Conversation, Limits, Said, read_said, refuse_too_long
from ...protocol.config import Config
from ...protocol.llm import PromptTemplate, shipped_template
from ...storage.lenient_json import render_json
from ...text.language import Language
from ...text.llm_input import estimate_tokens
from . import why_no_token_limit

if TYPE_CHECKING:
    from llama_index.core.llms.llm import LLM
    from llama_index.core.storage.chat_store import BaseChatStore

#: The key of the summary, after that of the messages.
_SUMMARY_KEY: Final = "{}#summary"
#: The field that gives the rule the place of a message in the store.
_PLACE: Final = "place"
_ROLES: Final = {
    MessageRole.DEVELOPER: "system",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
}
_MEDIA: Final = ("image", "audio", "video")
_SUMMARY_FIELD: Final = "{current_summary}"
_TALK_FIELD: Final = "{new_dialogue_content}"


def build_chat_memory(
    llm: LLM | None,
    token_limit: int = 64000,
    summarize_prompt: str | None = None,
    chat_store: BaseChatStore | None = None,
    chat_store_key: str = "default",
) -> ChatSummaryMemoryBuffer:
    """
    Return the memory of one chat: above *token_limit* its oldest turns go into a summary that *llm* writes.

    *summarize_prompt* is the instruction for that (default: the prompt that recalld ships), *chat_store* keeps the messages
    (default: as long as the process runs), *chat_store_key* names the session. Without *llm* nothing is summed up, and the
    oldest turns are not sent once they no longer fit. ValueError if *token_limit* is not a whole number of 1 or more.
    """
    if why := why_no_token_limit(token_limit):
        raise ValueError(why)
    return ChatMemory(
        llm=llm,
        token_limit=token_limit,
        summarize_prompt=summarize_prompt,
        tokenizer_fn=_tokenized,
        chat_store=SimpleChatStore() if chat_store is None else chat_store,
        chat_store_key=chat_store_key,
    )


class ChatMemory(ChatSummaryMemoryBuffer):
    """`get` returns the messages for the model, at most `token_limit` tokens; `get_all` returns every message."""

    _guard: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _manager: MemoryManager | None = PrivateAttr(default=None)
    #: The digests of the messages that the manager was given, and how many of them its summary has.
    _given: list[str] = PrivateAttr(default_factory=list)
    _summed_up: int = PrivateAttr(default=0)

    def get(self, input: str | None = None, initial_token_count: int = 0, **kwargs: Any) -> list[ChatMessage]:  # noqa: A002, ARG002
        """
        Return the summary as a system message, and the messages that it does not cover; an open question is always included.

        Messages that are due are summed up first. If the model fails, nothing is lost: as many turns are returned as fit.
        """
        with self._guard:
            messages = self.get_all()
            manager = self._given_all(messages)
            sent = manager.context()
            self._keep_summary(manager)
        chosen = [messages[message[_PLACE]] if _PLACE in message else _system(message["content"]) for message in sent]
        self._token_count = self._token_count_for_messages(chosen)
        return chosen

    def get_all(self) -> list[ChatMessage]:
        """Return every message."""
        return list(self.chat_store.get_messages(self.chat_store_key))

    def put(self, message: ChatMessage) -> None:
        """Store the message; ValueError, and nothing is stored, if system prompts and the last question outgrow the window."""
        self._refuse_too_long([message])
        super().put(message)

    async def aput(self, message: ChatMessage) -> None:
        """Do the same as `put`."""
        await asyncio.to_thread(self._refuse_too_long, [message])
        await super().aput(message)

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Store the messages, or none of them if `put` refuses one."""
        self._refuse_too_long(messages)
        for message in messages:
            super().put(message)

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace every message, and delete the summary of the old ones."""
        self._refuse_too_long(messages, replaced=True)
        with self._guard:
            self._forget()
            super().set(messages)

    def reset(self) -> None:
        """Delete every message, and their summary."""
        with self._guard:
            self._forget()
            super().reset()

    # ── the rule ─────────────────────────────────────────────────────────────

    def _given_all(self, messages: Sequence[ChatMessage]) -> MemoryManager:
        """Return the manager with every message that the summary lacks; a new manager if the stored messages are others."""
        digests = [sha256(_to_json(message)).hexdigest() for message in messages]
        manager, left_out = self._manager, 0
        if manager is None or digests[: len(self._given)] != self._given:
            manager = self._manager = self._new_manager()
            self._given = []
            manager.conversation_summary, self._summed_up = self._kept_summary(digests, messages)
            left_out = self._summed_up
        for place in range(len(self._given), len(messages)):
            raw = _wire(messages[place], place)
            if left_out and raw["role"] != "system":
                left_out -= 1
            elif not _is_repeated(raw, manager.message_buffer):
                manager.message_buffer.append(raw)
        self._given = digests
        return manager

    def _kept_summary(self, digests: Sequence[str], messages: Sequence[ChatMessage]) -> tuple[str, int]:
        """Return the stored summary, and how many messages it covers; "" and 0 if it covers other messages."""
        for kept in self.chat_store.get_messages(self._summary_key):
            count = kept.additional_kwargs.get("messages")
            if isinstance(count, int) and kept.additional_kwargs.get("digest") == _digest(digests, messages, count):
                return kept.content or "", count
        return "", 0

    def _keep_summary(self, manager: MemoryManager) -> None:
        messages = self.get_all()[: len(self._given)]
        count = sum(_role(message) != "system" for message in messages) - len(manager.pending)
        if count == self._summed_up:
            return
        about = {"messages": count, "digest": _digest(self._given, messages, count)}
        summary = ChatMessage(role=MessageRole.SYSTEM, content=manager.conversation_summary, additional_kwargs=about)
        self.chat_store.set_messages(self._summary_key, [summary])
        self._summed_up = count

    def _forget(self) -> None:
        self.chat_store.delete_messages(self._summary_key)
        self._manager, self._given, self._summed_up = None, [], 0

    @property
    def _summary_key(self) -> str:
        return _SUMMARY_KEY.format(self.chat_store_key)

    def _limits(self) -> Limits:
        """Return the limits: the model's context bounds a request for a summary, `token_limit` the messages that are sent."""
        window = self.llm.metadata.context_window if self.llm is not None else 0
        context = max(self.token_limit, window)
        share = self.token_limit / context
        return Limits(context_tokens=context, share=share, max_messages=maxsize, counter=_tokens_in)

    def _new_manager(self) -> MemoryManager:
        limits, config = self._limits(), Config()
        rule = replace(config.conversation, limit=limits.share, max_messages=limits.max_messages)
        return MemoryManager(
            None if self.llm is None else _Model(self.llm),
            settings=SimpleNamespace(llm_context_length=limits.context_tokens, tokens_in=_tokens_in),
            config=replace(config, conversation=rule),
            template=_template(self.summarize_prompt),
        )

    def _refuse_too_long(self, messages: Sequence[ChatMessage], *, replaced: bool = False) -> None:
        """Raise ValueError if the window has no room for system prompts and a question; *replaced*: only those given count."""
        if not any(_role(message) in ("system", "user") for message in messages):
            return
        before = [] if replaced else [message for message in self.get_all() if _role(message) in ("system", "user")]
        limits = self._limits()
        prompts: list[str] = []
        question: tuple[Said, ...] = ()
        for n, message in enumerate((*before, *messages)):
            spoken = read_said(_wire(message, 0), _tokens_in)
            if spoken.role == "system":
                prompts += [spoken.text] if spoken.text not in prompts else []
            elif spoken.is_question:
                question = (spoken,)
            if n >= len(before):
                refuse_too_long(Conversation("\n\n".join(prompts), messages=question), limits)


class _Model:
    """An LLM of LlamaIndex with the method that the core calls; the LLM keeps its own temperature."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def chat_stream(self, *, messages: list[dict[str, Any]], temperature: float) -> Iterator[str]:  # noqa: ARG002
        """Yield the answer in one piece."""
        # not achat: a client that was made in one event loop fails in another
        answer = self._llm.chat([ChatMessage(role=message["role"], content=message["content"]) for message in messages])
        yield answer.message.content or ""


def _template(instruction: str | None) -> Callable[[str, Language], PromptTemplate]:
    """Return the prompts; the *instruction* replaces the shipped one for the running summary."""

    def template(name: str, language: Language) -> PromptTemplate:
        shipped = shipped_template(name, language)
        if not instruction or _SUMMARY_FIELD not in shipped.text:
            return shipped
        if _SUMMARY_FIELD in instruction and _TALK_FIELD in instruction:
            return PromptTemplate(shipped.name, instruction)
        return PromptTemplate(shipped.name, f"{instruction.rstrip()}\n\n{shipped.turns()[-1].content}")

    return template


# ── messages ─────────────────────────────────────────────────────────────────


def _wire(message: ChatMessage, place: int) -> dict[str, Any]:
    calls = [_call(block) for block in message.blocks if isinstance(block, ToolCallBlock)]
    calls = calls or [_plain(call) for call in message.additional_kwargs.get("tool_calls") or ()]
    files = [
        {"type": block.block_type if block.block_type in _MEDIA else "file", "url": str(getattr(block, "url", None) or "")}
        for block in message.blocks
        if not isinstance(block, TextBlock | ThinkingBlock | ToolCallBlock)
    ]
    text = message.content or ""
    raw: dict[str, Any] = {"role": _role(message), "content": [{"type": "text", "text": text}, *files] if files else text}
    if calls:
        raw["tool_calls"] = calls
    if answered := message.additional_kwargs.get("tool_call_id"):
        raw["tool_call_id"] = str(answered)
    return {**raw, _PLACE: place}


def _to_json(message: ChatMessage) -> bytes:
    """Return the message as LlamaIndex writes it; a lone surrogate, which it refuses, is escaped."""
    try:
        text: str = message.model_dump_json()
    except ValueError:
        return render_json(message.model_dump(mode="json"))
    return text.encode()


def _call(block: ToolCallBlock) -> dict[str, Any]:
    arguments = block.tool_kwargs if isinstance(block.tool_kwargs, str) else json.dumps(block.tool_kwargs, ensure_ascii=False)
    function = {"name": block.tool_name, "arguments": arguments}
    return {"id": block.tool_call_id or block.tool_name, "type": "function", "function": function}


def _plain(call: Any) -> Any:
    """Return a call as JSON; some clients leave their own objects in a message."""
    return call.model_dump() if hasattr(call, "model_dump") else call


def _role(message: ChatMessage) -> str:
    role: str = _ROLES.get(message.role, message.role.value)
    return role


def _is_repeated(raw: dict[str, Any], before: Sequence[dict[str, Any]]) -> bool:
    """True if the message repeats a system prompt, with which a framework may begin each turn."""
    return raw["role"] == "system" and any(
        message["role"] == "system" and message["content"] == raw["content"] for message in before
    )


def _system(content: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.SYSTEM, content=content)


def _digest(digests: Sequence[str], messages: Sequence[ChatMessage], count: int) -> str:
    """Return one digest of the first *count* messages that are not system prompts; "" if there are fewer."""
    digests_said = [digest for digest, message in zip(digests, messages, strict=False) if _role(message) != "system"]
    return sha256("".join(digests_said[:count]).encode()).hexdigest() if count <= len(digests_said) else ""


# ── tokens ───────────────────────────────────────────────────────────────────


def _tokens_in(text: str) -> int:
    """Return the tokens that LlamaIndex's tokenizer counts in the text; an estimate where that fails."""
    try:
        return _counted(get_tokenizer(), text)
    except Exception:  # noqa: BLE001 - it is the user's own, or has to be downloaded: an error in it must not lose the message
        return estimate_tokens(text)


def _tokenized(text: str) -> list[int]:
    return [0] * _tokens_in(text)


@lru_cache(maxsize=8192)
def _counted(tokenizer: Callable[[str], list[Any]], text: str) -> int:
    """Return the tokens of the text; cached, since every put and get counts the same texts again."""
    return len(tokenizer(text))
