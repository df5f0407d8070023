"""
An answer as it streams in: words are collected, thinking is dropped, what it cost is read or estimated. No I/O.

Nothing that a server sends is trusted to be of the type that it should be.

Any server that speaks OpenAI's chat completions: Ollama, llama.cpp, vLLM, LM Studio, OpenAI, Anthropic's compatible endpoint.

Streaming, since only a stream tells a slow answer from a dead server; without tools, ever; the client's own retries off. What a
server's refusal means is decided in http_errors.py. Source: protocol.md, 6; the client's defaults were 600 s and two retries.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import openai

from supervisor.protocol.errors import BadConfig
from supervisor.protocol.llm import NO_KEY, find_key, is_local, without_credentials
from supervisor.text.llm_output import without_thinking
from supervisor.text.token_count import estimate_tokens
from worker.providers import Cancelled, Completion, NoCall, ProviderError, Usage, http_errors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from supervisor.protocol.config import Config

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
        told = self._told or (estimate_tokens(self.prompt, self._cjk_weight), estimate_tokens(self.text, self._cjk_weight))
        return Usage(self.calls, *told)

    def completion(self, before: Usage) -> Completion:
        """Return the finished answer; ProviderError when it is none."""
        usage = before + self.usage
        text = without_thinking(self.text)
        fault = http_errors.ENDINGS.get(self._ending) if self.began else http_errors.STRANGE
        if fault is None and not text:
            fault = http_errors.EMPTY
        if fault:
            raise ProviderError(fault.reason, fault.why, usage=usage)
        return Completion(text, usage)


OPENAI: Final = "https://api.openai.com/v1"
CONNECT_S: Final = 10.0
#: Longest silence between two pieces of an answer. Before the first the whole time-out holds: a small machine reads long.
SILENCE_S: Final = 120.0
_LOOK_S: Final = 0.1  # how often it is looked whether the answer is still wanted
_WHY: Final = 200  # characters


def make(config: Config, environ: Mapping[str, str]) -> OpenAi:
    """Return the provider; BadConfig when no model is named or the key can't be one."""
    llm = config.llm
    if not llm.model:
        raise BadConfig("llm.model", 'no model is named; give the name that the server knows, such as "qwen3:8b"')
    return OpenAi(
        model=llm.model,
        base_url=llm.base_url or OPENAI,
        temperature=llm.temperature,
        timeout_s=llm.timeout.total_seconds(),
        cjk_weight=config.tokens.cjk_weight,
        key=find_key(llm.api_key_env, environ),
    )


