"""
One answer of a model about a conversation, judged before it becomes a summary.

What a model returns is untrusted: it is judged by the gate of all summaries (`summaries/quality.py`). The caller may bring a
model, any object with `chat_stream`: called with `messages` and `temperature` it returns an iterator, plain or asynchronous, of
texts or of chunks as openai and CountBot have them. It is read to a limit and for a limited time.
"""

import asyncio
import inspect
import re
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from typing import Any, Final, Protocol, TypeVar

from ..extracts.extract import extract
from ..protocol.dated_file import Block
from ..protocol.llm import LENGTH_ASKED, Prompt, PromptTemplate, text_of, turns_of
from ..protocol.task import NO_ANSWER
from ..storage.errors import NoSummary
from ..storage.texts import Text
from ..summaries.model import CallLimits, Model
from ..summaries.quality import Material, judge
from ..text.language import Language, language_of
from ..text.lazy_re import lazy_re
from ..text.llm_input import MIN_PIECE, Entry, Fold, estimate_tokens, quote
from ..text.llm_output import cleaned, continued, says_nothing

T = TypeVar("T")

#: The last line of the prompt, which models like to repeat.
_LABEL: Final = lazy_re(r"(?:\*\*)?(?:新的?摘要|new summary)(?:\*\*)?[ \t]*[:：](?:\*\*)?\s*", re.IGNORECASE)
#: The time of messages whose own is not looked at.
_ANY_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
#: An answer so many times too long is not made shorter, but refused.
_TOO_LONG: Final = 3
#: For each ten characters that would just fit, the shorter text is asked to have so many.
_SHORTER: Final = 9
#: Between the matters of a line; and what a line of a list begins and ends with.
_SEPARATOR: Final = {"zh": "；", "en": "; "}
_MARK: Final = lazy_re(r"^[ \t]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|\d{1,3}[.)、][ \t]*)?|(?:[；;。]|(?<!\.)\.)[ \t]*$")
#: Speakers whose words are no facts about a person, as lines and running summaries name them.
_NOT_PEOPLE: Final = ("ASSISTANT", "TOOL", "FUNCTION", "Assistant", "Tool", "助手", "工具")
#: The most characters of the extract that an answer about a conversation, however long that is, is compared with.
_EXTRACT_CHARS: Final = 1_000
#: Why there is no answer that could be refused.
NOT_AN_ANSWER: Final = frozenset({*NO_ANSWER, "paused"})
#: Characters after which an answer is not read on: no summary is so long.
_MOST_CHARS: Final = 64_000
#: Of each ten tokens of the context, so many are used: an estimate may be too low.
_PLANNED: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryWriter:
    """
    Has a model write summaries of at most *most* in *size*; the prompt of *template* asks for *max_chars* characters.

    The model's context has *context_tokens*, of which the answer takes *answer_tokens* and a piece at most *piece_tokens*.
    """

    model: Model
    template: Callable[[str, Language], PromptTemplate]
    max_chars: int
    size: Callable[[str], int]
    most: int
    limits: CallLimits
    context_tokens: int
    answer_tokens: int
    piece_tokens: int = sys.maxsize

    async def add_piece(self, fold: Fold, name: str, values: Mapping[str, str], place: str) -> None:
        """
        Have the model summarise one more piece of the *fold*, as many entries as its context has room for.

        The prompt *name* has the piece at *place*, and the other *values*; where that is too long for the model, the piece has
        half as many entries. The summary stays as it is where the model says that there is nothing to record. One that is too
        long is made shorter by a second call. NoSummary if the model fails, or its text can't be kept.
        """
        room = self._room(name, fold.language, {**values, place: quote("", fold.language)})
        while True:
            filled = {**values, place: quote(fold.piece(room), fold.language)}
            try:
                answer = await self._answer(name, fold.language, filled)
                text = continued(fold.so_far, self._judged(answer, fold.read, fold.so_far))
                text = await self._fitting(text, fold.language)
            except NoSummary as refused:
                if refused.is_too_long and fold.halve():
                    continue
                raise
            fold.take(text)
            return

    async def _answer(self, name: str, language: Language, values: Mapping[str, str]) -> str:
        template = self.template(name, language)
        *before, last = template.turns(**values)
        if "{char_limit}" not in template.text:
            last = last._replace(content=f"{LENGTH_ASKED[language].format(self.max_chars)}\n\n{last.content}")
        return await self.model.complete((*before, last), self.limits)

    async def _fitting(self, text: str, language: Language) -> str:
        """Return the text, made shorter by the model where it is too long."""
        if self.size(text) > self.most:
            limit = max(1, self.most * len(text) * _SHORTER // (10 * self.size(text)))
            past = {"previous_summary": "", "past_messages": quote(text, language), "char_limit": str(limit)}
            prompt = self.template("recursive-summary", language).turns(**past)
            text = self._judged(await self.model.complete(prompt, self.limits), [Entry("", text)], "")
        if self.size(text) > self.most:
            raise NoSummary(Text("the model's text is longer than {most} characters", most=self.max_chars))
        return text

    def _room(self, name: str, language: Language, values: Mapping[str, str]) -> int:
        """Return the tokens that prompt and answer leave for a piece; NoSummary if those are too few."""
        prompt = text_of(self.template(name, language).turns(**values))
        room = self.context_tokens * _PLANNED // 10 - estimate_tokens(prompt) - self.answer_tokens
        if room < MIN_PIECE:
            raise NoSummary(Text("prompt and summary so far fill the model's context"), "input")
        return min(room, self.piece_tokens)

    def _judged(self, answer: str, entries: Sequence[Entry], previous: str) -> str:
        """Return the text without its wrappings; NoSummary if it can't be kept."""
        text = cleaned(answer)
        text = _LABEL.sub("", text, count=1) if _LABEL.match(text) else text
        if says_nothing(text):  # it is believed: no list of words knows better, and the conversation stays in its files
            return text
        reason = judge(text, self._material(entries, previous), self.max_chars * _TOO_LONG)
        self.model.note_judged(reason)
        if reason:
            raise NoSummary(
                Text("the model's text is vague, and names hardly anything of the conversation")
                if reason == "vague"
                else Text("the model's text can't become a summary"),
                reason,
            )
        return text

    def _material(self, entries: Sequence[Entry], previous: str) -> Material:
        """Return what the answer is judged against: the messages, the summary so far, and an extract of bounded length."""
        texts = [
            (day, text)
            for day, text in ((None, previous), *((message.day, message.text) for message in entries))
            if text.strip()
        ]
        roles = ["assistant" if entry.head.startswith(_NOT_PEOPLE) else "user" for entry in entries]
        blocks = [Block("", role, entry.text, _ANY_TIME, {}) for role, entry in zip(roles, entries, strict=True)]
        shown = extract(
            blocks, period="2000-01-01", zone=UTC, previous=previous, kind="day", longest=min(self.max_chars, _EXTRACT_CHARS)
        )
        languages = {language_of(text) for _, text in texts}
        return Material(
            parts=((None, " · ".join({entry.head: None for entry in entries})), *texts),
            extract=shown,
            language=languages.pop() if len(languages) == 1 else None,
            is_bounded=True,
        )


def in_one_line(text: str) -> str:
    r"""
    Return the text on one line, its lines as matters of the entry.

    >>> in_one_line("- 决定用 JWT。\n- 周五部署。"), in_one_line("用 JWT；周五部署。")
    ('决定用 JWT；周五部署', '用 JWT；周五部署。')
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return text.strip()
    return _SEPARATOR[language_of(text)].join(filter(None, (_MARK.sub("", line).strip() for line in lines)))


# ── the caller's own model ───────────────────────────────────────────────────


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
