"""
What a model's server answers beside completions: its errors, in one table. Pure.

The words of errors are those of OpenAI, Azure, Anthropic, vLLM, llama.cpp, Ollama and LM Studio: they agree on a wire format,
but not on its errors. Source: protocol.md, 3, Failure (*provider* pauses the provider, *input* counts against the group).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from recalld.supervisor.protocol.task import LONGEST_RETRY_S, Reason
from recalld.supervisor.storage.texts import Text


@dataclass(frozen=True, slots=True)
class ServerError:
    """The reason of the failed result and its sentence; *overflow* when a shorter prompt may be accepted."""

    reason: Reason
    why: str
    overflow: bool = False


def _row(
    statuses: str, words: str, reason: Reason, why: str, *, overflow: bool = False
) -> tuple[set[int | None], re.Pattern[str], ServerError]:
    codes: set[int | None] = set()
    for part in statuses.split():
        first, _, last = part.partition("-")
        codes |= {None} if part == "stream" else set(range(int(first), int(last or first) + 1))
    return codes, re.compile(words, re.IGNORECASE), ServerError(reason, why, overflow)


_TOO_LONG: Final = (
    r"context[ _](?:length|size|window|limit)|maximum context|max_model_len|n_ctx|string_above_max_length|tokens? limit"
    r"|(?:prompt|input|request|message)s?\b.{0,40}too (?:long|large)|too many (?:input )?tokens|reduce the length"
)
#: Statuses of an answer ("stream": an error inside one), words in it, and what both mean: the first row that matches decides.
TABLE: Final = (
    _row("413", "", "input", Text("the request is too large for the server"), overflow=True),
    # llama.cpp says it with 500, OpenAI with 429 where one request alone is over the minute's limit
    _row("400 422 429 500 stream", _TOO_LONG, "input", Text("the prompt is longer than the model's context"), overflow=True),
    _row("401 403", "", "provider", Text("the server refuses the key")),
    _row("400 422", r"api[ _-]?key|unauthori[sz]ed|authenticat", "provider", Text("the server refuses the key")),
    _row("402", "", "provider", Text("the account has no credit left")),
    _row("404", r"\bmodel\b", "provider", Text("the server does not know the model")),
    _row("404", "", "provider", Text("the server does not know the model, or base_url is not where it answers")),
    _row(
        "400 422 stream",
        r"model\b.{0,80}(?:not (?:found|exist|loaded|supported)|does not exist|is required)|models? loaded"
        r"|(?:unknown|invalid) model|not a valid model|must provide a model",
        "provider",
        Text("the server does not know the model"),
    ),
    _row("400 403 422 stream", r"content[ _-](?:filter|management|policy)", "refused", Text("the server's filter refused it")),
    _row("400 422", "", "input", Text("the server rejects the request")),
    _row("408", "", "timeout", Text("the server gave up waiting")),
    _row("429", r"\bquota\b|billing|balance", "provider", Text("the account has no credit left")),
    _row("429", "", "provider", Text("the server asks to slow down")),
    _row("stream", r"rate.?limit|too many requests|quota|overloaded", "provider", Text("the server asks to slow down")),
    _row("stream", "", "timeout", Text("the server broke the answer off")),
    _row("503", "loading", "provider", Text("the server is still loading the model")),
    _row("500-599", "", "provider", Text("the server has a fault")),
    _row(
        "300-399", "", "provider", Text("the server sends the request elsewhere; give the address that answers in llm.base_url")
    ),
    _row("300-599", "", "provider", Text("the server does not take chat completions there")),
)
STRANGE: Final = ServerError("provider", Text("the server answers with something else than a chat completion; check base_url"))
UNREACHABLE: Final = ServerError("provider", Text("the server can't be reached"))
SILENT: Final = ServerError("timeout", Text("the server did not answer in time"))
BROKEN: Final = ServerError("timeout", Text("the connection broke in the middle of the answer"))
#: The errors among the finish reasons of a stream.
ENDINGS: Final = {
    "length": ServerError("truncated", Text("the answer was cut off at its length")),
    "content_filter": ServerError("refused", Text("the server's filter refused it")),
    "refusal": ServerError("refused", Text("the model refused")),
    "": BROKEN,
}
EMPTY: Final = ServerError("empty", Text("the answer is empty"))
THOUGHT: Final = ServerError("thought", Text("the answer is only thinking"))

#: Parameters that some servers refuse; a request works without each of them.
OPTIONAL: Final = ("stream_options", "max_tokens", "max_completion_tokens", "temperature")
_ADVISED: Final = re.compile(r"max_completion_tokens['\"`]? instead", re.IGNORECASE)


def classify(status: int | None, words: str) -> ServerError:
    """
    Return the meaning of an error answer; *status* None for an error inside a stream that began well.

    >>> classify(400, "This model's maximum context length is 2048 tokens").overflow, classify(503, "Loading model").reason
    (True, 'provider')
    """
    return next((error for statuses, pattern, error in TABLE if status in statuses and pattern.search(words)), STRANGE)


def refused_parameter(status: int, words: str, sent: Mapping[str, object]) -> str:
    """Return the optional parameter of *sent* that the server does not accept, "" when it is none of them."""
    if status not in {400, 422} or classify(status, words).overflow:
        return ""
    if "max_tokens" in sent and _ADVISED.search(words):
        return "max_tokens"
    return next((name for name in OPTIONAL if name in sent and re.search(rf"\b{name}\b", words)), "")


def retry_after(headers: Mapping[str, str]) -> int:
    """Return the seconds that the server asks to wait, rounded up; 0 without a header that gives seconds."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return 0
    return -int(-min(seconds, LONGEST_RETRY_S) // 1) if seconds > 0 else 0