@dataclass(slots=True)
class OpenAi:
    """One model at one server."""

    model: str
    base_url: str
    temperature: float
    timeout_s: float  # of one completion, whole
    cjk_weight: float = 1.0
    key: str = field(default=NO_KEY, repr=False)
    silence_s: float = SILENCE_S
    name: str = "openai"
    extract: bool = False
    _refused: set[str] = field(default_factory=set)  # parameters that this server does not take

    def complete(
        self, prompt: str, *, max_tokens: int, calling: Callable[[], None], cancelled: Callable[[], bool]
    ) -> Completion:
        """Return what the model wrote (`Model.complete`)."""
        return asyncio.run(self._complete(prompt, max_tokens, calling, cancelled))

    async def _complete(
        self, prompt: str, max_tokens: int, calling: Callable[[], None], cancelled: Callable[[], bool]
    ) -> Completion:
        """Ask, and look at the same time whether the answer is still wanted: what is cancelled closes its connection."""
        if cancelled():
            raise Cancelled
        call = asyncio.create_task(self._ask(prompt, max_tokens, calling))
        while not (await asyncio.wait({call}, timeout=_LOOK_S))[0]:
            if cancelled():
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
                raise Cancelled
        return call.result()

    async def _ask(self, prompt: str, max_tokens: int, calling: Callable[[], None]) -> Completion:
        """Ask, and once more without it for each parameter that the server turns out not to take."""
        usage = Usage()
        while True:
            answer = Answer(prompt, self.cjk_weight)
            sent = self._parameters(max_tokens)
            try:
                async with asyncio.timeout(self.timeout_s):
                    asked = {"model": self.model, "messages": [{"role": "user", "content": answer.prompt}], **sent}
                    calling()
                    await self._read(answer, asked)
                    if answer.is_mute:
                        calling()
                        await self._read_whole(answer, asked)
                return answer.completion(usage)
            except openai.APIStatusError as error:
                refused = http_errors.refused_parameter(error.status_code, _words(error), sent)
                if not refused:
                    raise self._error(error, answer, usage) from None
                self._refused.add(refused)
                usage += answer.usage
            except (ProviderError, NoCall):
                raise
            except Exception as error:  # noqa: BLE001 - whatever the client raises, the task fails and the worker goes on
                raise self._error(error, answer, usage) from None

    def _parameters(self, max_tokens: int) -> dict[str, Any]:
        length = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        wanted = {"stream_options": {"include_usage": True}, length: max_tokens, "temperature": self.temperature}
        return {name: value for name, value in wanted.items() if name not in self._refused}

    async def _read(self, answer: Answer, asked: dict[str, Any]) -> None:
        """Stream the answer into *answer*."""
        async with self._client() as client:
            stream: Any = await client.chat.completions.create(stream=True, **asked)
            async with stream:
                while (chunk := await self._next(stream, answer)) is not None:
                    answer.take(chunk)
                    if answer.is_too_long:
                        return
                answer.is_mute = not answer.began and "event-stream" in stream.response.headers.get("content-type", "")

    async def _read_whole(self, answer: Answer, asked: dict[str, Any]) -> None:
        """Ask without a stream: llama.cpp's Python server loses its error in a stream that ends without a word."""
        answer.calls += 1
        asked = {name: value for name, value in asked.items() if name != "stream_options"}
        async with self._client() as client:
            answer.take(await client.chat.completions.create(stream=False, **asked))

    def _client(self) -> openai.AsyncOpenAI:
        """Return a client; the connection is its own, since a server that lost its error may have closed the one before."""
        # by ourselves, since the client would send what is for this machine through a proxy
        http = openai.DefaultAsyncHttpxClient(trust_env=not is_local(self.base_url))
        timeout = openai.Timeout(self.timeout_s, connect=min(CONNECT_S, self.timeout_s))
        return openai.AsyncOpenAI(api_key=self.key, base_url=self.base_url, max_retries=0, timeout=timeout, http_client=http)

    async def _next(self, stream: AsyncIterator[Any], answer: Answer) -> Any:
        """Return the next chunk, None after the last; TimeoutError after too long a silence."""
        async with asyncio.timeout(self.silence_s if answer.began else None):
            return await anext(stream, None)

    def _error(self, error: Exception, answer: Answer, usage: Usage) -> ProviderError:
        """Return what the client raised as an error of ours; the client's own holds the request, and so the key."""
        headers: Mapping[str, str] = {}
        about = ""
        match error:
            case openai.APIStatusError():
                fault, headers = http_errors.sort(error.status_code, _words(error)), error.response.headers
                about = f" ({error.status_code} {_shown_words(error, fault)}".rstrip() + ")"
            case openai.APITimeoutError() | TimeoutError():
                connecting = not answer.began and type(error.__cause__).__name__ == "ConnectTimeout"
                fault = http_errors.UNREACHABLE if connecting else http_errors.SILENT
            case openai.APIConnectionError():
                fault = http_errors.BROKEN if answer.began else http_errors.UNREACHABLE
            case openai.APIError():
                fault = http_errors.sort(None, f"{error.code or ''} {_words(error)}")
            case _:
                fault = http_errors.BROKEN if answer.began else http_errors.STRANGE
                about = f" ({type(error).__name__})"
        why = f"{fault.why}: {self.model} at {without_credentials(self.base_url)}{about}"
        if self.key != NO_KEY:
            why = why.replace(self.key, "…")
        return ProviderError(
            fault.reason,
            " ".join(why.split())[:_WHY],
            usage=usage + answer.usage,
            overflow=fault.overflow,
            retry_after_s=http_errors.retry_after(headers),
        )


def _words(error: openai.APIError) -> str:
    """Return the server's own sentence, on one line."""
    body = error.body
    found = body.get("message") or body.get("error") or body.get("detail") if isinstance(body, dict) else body
    return " ".join(found.split())[:500] if isinstance(found, str) else ""


def _shown_words(error: openai.APIStatusError, fault: http_errors.Fault) -> str:
    """Return what of the server's sentence may be shown: it may quote the prompt, a page, or a part of the key."""
    quoting = fault.reason != "provider" or error.status_code in {401, 403} or not isinstance(error.body, dict)
    return "" if quoting else _words(error)
