"""
A model behind any server with OpenAI's chat completions: Ollama, llama.cpp, vLLM, LM Studio, OpenAI, Anthropic.

Answers are streamed, since only a stream distinguishes a slow answer from a dead server. No tools are offered, and the client's
own retries and its long time-outs (600 s) are not used. Thinking is dropped, and the cost is the server's figures, else an
estimate. No value that a server sends is trusted to have the type that it should have, an answer to have an end, or a redirect
to lead to a server that may read the prompt; its words are in no error. What a server's error means is decided in
`server_answers.py`. Source: docs/reference/protocol.md, 6.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

import openai
from openai.types.chat import ChatCompletion

from recalld.supervisor.protocol.config import Config
from recalld.supervisor.protocol.llm import NO_KEY, Prompt, find_key, is_local, model_of, text_of, turns_of, without_credentials
from recalld.supervisor.storage.texts import Text
from recalld.supervisor.text.llm_input import estimate_tokens
from recalld.supervisor.text.llm_output import goes_round, without_thinking

from ..providers import Cancelled, Completion, NoCall, ProviderError, Usage, server_answers

#: The HTTP library of the installed openai: httpx2, before openai 3 httpx. It reads a body only from a stream of its own kind.
_HTTP: Final[Any] = import_module(openai.DefaultAsyncHttpxClient.__bases__[0].__module__)
OPENAI: Final = "https://api.openai.com/v1"
CONNECT_S: Final = 10.0
#: Longest silence between two chunks of an answer. Before the first only the whole time-out counts: a small machine reads long.
SILENCE_S: Final = 120.0
_CANCEL_POLL_S: Final = 0.1
#: The most characters of an answer, with thinking, more than fit into any context; an answer that does not end is cut off.
_MAX_CHARS: Final = 400_000
#: The most bytes of an answer: a stream has some 300 for a token, and one with much thinking 30,000 tokens.
_MOST_BYTES: Final = 16_000_000
#: How many characters come in between two looks whether the answer goes round in a circle.
_LOOK_CHARS: Final = 2_000


def make(config: Config, environ: Mapping[str, str]) -> OpenAi:
    """Return the provider; BadConfig when no model is named, or the key has characters that no key has."""
    llm = config.llm
    return OpenAi(
        model=model_of(llm),
        base_url=llm.base_url or OPENAI,
        temperature=llm.temperature,
        timeout_s=llm.timeout.total_seconds(),
        key=find_key(llm.api_key_env, environ),
    )


@dataclass(slots=True)
class OpenAi:
    """One model at one server."""

    model: str
    base_url: str
    temperature: float
    timeout_s: float  # of one completion, whole
    key: str = field(default=NO_KEY, repr=False)
    silence_s: float = SILENCE_S
    name: str = "openai"
    extract: bool = False
    _refused: set[str] = field(default_factory=set)  # parameters that this server does not accept

    def complete(
        self, prompt: Prompt, *, max_tokens: int, calling: Callable[[], None], cancelled: Callable[[], bool]
    ) -> Completion:
        """Return what the model wrote (`Model.complete`)."""
        return asyncio.run(self._complete(prompt, max_tokens, calling, cancelled))

    async def _complete(
        self, prompt: Prompt, max_tokens: int, calling: Callable[[], None], cancelled: Callable[[], bool]
    ) -> Completion:
        """Call the model, and close the connection when *cancelled* returns true meanwhile."""
        if cancelled():
            raise Cancelled
        call = asyncio.create_task(self._ask(prompt, max_tokens, calling))
        while not (await asyncio.wait({call}, timeout=_CANCEL_POLL_S))[0]:
            if cancelled():
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
                raise Cancelled
        return call.result()

    async def _ask(self, prompt: Prompt, max_tokens: int, calling: Callable[[], None]) -> Completion:
        """Call the model, and again for each parameter that the server turns out not to accept, without it."""
        usage = Usage()
        while True:
            answer = Answer(prompt)
            sent = self._parameters(max_tokens)
            try:
                async with asyncio.timeout(self.timeout_s):
                    body = {"model": self.model, "messages": [turn._asdict() for turn in answer.turns], **sent}
                    calling()
                    await self._read(answer, body)
                    if answer.is_mute:
                        calling()
                        await self._read_whole(answer, body)
                return answer.completion(usage)
            except openai.APIStatusError as error:
                refused = server_answers.refused_parameter(error.status_code, _words(error), sent)
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

    async def _read(self, answer: Answer, body: dict[str, Any]) -> None:
        async with self._client() as client:
            stream: Any = await client.chat.completions.create(stream=True, **body)
            async with stream:
                if "json" in stream.response.headers.get("content-type", ""):  # the server has no streams
                    answer.take(ChatCompletion.construct(**json.loads(await stream.response.aread())))
                    return
                while (chunk := await self._next(stream, answer)) is not None:
                    answer.take(chunk)
                    if answer.is_enough:
                        return
                answer.is_mute = not answer.began and "event-stream" in stream.response.headers.get("content-type", "")

    async def _read_whole(self, answer: Answer, body: dict[str, Any]) -> None:
        """Ask without a stream: llama.cpp's Python server sends an empty stream in place of its error."""
        answer.calls += 1
        body = {name: value for name, value in body.items() if name != "stream_options"}
        async with self._client() as client:
            answer.take(await client.chat.completions.create(stream=False, **body))

    def _client(self) -> openai.AsyncOpenAI:
        """Return a client with a new connection, since a server that sent an empty stream may have closed the one before."""
        # made here, since the client would send requests to this machine through a proxy, and the prompt to another host
        http = openai.DefaultAsyncHttpxClient(
            trust_env=not is_local(self.base_url),
            follow_redirects=False,
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [_bound]},
        )
        timeout = openai.Timeout(None, connect=min(CONNECT_S, self.timeout_s))  # the whole has a limit of its own
        return openai.AsyncOpenAI(api_key=self.key, base_url=self.base_url, max_retries=0, timeout=timeout, http_client=http)

    async def _next(self, stream: AsyncIterator[Any], answer: Answer) -> Any:
        """Return the next chunk, None after the last; TimeoutError when it takes too long."""
        async with asyncio.timeout(self.silence_s if answer.began else None):
            return await anext(stream, None)

    def _error(self, error: Exception, answer: Answer, usage: Usage) -> ProviderError:
        """Return the client's error as a ProviderError, without the key and the server's words, which may quote the prompt."""
        headers: Mapping[str, str] = {}
        about = ""
        match error:
            case openai.APIStatusError():
                problem, headers = server_answers.classify(error.status_code, _words(error)), error.response.headers
                about = str(error.status_code)
            case openai.APITimeoutError() | TimeoutError():
                connecting = not answer.began and type(error.__cause__).__name__ == "ConnectTimeout"
                problem = server_answers.UNREACHABLE if connecting else server_answers.SILENT
            case openai.APIConnectionError():
                problem = server_answers.BROKEN if answer.began else server_answers.UNREACHABLE
            case openai.APIError():
                problem = server_answers.classify(None, f"{error.code or ''} {_words(error)}")
            case _:
                problem = server_answers.BROKEN if answer.began else server_answers.STRANGE
                about = type(error).__name__
        model, server = (" ".join(text.split()) for text in (self.model, without_credentials(self.base_url)))
        fault = Text("{why}: {model} at {server}", why=problem.why, model=model, server=server)
        return ProviderError(
            problem.reason,
            Text("{fault} ({about})", fault=fault, about=about) if about else fault,
            usage=usage + answer.usage,
            overflow=problem.overflow,
            retry_after_s=server_answers.retry_after(headers),
        )


