"""
One answer of a model that the user brings, read from its stream and judged before it becomes a summary.

The model is any object with `chat_stream(messages=…, temperature=…)`, which returns an iterator, plain or asynchronous, of
texts or of chunks as openai and CountBot have them. What it returns is untrusted: it is read to a limit and for a limited time,
and judged by the gate of all summaries (`summaries/quality.py`), and by whether it copies the example of its prompt.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import NoSummary
from recalld.supervisor.summaries.llm_state import prompt_marks
from recalld.supervisor.summaries.phrases import is_greeting
from recalld.supervisor.summaries.quality import reject_reason
from recalld.supervisor.text.language import language_of
from recalld.supervisor.text.llm_output import cleaned, continued, says_nothing
from recalld.supervisor.text.quoting import Entry, quote, take_entries, taken
from recalld.supervisor.text.redact import HIDDEN, redacted
from recalld.supervisor.text.small_talk import is_small_talk
from recalld.supervisor.text.token_count import estimate_tokens
from recalld.supervisor.text.tokenizer import tokens
from recalld.supervisor.text.word_frequency import telling_words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
    from datetime import timedelta

    from recalld.supervisor.protocol.config_keys import Privacy
    from recalld.supervisor.protocol.prompts import PromptTemplate
    from recalld.supervisor.text.language import Language

T = TypeVar("T")

#: Characters after which an answer is not read on: no summary is so long.
_MOST_CHARS: Final = 64_000
#: The last line of the prompt, which models like to repeat.
_LABEL: Final = re.compile(r"(?:\*\*)?(?:新的?摘要|new summary)(?:\*\*)?[ \t]*[:：](?:\*\*)?\s*", re.IGNORECASE)
#: Characters of the example that no summary has in a row by chance, and the words that such a run may cut at its ends.
_COPIED_CHARS: Final = 10
_AT_EDGES: Final = 2
#: How long the summary may be is said before the template, which stays as it is.
_LENGTH: Final = {"zh": "（新的摘要不超过 {} 个字。）", "en": "(The new summary has at most {} characters.)"}
#: An answer so many times too long is not made shorter, but refused.
_TOO_LONG: Final = 3
#: Of ten characters that would just fit, so many are asked for.
_SHORTER: Final = 9
#: Between the matters of a line; and what a line of a list begins and ends with.
_SEPARATOR: Final = {"zh": "；", "en": "; "}
_MARK: Final = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|\d{1,3}[.)、][ \t]*)?|(?:[；;。]|(?<!\.)\.)[ \t]*$")
#: Of ten tokens of the context, so many are planned with: an estimate may be too low.
_PLANNED: Final = 9
#: The tokens of the smallest piece of a conversation that is worth a call.
_MIN_PIECE: Final = 64


class ChatStream(Protocol):
    """
    A model: an object whose `chat_stream` yields the answer in pieces.

    One with a true `keeps_time` ends each answer by itself, and is not left before it has said why.
    """

    def chat_stream(self, *, messages: list[dict[str, Any]], temperature: float) -> Any:
        """Return an iterator, or something to await that gives one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryWriter:
    """Has a model write summaries of at most *most* in *size*, told as *max_chars* characters, in the wording of *template*."""

    model: ChatStream
    template: Callable[[str, Language], PromptTemplate]
    max_chars: int
    size: Callable[[str], int]
    most: int
    timeout: timedelta
    temperature: float
    cjk_weight: float

    async def write(
        self, name: str, language: Language, values: Mapping[str, str], said: Sequence[Entry], previous: str
    ) -> str:
        """
        Return the model's answer to the prompt *name* with these values, made of *said* and the *previous* summary.

        *previous* if it says that there is nothing to record. One that is too long is made shorter by a second call. NoSummary
        if the model fails, or its text can't be kept.
        """
        template = self.template(name, language)
        length = "" if "{char_limit}" in template.text else f"{_LENGTH[language].format(self.max_chars)}\n\n"
        prompt = length + template.fill(**values)
        text = continued(previous, self._judged(await self._answer(prompt), template, said, previous))
        if self.size(text) > self.most:
            limit = max(1, self.most * len(text) * _SHORTER // (10 * self.size(text)))
            template = self.template("recursive-summary", language)
            past = {"previous_summary": "", "past_messages": quote(text, language), "char_limit": str(limit)}
            text = self._judged(await self._answer(template.fill(**past)), template, [Entry("", text)], "")
        if self.size(text) > self.most:
            raise NoSummary(Text("model.text_longer", most=self.max_chars))
        return text

    async def tell(
        self,
        name: str,
        language: Language,
        values: Mapping[str, str],
        place: str,
        entries: Sequence[Entry],
        room: int,
        previous: str,
    ) -> tuple[str, list[Entry]]:
        """
        Return the new summary, with as many *entries* as *room* tokens hold, at *place* in the prompt, and the entries left.

        Half as many where they are too long for the model: its server counts tokens better than the estimate. Else as `write`.
        """
        while True:
            text, size, rest = take_entries(entries, room, language, self.cjk_weight)
            filled = {**values, place: quote(text, language)}
            try:
                return await self.write(name, language, filled, taken(entries, rest), previous), rest
            except NoSummary as refused:
                if not refused.is_too_long or size // 2 < _MIN_PIECE:
                    raise
                room = size // 2

    def room(self, name: str, language: Language, values: Mapping[str, str], context_tokens: int, answer_tokens: int) -> int:
        """
        Return the tokens of a piece, beside the prompt *name* with the other *values* and the answer.

        NoSummary if the context of the model leaves too few.
        """
        prompt = self.template(name, language).fill(**values)
        room = context_tokens * _PLANNED // 10 - estimate_tokens(prompt, self.cjk_weight) - answer_tokens
        if room < _MIN_PIECE:
            raise NoSummary(Text("model.prompt_full"), "input")
        return room

    async def _answer(self, prompt: str) -> str:
        seconds = self.timeout.total_seconds()
        most = None if getattr(self.model, "keeps_time", False) else seconds
        try:
            return await asyncio.wait_for(_read(self.model, prompt, self.temperature), most)
        except TimeoutError:
            raise NoSummary(Text("model.no_answer_within", seconds=seconds), "timeout") from None
        except NoSummary:
            raise
        except Exception as error:
            # the model is the user's, and may raise anything; its text may quote the prompt
            raise NoSummary(Text("model.raised", kind=type(error).__name__), "provider") from error

    def _judged(self, answer: str, template: PromptTemplate, said: Sequence[Entry], previous: str) -> str:
        """Return the text without its wrappings; NoSummary if it can't be kept, or wrongly says that there is nothing to."""
        text = cleaned(answer)
        text = _LABEL.sub("", text, count=1) if _LABEL.match(text) else text
        told = "\n".join(entry.text for entry in said)
        if says_nothing(text):
            if all(is_small_talk(entry.text) or is_greeting(entry.text) for entry in said):
                return text
            raise NoSummary(Text("model.nothing_but_is"), "empty")
        material = f"{previous}\n{told}"
        languages = {language_of(part) for part in (previous, told) if part.strip()}
        reason = reject_reason(
            text,
            self.max_chars * _TOO_LONG,
            material_language=languages.pop() if len(languages) == 1 else None,
            material=material,
            prompt_marks=prompt_marks(),
        )
        if reason == "vague" and telling_words(text) & telling_words(material):
            reason = None  # a summary of a bounded length says less than an extract of a long conversation
        if reason or _copies_example(text, template.text, material):
            raise NoSummary(Text("model.no_summary"), reason or "refused")
        return text


def without_secrets(text: str, language: Language, privacy: Privacy) -> str:
    """Return the text as a model may read it."""
    return text if privacy.redact == "off" else redacted(text, HIDDEN[language], privacy.patterns)


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


def _copies_example(text: str, template: str, material: str) -> bool:
    """Tell whether the text has a run of words from the prompt's example, about what the material does not speak of."""
    known = set(tokens(material))
    for line in template.splitlines():
        if "{" in line:
            continue
        run = SequenceMatcher(None, line, text, autojunk=False).find_longest_match()
        copied = line[run.a : run.a + run.size]
        if run.size >= _COPIED_CHARS and len(set(tokens(copied)) - known) > _AT_EDGES:
            return True
    return False


async def _read(model: ChatStream, prompt: str, temperature: float) -> str:
    """Return the joined pieces of the answer, as many as are read."""
    messages = [{"role": "user", "content": prompt}]
    ask = model.chat_stream
    if inspect.iscoroutinefunction(ask) or inspect.isasyncgenfunction(ask):
        stream = ask(messages=messages, temperature=temperature)
    else:
        stream = await _in_thread(lambda: ask(messages=messages, temperature=temperature))
    if inspect.isawaitable(stream):
        stream = await stream
    if hasattr(stream, "__aiter__"):
        return await _joined(stream)
    return _limited(await _in_thread(lambda: "".join(_until_limit(map(_text_of, stream)))))


async def _joined(stream: AsyncIterator[object]) -> str:
    pieces: list[str] = []
    size = 0
    async for chunk in stream:
        pieces.append(_text_of(chunk))
        size += len(pieces[-1])
        if size > _MOST_CHARS:
            break
    return _limited("".join(pieces))


def _until_limit(pieces: Iterator[str]) -> Iterator[str]:
    size = 0
    for piece in pieces:
        yield piece
        size += len(piece)
        if size > _MOST_CHARS:
            return


def _limited(text: str) -> str:
    if len(text) > _MOST_CHARS:
        raise NoSummary(Text("model.text_has_more", most=_MOST_CHARS))
    return text


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


def _field(found: object, name: str) -> Any:
    return found.get(name) if isinstance(found, dict) else getattr(found, name, None)


def in_loop_of_its_own(work: Coroutine[Any, Any, T]) -> T:
    """Return what the coroutine returns, run in a thread of its own: an event loop may run in this one."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again below
            done.set_exception(error)

    # subtle: a daemon, else a program that is interrupted waits for the model before it ends
    threading.Thread(target=run, daemon=True).start()
    return done.result()


async def _in_thread(call: Callable[[], Any]) -> Any:
    """Return what *call* returns, without waiting for it in the event loop; one that never ends is left behind."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def run() -> None:
        try:
            result, fault = call(), None
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            result, fault = None, error
        with suppress(RuntimeError):  # nobody waits for it any more: the loop is closed
            loop.call_soon_threadsafe(_give, done, (result, fault))

    # subtle: a daemon, not the loop's own executor, which is waited for when the loop ends
    threading.Thread(target=run, daemon=True).start()
    result, fault = await done
    if fault:
        raise fault
    return result


def _give(done: asyncio.Future[Any], result: object) -> None:
    if not done.cancelled():
        done.set_result(result)
