"""
An answer as it streams in: words are collected, thinking is dropped, what it cost is read or estimated. No I/O.

Nothing that a server sends is trusted to be of the type that it should be.
"""

from __future__ import annotations

from typing import Any, Final

from supervisor.text.tokens import estimate
from worker.providers import faults
from worker.providers.completion import Completion, ProviderError, Usage
from worker.providers.spoken import spoken

#: Characters after which an answer that does not end is cut off: thinking included, more than any context holds of an answer.
_MOST: Final = 400_000


class Answer:
    """A stream as far as it has come."""

    def __init__(self, prompt: str, cjk_weight: float) -> None:
        # what a server can't be sent: lone surrogates are in messages, not in UTF-8
        self.prompt = prompt.encode("utf-8", "replace").decode()
        self.calls = 1
        self.began = False
        self.is_mute = False  # the stream ended well, without a single chunk
        self.is_too_long = False
        self._cjk_weight = cjk_weight
        self._parts: list[str] = []
        self._length = 0
        self._ending = ""
        self._told: tuple[int, int] | None = None

    def take(self, chunk: Any) -> None:
        """Add one chunk, or the whole where nothing streamed. Of whatever a server sends only strings count as words."""
        if not (hasattr(chunk, "choices") and isinstance(chunk.choices, list)):
            raise ValueError("no chunk of a chat completion")
        self.began = True
        told = getattr(chunk, "usage", None)
        if told is not None and isinstance(told.prompt_tokens, int) and isinstance(told.completion_tokens, int):
            self._told = told.prompt_tokens, told.completion_tokens
        for choice in chunk.choices[:1]:
            delta = getattr(choice, "delta", None) or getattr(choice, "message", None)
            words = getattr(delta, "content", None)
            # reasoning_content is thinking, and dropped here; what it costs is in the server's figures
            if isinstance(words, str):
                self._parts.append(words)
                self._length += len(words)
            refusal = getattr(delta, "refusal", None)
            if isinstance(refusal, str) and refusal:
                self._ending = "refusal"
            elif isinstance(choice.finish_reason, str) and self._ending != "refusal":
                self._ending = choice.finish_reason
        if self._length > _MOST:
            self._ending, self.is_too_long = "length", True

    @property
    def text(self) -> str:
        """What was said so far."""
        return "".join(self._parts).encode("utf-8", "replace").decode()

    @property
    def usage(self) -> Usage:
        """The server's own figures, else an estimate of both sides; no tokens where no answer began."""
        if not self.began:
            return Usage(self.calls)
        told = self._told or (estimate(self.prompt, self._cjk_weight), estimate(self.text, self._cjk_weight))
        return Usage(self.calls, *told)

    def completion(self, before: Usage) -> Completion:
        """Return the finished answer; ProviderError when it is none."""
        usage = before + self.usage
        text = spoken(self.text)
        fault = faults.ENDINGS.get(self._ending) if self.began else faults.STRANGE
        if fault is None and not text:
            fault = faults.EMPTY
        if fault:
            raise ProviderError(fault.reason, fault.why, usage=usage)
        return Completion(text, usage)
