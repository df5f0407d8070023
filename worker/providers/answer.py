"""
An answer of an OpenAI-compatible server, as far as it has streamed in. No I/O.

No value of a chunk is trusted to have the type that it should have.
"""

from __future__ import annotations

from typing import Any, Final

from recalld.supervisor.protocol.prompts import Prompt, text_of, turns_of
from recalld.supervisor.text.llm_output import goes_round, without_thinking
from recalld.supervisor.text.token_count import estimate_tokens

from ..providers import Completion, ProviderError, Usage, http_errors

#: The most characters of an answer, with thinking, more than fit into any context; an answer that does not end is cut off.
_MAX_CHARS: Final = 400_000
#: How many characters come in between two looks whether the answer goes round in a circle.
_LOOK_CHARS: Final = 2_000


class Answer:
    """An answer as far as it has streamed in. No I/O."""

    def __init__(self, prompt: Prompt, cjk_weight: float) -> None:
        # messages may have lone surrogates, which UTF-8 can't encode
        self.turns = [turn._replace(content=turn.content.encode("utf-8", "replace").decode()) for turn in turns_of(prompt)]
        self.calls = 1
        self.began = False
        self.model = ""  # by the server's word
        self.is_mute = False  # the stream ended without an error and without a chunk
        self.is_enough = False  # what follows is not read: the text is too long, or goes round in a circle
        self._looked = 0
        self._cjk_weight = cjk_weight
        self._parts: list[str] = []
        self._length = 0
        self._ending = ""
        self._reported: tuple[int, int] | None = None  # by the server, of prompt and completion

    def take(self, chunk: Any) -> None:
        """Add one chunk, or a whole answer. Only strings count as text; ValueError when it is no chunk of a chat completion."""
        if not (hasattr(chunk, "choices") and isinstance(chunk.choices, list)):
            raise ValueError("no chunk of a chat completion")
        self.began = True
        if isinstance(named := getattr(chunk, "model", None), str):
            self.model = named.rpartition("/")[2] if named.startswith("/") else named  # llama.cpp gives the path of the file
        usage = getattr(chunk, "usage", None)
        if usage is not None and isinstance(usage.prompt_tokens, int) and isinstance(usage.completion_tokens, int):
            self._reported = usage.prompt_tokens, usage.completion_tokens
        for choice in chunk.choices[:1]:
            delta = getattr(choice, "delta", None) or getattr(choice, "message", None)
            words = getattr(delta, "content", None)
            # reasoning_content is thinking, and dropped here; its cost is in the server's figures
            if isinstance(words, str):
                self._parts.append(words)
                self._length += len(words)
            refusal = getattr(delta, "refusal", None)
            if isinstance(refusal, str) and refusal:
                self._ending = "refusal"
            elif isinstance(choice.finish_reason, str) and self._ending != "refusal":
                self._ending = choice.finish_reason
        if self._length > _MAX_CHARS:
            self._ending, self.is_enough = "length", True
        elif self._length - self._looked >= _LOOK_CHARS:
            self._looked = self._length
            if goes_round("".join(self._parts)[-_LOOK_CHARS:]):
                self._ending, self.is_enough = "stop", True  # it is judged as it is

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts).encode("utf-8", "replace").decode()

    @property
    def usage(self) -> Usage:
        """The cost by the server's own figures, else estimated; no tokens when no answer began."""
        if not self.began:
            return Usage(self.calls)
        if self._reported:
            return Usage(self.calls, *self._reported)
        weight = self._cjk_weight
        return Usage(self.calls, estimate_tokens(text_of(tuple(self.turns)), weight), estimate_tokens(self.text, weight))

    def completion(self, before: Usage) -> Completion:
        """Return the finished answer, its usage added to that of *before*; ProviderError when it is incomplete or empty."""
        usage = before + self.usage
        text = without_thinking(self.text)
        error = http_errors.ENDINGS.get(self._ending) if self.began else http_errors.STRANGE
        if error is None and not text:
            error = http_errors.THOUGHT if self.text.strip() else http_errors.EMPTY
        if error:
            raise ProviderError(error.reason, error.why, usage=usage, text=text if error.reason == "truncated" else "")
        return Completion(text, usage, self.model)
