"""
`MemoryManager`: the memory of one conversation, which never outgrows the model's window; `TaskMemory`: that of one task.

The manager holds the conversation, lets the rule (`running.py`) decide, and has the user's model write the summary. Adding and
reading take no longer than a list; only the summary waits for the model, and one is written at a time.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Final, Self, get_args

from ..events import Events
from ..protocol.config import Config
from ..protocol.llm import PromptTemplate, shipped_template, without_secrets
from ..storage.clock import NEVER, Clock, Deadline, utc_now
from ..storage.errors import Busy, NoSummary
from ..summaries.model import CallLimits, Model
from ..summaries.schedule import Backoff
from ..text.language import Language, language_of
from ..text.llm_input import Fold, estimate_tokens, quote
from .asking import ChatStream, SummaryWriter, in_loop_of_its_own, model_of
from .running import (
    Conversation,
    Limits,
    Said,
    commit_points,
    dialogue,
    is_full,
    read_said,
    recomposed,
    refuse_too_long,
    to_sum_up,
)

#: The template that continues the summary, and the one that makes a long one shorter.
_TEMPLATES: Final = ("running-summary", "recursive-summary")
_JOINT: Final = "\n\n"


class MemoryManager:
    """
    The memory of one conversation: `conversation_summary`, and `message_buffer`, the whole history, which only grows (004).

    *llm* is any object with `chat_stream(messages=…, temperature=…)`, which gives an iterator of texts or chunks, plain or
    asynchronous. None: nothing is summed up, and the oldest turns are not sent once they no longer fit. *settings* may have
    `llm_context_length`, the tokens of the model's context; else that is `llm.context_tokens` of *config*. ValueError where a
    limit is none, or the system prompt is larger than the window. After the *deadline* no model is waited for.
    """

    def __init__(
        self,
        llm: ChatStream | Model | None = None,
        system_prompt: str = "",
        *,
        settings: object = None,
        config: Config | None = None,
        template: Callable[[str, Language], PromptTemplate] = shipped_template,
        events: Events | None = None,
        clock: Clock = utc_now,
        deadline: Deadline = NEVER,
    ) -> None:
        self.conversation_summary = ""
        self._buffer: list[dict[str, Any]] = []
        self._summed_up = 0  # how many of the oldest messages of the buffer the summary has, without system prompts
        self._config = config = config or Config()
        self._limits = limits_of(config, settings)
        self._model = None if llm is None else model_of(llm)
        self._deadline = deadline
        self._templates = {(n, language): template(n, language) for n in _TEMPLATES for language in get_args(Language)}
        self._events, self._clock = events, clock
        self._failure = Backoff()
        self._read: dict[int, Said] = {}
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        self._has_warned = False
        if system_prompt:
            self.add({"role": "system", "content": system_prompt})

    # ── the conversation ─────────────────────────────────────────────────────

    def add(self, message: Mapping[str, Any]) -> None:
        """
        Add a chat-completions message: the system prompt, a question, an answer, a call of a tool or its result.

        ValueError, and nothing is added, if it is no message, or a question that is larger than the window.
        """
        read = read_said(dict(message) if isinstance(message, Mapping) else message, self._limits.tokens_in)
        raw = dict(message)
        with self._lock:
            self._refresh()
            prompts, waiting = self._prompts(), map(self._as_read, reversed(self._messages()))
            question = next((message for message in waiting if message.is_question), None)
            if read.role != "system":
                question = read if read.is_question else question
            elif not read.text or read.text in prompts:
                return  # a framework may begin each turn with it
            else:
                prompts.append(read.text)
            refuse_too_long(Conversation(_JOINT.join(prompts), messages=(question,) if question else ()), self._limits)
            self._take(raw)

    @property
    def message_buffer(self) -> list[dict[str, Any]]:
        """Every message of the conversation as it was given, those that are summed up, too (004)."""
        return self._buffer

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The same, system prompts first."""
        return sorted(self.message_buffer, key=lambda raw: raw.get("role") != "system")

    @property
    def pending(self) -> list[dict[str, Any]]:
        """The messages that the summary does not have, without the system prompts."""
        with self._lock:
            self._refresh()
            return self._messages()

    def needs_summary(self) -> bool:
        """Return whether the conversation takes more than its share of the context, or has more messages than the limit."""
        with self._lock:
            self._refresh()
            return is_full(self._conversation(), self._limits)

    def recompose(self) -> list[dict[str, Any]]:
        """Return the messages for the model: system prompt and summary, the turns that stay, the open turn. Calls no model."""
        with self._lock:
            self._refresh()
            conversation = self._conversation()
        return recomposed(conversation, self._limits)

    def context(self) -> list[dict[str, Any]]:
        """Return the messages for the model, after what is due has been summed up."""
        self.summarize_due()
        return self.recompose()

    async def acontext(self) -> list[dict[str, Any]]:
        """Return the same as `context`, without waiting in the event loop."""
        await self._sum_up(by_hand=False)
        return self.recompose()

    def summarize_due(self) -> bool:
        """Sum up what is due, as `context` does before it answers; return whether anything was."""
        return self._sum_up_now(by_hand=False)

    def summarize(self) -> bool:
        """
        Sum up all but the turns that stay, due or not; return whether anything was.

        NoSummary if the model wrote none.
        """
        return self._sum_up_now(by_hand=True)

    async def asummarize(self) -> bool:
        """Do the same as `summarize`, without waiting in the event loop."""
        return await self._sum_up(by_hand=True)

    def task(self) -> TaskMemory:
        """Return the memory of one task, which never enters the conversation."""
        return TaskMemory()

    # ── the summary ──────────────────────────────────────────────────────────

    def _sum_up_now(self, *, by_hand: bool) -> bool:
        """Sum up in a thread of its own: an event loop may run in this one."""
        return bool(self._due(by_hand=by_hand)) and in_loop_of_its_own(self._sum_up(by_hand=by_hand))

    def _due(self, *, by_hand: bool) -> int:
        if self._model is None:
            if not self._has_warned and self.needs_summary():
                self._has_warned = True
                text = "no model sums up the conversation, which is larger than its window: the oldest turns are not sent"
                warnings.warn(text, stacklevel=3)
            return 0
        with self._lock:
            self._refresh()
            return to_sum_up(self._conversation(), self._limits, self._clock(), by_hand=by_hand)

    async def _sum_up(self, *, by_hand: bool) -> bool:
        """
        Sum up what is due; a failure is noted, and raised where a person asked.

        One summary is written at a time: False at once while another thread or coroutine writes one.
        """
        if not self._writing.acquire(blocking=False):
            return False
        try:
            with self._claimed():
                with self._lock:
                    count, conversation, waiting = self._due(by_hand=by_hand), self._conversation(), self._messages()
                if count and self._model:
                    await self._write(self._model, conversation, waiting, count)
        except (NoSummary, Busy):
            if by_hand:
                raise
            return False
        finally:
            self._writing.release()
        if count:
            self._emit("conversation_summarised", messages=count, tokens=estimate_tokens(self.conversation_summary))
        return bool(count)

    async def _write(self, model: Model, conversation: Conversation, waiting: Sequence[dict[str, Any]], count: int) -> None:
        """
        Have the model sum up the *count* oldest messages, in pieces; those of a finished piece are not sent any more.

        NoSummary, after it was noted.
        """
        oldest = conversation.messages[:count]
        language = language_of("\n".join(message.text for message in oldest))
        places = dialogue(oldest, language)
        privacy = self._config.privacy.knowing(message.text for message in oldest)
        entries = [replace(entry, text=without_secrets(entry.text, language, privacy)) for _, entry in places]
        points, done = commit_points(oldest), 0
        writer = self._writer(model, "\n".join((conversation.summary, *(entry.text for entry in entries))))
        fold = Fold(entries, conversation.summary, language)
        while fold.left:
            current = quote(without_secrets(fold.so_far, language, privacy), language) if fold.so_far else ""
            try:
                await writer.add_piece(fold, "running-summary", {"current_summary": current}, "new_dialogue_content")
            except NoSummary as failure:
                self._note(failure)
                raise
            at = places[-len(fold.left)][0] if fold.left else count
            if at in points and not (fold.left and fold.left[0].part):
                self._keep(fold.so_far, waiting[done:at])
                done = at
        if done < count:
            self._keep(fold.so_far, waiting[done:count])

    def _keep(self, summary: str, covered: Sequence[dict[str, Any]]) -> None:
        with self._lock:
            self._summed_up += len(covered)
            for raw in covered:
                self._read.pop(id(raw), None)
            self.conversation_summary = summary
            self._failure = Backoff()

    def _note(self, failure: NoSummary) -> None:
        with self._lock:
            self._failure = self._failure.again(self._clock())
        self._emit("conversation_failed", reason=failure.reason, attempts=self._failure.attempts)

    def _writer(self, model: Model, text: str) -> SummaryWriter:
        """Return the writer for a summary of *text*, whose tokens have as many characters as those of its summary."""
        limits, most, llm = self._limits, self._limits.summary_tokens, self._config.llm
        return SummaryWriter(
            model=model,
            template=lambda name, language: self._templates[name, language],
            max_chars=max(1, most * len(text) // max(1, limits.tokens_in(text))),
            size=limits.tokens_in,
            most=most,
            limits=CallLimits(timeout=llm.timeout, deadline=self._deadline, temperature=llm.temperature),
            context_tokens=limits.context_tokens,
            answer_tokens=most,
        )

    # ── what is held ─────────────────────────────────────────────────────────

    def _refresh(self) -> None:
        """Take in what others have done to the conversation, where this object shares it."""

    def _take(self, raw: dict[str, Any]) -> None:
        self._buffer.append(raw)

    def _messages(self) -> list[dict[str, Any]]:
        return [raw for raw in self._buffer if raw.get("role") != "system"][self._summed_up :]

    def _prompts(self) -> list[str]:
        return [self._as_read(raw).text for raw in self._buffer if raw.get("role") == "system"]

    def _conversation(self) -> Conversation:
        messages = tuple(map(self._as_read, self._messages()))
        return Conversation(_JOINT.join(self._prompts()), self.conversation_summary, messages, self._failure)

    def _as_read(self, raw: dict[str, Any]) -> Said:
        """Return the message as the rules read it, which is done once."""
        known = self._read.get(id(raw))
        if known is None or known.raw is not raw:
            known = self._read[id(raw)] = replace(read_said(raw, self._limits.tokens_in), raw=raw)
        return known

    def _claimed(self) -> AbstractContextManager[object]:
        """Return what is held while a summary is written; Busy where another process that shares the conversation holds it."""
        return nullcontext()

    def _emit(self, event: str, **fields: object) -> None:
        if self._events is not None:
            self._events.emit(event, **fields)


def limits_of(config: Config, settings: object = None) -> Limits:
    """
    Return the limits of a conversation; ValueError if the context is none.

    The context is that of *settings*, where they have one, and so is what counts tokens.
    """
    rule = config.conversation
    return Limits(
        context_tokens=getattr(settings, "llm_context_length", config.llm.context_tokens),
        share=rule.limit,
        max_messages=rule.max_messages,
        keep_turns=rule.keep_turns,
        counter=getattr(settings, "tokens_in", None),
    )


class TaskMemory:
    """
    The memory of one task: thoughts, actions and observations, which are freed when it ends and never enter a conversation.

    >>> with TaskMemory() as task:
    ...     task.thought("先查天气")
    ...     task.action("weather 泉州")
    ...     task.observation("小雨，24 度")
    ...     print(task)
    Thought: 先查天气
    Action: weather 泉州
    Observation: 小雨，24 度
    >>> task.steps
    ()
    """

    def __init__(self) -> None:
        self._steps: list[tuple[str, str]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._steps.clear()

    def __str__(self) -> str:
        return "\n".join(f"{kind}: {text}" for kind, text in self._steps)

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """What was thought, done and seen, in its order: (Thought | Action | Observation, text)."""
        return tuple(self._steps)

    def thought(self, text: str) -> None:
        """Add what the agent thinks."""
        self._steps.append(("Thought", text))

    def action(self, text: str) -> None:
        """Add what the agent does."""
        self._steps.append(("Action", text))

    def observation(self, text: str) -> None:
        """Add what came of it."""
        self._steps.append(("Observation", text))
