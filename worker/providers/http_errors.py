"""
What a server's refusal means: one table, from status and words to the reason of a failed result. Pure.

The words are those of OpenAI, Azure, Anthropic, vLLM, llama.cpp, Ollama and LM Studio, since they agree on a wire format but
not on its errors. Source: protocol.md, 3, Failure (*provider* pauses the provider, *input* counts against the group).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from supervisor.protocol.task import LONGEST_RETRY_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.protocol.task import Reason


@dataclass(frozen=True, slots=True)
class Fault:
    """A reason, and a sentence of ours; *overflow* when a shorter prompt may pass."""

    reason: Reason
    why: str
    overflow: bool = False


@dataclass(frozen=True, slots=True)
class _Row:
    """Where the status lies in *statuses* (None: an error told inside a stream) and the words match, the fault."""

    statuses: frozenset[int | None]
    words: re.Pattern[str]
    fault: Fault


def _row(statuses: str, words: str, reason: Reason, why: str, *, overflow: bool = False) -> _Row:
    found: set[int | None] = set()
    for part in statuses.split():
        first, _, last = part.partition("-")
        found |= {None} if part == "stream" else set(range(int(first), int(last or first) + 1))
    return _Row(frozenset(found), re.compile(words, re.IGNORECASE), Fault(reason, why, overflow))


_TOO_LONG: Final = (
    r"context[ _](?:length|size|window|limit)|maximum context|max_model_len|n_ctx|string_above_max_length|tokens? limit"
    r"|(?:prompt|input|request|message)s?\b.{0,40}too (?:long|large)|too many (?:input )?tokens|reduce the length"
)
#: The first row that fits is the fault.
TABLE: Final = (
    _row("413", "", "input", "the request is too large for the server", overflow=True),
    # llama.cpp says it with 500, OpenAI with 429 where one request alone is over the minute's limit
    _row("400 422 429 500 stream", _TOO_LONG, "input", "the prompt is longer than the model's context", overflow=True),
    _row("401 403", "", "provider", "the server refuses the key"),
    _row("400 422", r"api[ _-]?key|unauthori[sz]ed|authenticat", "provider", "the server refuses the key"),
    _row("402", "", "provider", "the account has no credit left"),
    _row("404", "", "provider", "the server does not know the model, or base_url is not where it answers"),
    _row(
        "400 422 stream",
        r"model\b.{0,80}(?:not (?:found|exist|loaded|supported)|does not exist|is required)|models? loaded"
        r"|(?:unknown|invalid) model|not a valid model|must provide a model",
        "provider",
        "the server does not know the model",
    ),
    _row("400 403 422 stream", r"content[ _-](?:filter|management|policy)", "refused", "the server's filter refused it"),
    _row("400 422", "", "input", "the server rejects the request"),
    _row("408", "", "timeout", "the server gave up waiting"),
    _row("429", "", "provider", "the server asks to slow down"),
    _row("stream", r"rate.?limit|too many requests|quota|overloaded", "provider", "the server asks to slow down"),
    _row("stream", "", "timeout", "the server broke the answer off"),
    _row("500-599", "", "provider", "the server has a fault"),
    _row("300-599", "", "provider", "the server does not take chat completions there"),
)
STRANGE: Final = Fault("provider", "the server answers with something else than a chat completion; check base_url")
UNREACHABLE: Final = Fault("provider", "the server can't be reached")
SILENT: Final = Fault("timeout", "the server did not answer in time")
BROKEN: Final = Fault("timeout", "the connection broke in the middle of the answer")
#: What a finished stream says about itself, where that is no success.
ENDINGS: Final = {
    "length": Fault("truncated", "the answer was cut off at its length"),
    "content_filter": Fault("refused", "the server's filter refused it"),
    "refusal": Fault("refused", "the model refused"),
    "": BROKEN,
}
EMPTY: Final = Fault("empty", "the answer is empty")


def sort(status: int | None, words: str) -> Fault:
    """
    Return what an error answer means; *status* None for an error inside a stream that had begun well.

    >>> sort(400, "This model's maximum context length is 2048 tokens").overflow, sort(503, "Loading model").reason
    (True, 'provider')
    """
    return next((row.fault for row in TABLE if status in row.statuses and row.words.search(words)), STRANGE)


#: Parameters that some servers refuse; each can be left out.
OPTIONAL: Final = ("stream_options", "max_tokens", "max_completion_tokens", "temperature")
_ADVISED: Final = re.compile(r"max_completion_tokens['\"`]? instead", re.IGNORECASE)


def refused_parameter(status: int, words: str, sent: Mapping[str, object]) -> str:
    """Return which of the optional parameters that were sent the server does not take, "" when it is none of them."""
    if status not in {400, 422} or sort(status, words).overflow:
        return ""
    if "max_tokens" in sent and _ADVISED.search(words):
        return "max_tokens"
    return next((name for name in OPTIONAL if name in sent and re.search(rf"\b{name}\b", words)), "")


def retry_after(headers: Mapping[str, str]) -> int:
    """
    Return the seconds that the server asks to wait, rounded up; 0 where it says nothing that can be read.

    A date counts from the server's own Date: whose clock is right does not matter then.
    """
    found = headers.get("retry-after", "").strip()
    try:
        seconds = float(found)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(found) - parsedate_to_datetime(headers.get("date", ""))).total_seconds()
        except (ValueError, TypeError):
            return 0
    return -int(-min(seconds, LONGEST_RETRY_S) // 1) if seconds > 0 else 0
