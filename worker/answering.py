"""
From a task that somebody waits for to its result: a model's answer, an extract, or what the model's server says of itself.

Its prompt or its messages are in the task, so no file of memory is read. Source: docs/reference/protocol.md, 6.10.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

from recalld.supervisor.extracts.extract import extract_of_talk
from recalld.supervisor.protocol.prompts import Prompt, Turn
from recalld.supervisor.protocol.task import REPLY_KINDS, AskedTask, Result
from recalld.supervisor.protocol.turn import split_request
from recalld.supervisor.storage.clock import Clock
from recalld.supervisor.storage.errors import BadConfig
from recalld.supervisor.storage.texts import Text

from .calls import CallBook, Calls
from .providers import Model, NoCall, ProviderError, Summariser, Usage
from .summarize import delivered

if TYPE_CHECKING:
    from recalld.supervisor.protocol.config import Config


#: The most tokens of the answer to a test: a model that thinks first needs some hundred.
_TEST_TOKENS: Final = 1024
#: The most characters of an answer; what a model writes beyond them is cut off.
_MOST_CHARS: Final = 40_000
_CUT: Final = "…"


def answer(
    task: AskedTask,
    provider: Model | Summariser,
    config: Config,
    log: CallBook,
    clock: Clock,
    cancelled: Callable[[], bool] = lambda: False,
) -> Result:
    """
    Return the result of a task that somebody waits for; what keeps it from an answer is a failed result.

    Raises Cancelled once *cancelled* returns true, BadConfig when it needs a model and none is configured.
    """
    if task.kind == "session-extract":
        zone, most = config.archive.zone, config.summarize.char_limit
        return delivered(task, provider, clock, lambda: extract_of_talk(task.messages, zone, most))
    if not isinstance(provider, Model):
        raise BadConfig("llm.model", Text("no model is configured, so summaries are extracts; give llm.base_url and llm.model"))
    if task.kind == "model-list":
        return delivered(task, provider, clock, lambda: json.dumps(asdict(provider.listed())))
    if task.kind in REPLY_KINDS:
        return reply(task, provider, config, log, clock, cancelled)
    is_test = task.kind == "model-test"
    calls = Calls(provider, config, log, clock, cancelled, is_asked=is_test)
    prompt = turns_in(task) or task.prompt
    return delivered(task, provider, clock, lambda: _ask(calls, prompt, _TEST_TOKENS if is_test else None), calls)


def _ask(calls: Calls, prompt: Prompt, most: int | None) -> str:
    """Return the model's answer. A call that may not be made is a failure here: somebody waits for word of it."""
    try:
        return calls.complete(prompt) if most is None else calls.complete(prompt, most)
    except NoCall as refused:
        raise ProviderError("spent", str(refused), usage=Usage()) from None


def reply(
    task: AskedTask,
    model: Model,
    config: Config,
    log: CallBook,
    clock: Clock,
    cancelled: Callable[[], bool],
) -> Result:
    """Return the result of the task: the answer without the request at its end. Cancelled once *cancelled* returns true."""
    calls = Calls(model, config, log, clock, cancelled, account="replies")
    result = delivered(task, model, clock, lambda: _ask_reply(calls, task), calls)
    text, request = split_request(result.text, task.mark)
    if not request:
        return replace(result, text=text)
    turns = (*task.turns, {"role": "assistant", "content": result.text})
    return replace(result, text=text, request=request, turns=turns, mark=task.mark)


def turns_in(task: AskedTask) -> tuple[Turn, ...]:
    """Return the turns of the task as a model is asked them."""
    return tuple(Turn(turn["role"], turn["content"]) for turn in task.turns)  # type: ignore[arg-type]


def _ask_reply(calls: Calls, task: AskedTask) -> str:
    try:
        text = _ask(calls, turns_in(task), None)
    except ProviderError as error:
        if error.reason != "truncated" or not error.text:
            raise
        text = f"{error.text}{_CUT}"
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}{_CUT}"
