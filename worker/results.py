"""
From a task to its result: the material is read, the provider called, every fault turned into a failed result.

A day or a month is summarised (`summarise`); what somebody waits for is answered (`answer`): its prompt or its messages are in
the task, so no file of memory is read. No instruction in a message is followed: the provider has no tools to call. How a model
is prompted for a summary is in `writing.py`. Source: docs/reference/protocol.md, 6 and 6.10.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Final, cast

from recalld.supervisor.extracts.extract import extract_of_talk
from recalld.supervisor.protocol.config import Config
from recalld.supervisor.protocol.prompts import Prompt, Turn
from recalld.supervisor.protocol.task import REPLY_KINDS, AskedTask, Reason, Result, Task, result_of
from recalld.supervisor.protocol.task_material import MaterialLost
from recalld.supervisor.protocol.turn import split_request
from recalld.supervisor.storage.clock import Clock
from recalld.supervisor.storage.errors import BadConfig
from recalld.supervisor.storage.texts import Text
from recalld.supervisor.text.record import record

from .calls import CallBook, Calls
from .desk import FolderClaim
from .providers import Model, NoCall, ProviderError, Summariser, Usage
from .writing import Writing

NOTHING: Final = "无需记录"
_ERROR_CHARS: Final = 200
#: The most tokens of the answer to a test: a model that thinks first needs some hundred.
_TEST_TOKENS: Final = 1024
#: The most characters of an answer; what a model writes beyond them is cut off.
_MOST_CHARS: Final = 40_000
_CUT: Final = "…"


def summarise(
    claim: FolderClaim,
    provider: Model | Summariser,
    clock: Clock,
    cancelled: Callable[[], bool] = lambda: False,
    window: int | None = None,
) -> Result:
    """
    Return the result of the task; a fault of the task, its material or the provider is a failed result.

    *window*: of the server, in tokens. Raises Cancelled once *cancelled* returns true, NoCall when no call may be made,
    BadConfig when a prompt is wrong.
    """
    task, material = cast("Task", claim.task), partial(claim.material, with_extracts=provider.extract)
    if not isinstance(provider, Model):
        return delivered(task, provider, clock, lambda: provider.summarise(task, material()) or NOTHING)
    writing = Writing(Calls(provider, claim.config, claim.log, clock, cancelled, is_asked=task.redo, window=window), claim)
    result = delivered(task, provider, clock, lambda: writing.write(task, material()) or NOTHING, writing.calls)
    wrote = writing.calls.answered or result.model  # a server may have swapped the model under its name
    return replace(result, model=wrote, prompt=writing.version, joined=writing.is_joined and result.status == "done")


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

    Of an answer in a conversation the request at its end is apart. Raises Cancelled once *cancelled* returns true, BadConfig
    when it needs a model and none is configured.
    """
    if task.kind == "session-extract":
        zone, most = config.archive.zone, config.summarize.char_limit
        return delivered(task, provider, clock, lambda: extract_of_talk(task.messages, zone, most))
    if not isinstance(provider, Model):
        raise BadConfig("llm.model", Text("no model is configured, so summaries are extracts; give llm.base_url and llm.model"))
    if task.kind == "model-list":
        return delivered(task, provider, clock, lambda: json.dumps(asdict(provider.listed())))
    prompt = tuple(Turn(turn["role"], turn["content"]) for turn in task.turns) or task.prompt  # type: ignore[arg-type]
    if task.kind not in REPLY_KINDS:
        is_test = task.kind == "model-test"
        calls = Calls(provider, config, log, clock, cancelled, is_asked=is_test)
        return delivered(task, provider, clock, lambda: _ask(calls, prompt, _TEST_TOKENS if is_test else None), calls)
    calls = Calls(provider, config, log, clock, cancelled, account="replies")
    result = delivered(task, provider, clock, lambda: _ask_reply(calls, prompt), calls)
    text, request = split_request(result.text, task.mark)
    if not request:
        return replace(result, text=text)
    turns = (*task.turns, {"role": "assistant", "content": result.text})
    return replace(result, text=text, request=request, turns=turns, mark=task.mark)


def _ask(calls: Calls, prompt: Prompt, most: int | None = None) -> str:
    """Return the model's answer. A call that may not be made is a failure here: somebody waits for word of it."""
    try:
        return calls.complete(prompt) if most is None else calls.complete(prompt, most)
    except NoCall as refused:
        raise ProviderError("spent", str(refused), usage=Usage()) from None


def _ask_reply(calls: Calls, prompt: Prompt) -> str:
    try:
        text = _ask(calls, prompt)
    except ProviderError as error:
        if error.reason != "truncated" or not error.text:
            raise
        text = f"{error.text}{_CUT}"
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}{_CUT}"


def delivered(
    task: Task | AskedTask, provider: Model | Summariser, clock: Clock, write: Callable[[], str], calls: Calls | None = None
) -> Result:
    """Return what *write* returns, or why it failed, as the result of the task, with what its *calls* have cost."""
    began = clock()
    outcome = _outcome(write)
    return result_of(
        task,
        began,
        clock(),
        status="failed" if outcome.reason else "done",
        text=outcome.text,
        error=outcome.error if len(outcome.error) <= _ERROR_CHARS else outcome.error[:_ERROR_CHARS],
        reason=outcome.reason,
        retry_after_s=outcome.retry_after_s,
        too_long=outcome.too_long,
        provider=provider.name,
        model=provider.model,
        extract=provider.extract,
        usage=calls.usage.wire() if calls else {},
    )


@record
class _Outcome:
    text: str = ""
    reason: Reason | None = None
    error: str = ""
    retry_after_s: int = 0
    too_long: bool = False


def _outcome(write: Callable[[], str]) -> _Outcome:
    try:
        return _Outcome(write())
    except MaterialLost as fault:
        return _Outcome(reason="lost", error=str(fault))
    except ProviderError as fault:
        return _Outcome(reason=fault.reason, error=fault.why, retry_after_s=fault.retry_after_s, too_long=fault.overflow)
    except (OSError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError) as fault:
        return _Outcome(reason="input", error=f"{type(fault).__name__}: {fault}")
