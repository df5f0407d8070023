"""
The model that the caller brings, behind the port of `summaries/model.py`: any object with `chat_stream`.

Called with `messages` and `temperature` it returns an iterator, plain or asynchronous, of texts or of chunks as openai and
CountBot have them. What it returns is untrusted: it is read to a limit and for a limited time.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from io import StringIO
from typing import Any, Final, Protocol, TypeVar

from ..protocol.prompts import Prompt, turns_of
from ..storage.errors import NoSummary
from ..storage.texts import Text
from ..summaries.model import CallLimits, Model

T = TypeVar("T")

#: Characters after which an answer is not read on: no summary is so long.
_MOST_CHARS: Final = 64_000


class ChatStream(Protocol):
    """A model: an object whose `chat_stream` yields the answer in pieces."""

    def chat_stream(self, *, messages: list[dict[str, Any]], temperature: float) -> Any:
        """Return an iterator, or something to await that gives one."""
        ...


class OwnModel(Model):
    """The caller's own model."""

    def __init__(self, llm: ChatStream) -> None:
        self._llm = llm

    async def complete(self, prompt: Prompt, limits: CallLimits) -> str:
        """Return the joined pieces of the answer; NoSummary if the object fails, writes too much, or takes too long."""
        seconds = min(limits.timeout.total_seconds(), limits.deadline.left_s)
        try:
            return await asyncio.wait_for(_read(self._llm, prompt, limits.temperature), seconds)
        except TimeoutError:
            raise NoSummary(Text("the model did not answer within {seconds:g} s", seconds=seconds), "timeout") from None
        except NoSummary:
            raise
        except Exception as error:
            # the model is the user's, and may raise anything; its text may quote the prompt
            raise NoSummary(Text("the model raised {kind}", kind=type(error).__name__), "provider") from error

    def note_judged(self, reason: str | None) -> None:
        """Do nothing: the account is of the configured model."""


def model_of(llm: ChatStream | Model) -> Model:
    """Return the model as the port has it."""
    return llm if isinstance(llm, Model) else OwnModel(llm)


async def _read(model: ChatStream, prompt: Prompt, temperature: float) -> str:
    messages: list[dict[str, Any]] = [turn._asdict() for turn in turns_of(prompt)]
    ask = model.chat_stream
    if inspect.iscoroutinefunction(ask) or inspect.isasyncgenfunction(ask):
        stream = ask(messages=messages, temperature=temperature)
    else:
        stream = await _in_thread(lambda: ask(messages=messages, temperature=temperature))
    if inspect.isawaitable(stream):
        stream = await stream
    answer = StringIO()

    def add(chunk: object) -> bool:
        answer.write(_text_of(chunk))
        return answer.tell() <= _MOST_CHARS

    if hasattr(stream, "__aiter__"):
        async for chunk in stream:
            if not add(chunk):
                break
    else:
        await _in_thread(lambda: all(map(add, stream)))
    if answer.tell() > _MOST_CHARS:
        raise NoSummary(Text("the model's text has more than {most} characters", most=_MOST_CHARS))
    return answer.getvalue()


def _text_of(chunk: object) -> str:
    """Return the words of a piece: a text, a chunk as openai has it (`choices[0].delta`), or one of CountBot (`content`)."""
    if isinstance(chunk, str):
        return chunk
    if fault := _field(chunk, "error"):
        raise RuntimeError(str(fault))
    choices = _field(chunk, "choices")
    if choices is not None:
        first = choices[0] if choices else {}
        chunk = _field(first, "delta") or _field(first, "message") or {}
    words = _field(chunk, "content")
    return words if isinstance(words, str) else ""


def _field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def in_loop_of_its_own(work: Coroutine[Any, Any, T]) -> T:
    """Return what the coroutine returns, run in a thread of its own: an event loop may run in this one."""
    return _in_daemon(lambda: asyncio.run(work)).result()


async def _in_thread(call: Callable[[], T]) -> T:
    """Return what *call* returns, without waiting for it in the event loop; one that never ends is left behind."""
    return await asyncio.wrap_future(_in_daemon(call))


def _in_daemon(call: Callable[[], T]) -> Future[T]:
    """Return what *call* will return, called in a thread for which nothing waits when the program, or its loop, ends."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # it can't be cancelled any more

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return done
