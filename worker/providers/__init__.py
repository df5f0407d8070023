"""
What a provider is, what it gives back, and the one error that it raises.

Two kinds exist: a *summariser* makes the whole text by itself (extracts need no prompt); a *model* completes prompts, one at a
time, without tools, and worker/writing.py does the rest. Source: architecture.md, rule 7; protocol.md, 6.

Who writes a summary: a model behind an OpenAI-compatible server, or extracts where there is none.

A new provider is one file here that offers ``make(config, environ)`` and returns a `Model` or a `Summariser`
(completion.py), one line in PROVIDERS, and its word among the choices of ``[llm] provider``.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.protocol.config import Config
    from supervisor.protocol.dated_file import Block
    from supervisor.protocol.task import Reason, Task


class Provider(Protocol):
    """Who writes the text, as its result and its summary name it."""

    name: str
    model: str
    extract: bool  # no model wrote it


class Summariser(Provider, Protocol):
    """A provider that makes the whole text."""

    def summarise(self, task: Task, blocks: Sequence[Block]) -> str:
        """Return the Markdown body, "" when there is nothing to record."""
        ...


@runtime_checkable
class Model(Provider, Protocol):
    """A provider that completes a prompt. Its own retries are off: retry has one owner, the supervisor."""

    def complete(
        self, prompt: str, *, max_tokens: int, calling: Callable[[], None], cancelled: Callable[[], bool]
    ) -> Completion:
        """
        Return what the model wrote; ProviderError when it did not come to its end.

        *max_tokens* bounds the answer. *calling* is called before each request; where it raises NoCall none is sent.
        *cancelled* is asked about ten times a second: once it says yes, the connection is closed and Cancelled raised.
        """
        ...


@dataclass(frozen=True, slots=True)
class Usage:
    """What was paid: *calls* are requests that were sent, the tokens as the server tells them, else estimated."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    def wire(self) -> dict[str, int]:
        """Return it as a result carries it."""
        return {"calls": self.calls, "promptTokens": self.prompt_tokens, "completionTokens": self.completion_tokens}


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that came to its end, with thinking and wrapping taken off; never blank."""

    text: str
    usage: Usage


class ProviderError(Exception):
    """
    No usable text came. *reason* is the result's, *why* one sentence without a key and without a message's words in it.

    *overflow*: the prompt was too long, and a shorter one may pass. *retry_after_s*: what the server asked to wait, 0 where it
    did not say.
    """

    def __init__(self, reason: Reason, why: str, *, usage: Usage, overflow: bool = False, retry_after_s: int = 0) -> None:
        super().__init__(why)
        self.reason: Reason = reason
        self.why, self.usage, self.overflow, self.retry_after_s = why, usage, overflow, retry_after_s


class Cancelled(Exception):
    """The worker was told to end, or has lost the task: nothing is delivered."""


class NoCall(Exception):
    """The model may not be asked now: the day has had its calls, or one can't be written down. Nothing is delivered."""


#: The module of each provider, imported when it is chosen: a client is heavy, and extracts need none.
PROVIDERS: Final = {
    "extractive": "worker.providers.extractive",
    "openai": "worker.providers.openai",
}


def choose(config: Config, environ: Mapping[str, str]) -> Model | Summariser:
    """
    Return the provider that the configuration asks for; "auto" is openai where base_url or model is set.

    *environ* is where a provider looks for its key. BadConfig when what it needs is not there.
    """
    llm = config.llm
    name = llm.provider
    if name == "auto":
        name = "openai" if llm.base_url or llm.model else "extractive"
    made: Model | Summariser = importlib.import_module(PROVIDERS[name]).make(config, environ)
    return made
