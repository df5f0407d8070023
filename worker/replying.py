"""
From the task of an answer to its result: the model's words, and the one request that they may end with.

An answer that the model was cut off in is shown as far as it goes. Source: docs/reference/protocol.md, 7.8 and 7.9.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from recalld.supervisor.protocol.lookup_request import split_request
from recalld.supervisor.protocol.prompts import Turn

from .calls import Calls
from .providers import NoCall, ProviderError, Usage
from .summarize import delivered

if TYPE_CHECKING:
    from collections.abc import Callable

    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.protocol.task import AskedTask, Result
    from recalld.supervisor.storage.clock import Clock

    from .calls import CallBook
    from .providers import Model

#: The most characters of an answer; what a model writes beyond them is cut off.
_MOST_CHARS: Final = 40_000
_CUT: Final = "…"


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
    result = delivered(task, model, clock, lambda: _ask(calls, task), calls)
    said, request = split_request(result.text, task.mark)
    if not request:
        return replace(result, text=said)
    turns = (*task.turns, {"role": "assistant", "content": result.text})
    return replace(result, text=said, request=request, turns=turns, mark=task.mark)


def turns_in(task: AskedTask) -> tuple[Turn, ...]:
    """Return the turns of the task as a model is asked them."""
    return tuple(Turn(one["role"], one["content"]) for one in task.turns)  # type: ignore[arg-type]


def _ask(calls: Calls, task: AskedTask) -> str:
    """Return the answer. A call that may not be made is a failure here: somebody waits for word of it."""
    try:
        text = calls.complete(turns_in(task))
    except NoCall as refused:
        raise ProviderError("spent", str(refused), usage=Usage()) from None
    except ProviderError as error:
        if error.reason != "truncated" or not error.text:
            raise
        text = f"{error.text}{_CUT}"
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}{_CUT}"