def _words(error: openai.APIError) -> str:
    """Return the server's own sentence, on one line, for `server_answers` to classify."""
    body = error.body
    words = body.get("message") or body.get("error") or body.get("detail") if isinstance(body, dict) else body
    return " ".join(words.split())[:500] if isinstance(words, str) else ""


class EndlessAnswer(Exception):
    """An answer has more than _MOST_BYTES."""


class _Bounded(_HTTP.AsyncByteStream):  # type: ignore[misc]
    """The body of a response, which is read up to _MOST_BYTES."""

    def __init__(self, body: Any) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._body:
            size += len(chunk)
            if size > _MOST_BYTES:
                raise EndlessAnswer
            yield chunk

    async def aclose(self) -> None:
        """Close the connection."""
        await self._body.aclose()


async def _bound(response: Any) -> None:
    response.headers.pop("content-encoding", None)  # it is not unpacked: a block may become a thousand times larger
    response.stream = _Bounded(response.stream)


class Answer:
    """An answer as far as it has streamed in. No I/O."""

    def __init__(self, prompt: Prompt) -> None:
        # messages may have lone surrogates, which UTF-8 can't encode
        self.turns = [turn._replace(content=turn.content.encode("utf-8", "replace").decode()) for turn in turns_of(prompt)]
        self.calls = 1
        self.began = False
        self.model = ""  # by the server's word
        self.is_mute = False  # the stream ended without an error and without a chunk
        self.is_enough = False  # what follows is not read: the text is too long, or goes round in a circle
        self._looked = 0
        self._parts: list[str] = []
        self._length = self._thought = 0
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
            thought = getattr(delta, "reasoning_content", None)  # dropped; its cost is in the server's figures
            self._thought += len(thought) if isinstance(thought, str) else 0
            if isinstance(words, str):
                self._parts.append(words)
                self._length += len(words)
            refusal = getattr(delta, "refusal", None)
            if isinstance(refusal, str) and refusal:
                self._ending = "refusal"
            elif isinstance(choice.finish_reason, str) and self._ending != "refusal":
                self._ending = choice.finish_reason
        if self._length + self._thought > _MAX_CHARS:
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
        return Usage(self.calls, estimate_tokens(text_of(tuple(self.turns))), estimate_tokens(self.text))

    def completion(self, before: Usage) -> Completion:
        """Return the finished answer, its usage added to that of *before*; ProviderError when it is incomplete or empty."""
        usage = before + self.usage
        text = without_thinking(self.text)
        error = server_answers.ENDINGS.get(self._ending) if self.began else server_answers.STRANGE
        if error is None and not text:
            error = server_answers.THOUGHT if self.text.strip() else server_answers.EMPTY
        if error:
            raise ProviderError(error.reason, error.why, usage=usage, text=text if error.reason == "truncated" else "")
        return Completion(text, usage, self.model)
