"""
What writes summaries: a model behind an OpenAI-compatible server, or the extract where there is none.

`Extractive` makes the whole text by itself, without a prompt. A *model* completes prompts, one at a time and without
tools, and `worker/writing.py` does the rest. A new provider is one module here that has `make(config, environ)` and returns
a `Model`, a case of `choose`, and its name among the choices of `[llm] provider`. Source:
docs/reference/protocol.md, 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from recalld.supervisor.extracts.extract import Hide, Kind, extract
from recalld.supervisor.protocol.config import Config
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.llm import Prompt, without_secrets, writes_extracts
from recalld.supervisor.protocol.task import Reason, Task


@runtime_checkable
class Model(Protocol):
    """What completes a prompt. Its own retries are off: retry has one owner, the supervisor."""

    name: str  # as a result and a summary name it
    model: str
    extract: bool  # no model wrote it

    def complete(
        self, prompt: Prompt, *, max_tokens: int, calling: Callable[[], None], cancelled: Callable[[], bool]
    ) -> Completion:
        """
        Return what the model wrote; ProviderError when the answer is incomplete or there is none.

        *max_tokens* limits the answer. *calling* is called before each request, which is not sent when it raises NoCall.
        *cancelled* is called about ten times a second: when it returns true, the connection is closed and Cancelled raised.
        """
        ...


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost: the *calls* are requests that were sent, the tokens are the server's figures, else estimated."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls, self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens
        )

    def wire(self) -> dict[str, int]:
        """Return the cost as it is in a result."""
        return {"calls": self.calls, "promptTokens": self.prompt_tokens, "completionTokens": self.completion_tokens}


@dataclass(frozen=True, slots=True)
class Completion:
    """A complete answer without thinking and wrapping, never blank; *model* is who wrote it by the server's word."""

    text: str
    usage: Usage
    model: str = ""


@dataclass(eq=False)
class ProviderError(Exception):
    """The provider returned no usable text."""

    reason: Reason  # of the failed result
    why: str  # one sentence, without a key and without words of a message
    _: KW_ONLY
    usage: Usage
    overflow: bool = False  # the prompt was too long, and a shorter one may be accepted
    retry_after_s: int = 0  # the wait that the server asked for, 0 without one
    text: str = ""  # the answer as far as it came, where it was cut off

    def __str__(self) -> str:
        return self.why


class Cancelled(Exception):
    """The worker has to end, or has lost the lease of the task: no result is delivered."""


class NoCall(Exception):
    """No call may be made now: the day's calls are spent, or a call can't be logged. No result is delivered."""


class Extractive:
    """The provider that needs no model."""

    name = "extractive"
    model = ""
    extract = True

    def __init__(self, longest: int | None = None, hide: Hide | None = None) -> None:
        """*longest* is how many characters an extract may have; None leaves it to LIMITS."""
        self._longest, self._hide = longest, hide

    def summarise(self, task: Task, blocks: Sequence[Block]) -> str:
        """Return the Markdown body, "" when there is nothing to record."""
        kind: Kind = "day" if task.kind == "daily-summary" else "month"
        zone, text, most = ZoneInfo(task.zone), task.previous, self._longest
        return extract(blocks, period=task.period, zone=zone, previous=text, kind=kind, longest=most, hide=self._hide)


def choose(config: Config, environ: Mapping[str, str]) -> Model | Extractive:
    """
    Return the provider of the configuration; *environ* holds the key.

    BadConfig when a setting that the provider needs is missing.
    """
    if writes_extracts(config.llm):
        return Extractive(config.archive.summarise_chars, partial(without_secrets, privacy=config.privacy))
    from .openai import make  # here: a client takes long to import, and extracts need none

    return make(config, environ)
