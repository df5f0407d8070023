"""
From a task to its result: the material is read, the provider called, every fault turned into a failed result.

No instruction in a message is followed: the provider has no tools to call. How a model is prompted is in `writing.py`. Source:
docs/reference/protocol.md, 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from recalld.supervisor.protocol.task import AskedTask, Reason, Result, Task, result_of
from recalld.supervisor.protocol.task_material import MaterialLost
from recalld.supervisor.storage.clock import Clock
from recalld.supervisor.text.record import record

from .calls import Calls
from .providers import Model, ProviderError, Summariser
from .writing import Writing

if TYPE_CHECKING:
    from .desk import FolderClaim


NOTHING: Final = "无需记录"
_ERROR_CHARS: Final = 200


@record
class _Outcome:
    text: str = ""
    reason: Reason | None = None
    error: str = ""
    retry_after_s: int = 0
    too_long: bool = False


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


def _outcome(write: Callable[[], str]) -> _Outcome:
    try:
        return _Outcome(write())
    except MaterialLost as fault:
        return _Outcome(reason="lost", error=str(fault))
    except ProviderError as fault:
        return _Outcome(reason=fault.reason, error=fault.why, retry_after_s=fault.retry_after_s, too_long=fault.overflow)
    except (OSError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError) as fault:
        return _Outcome(reason="input", error=f"{type(fault).__name__}: {fault}")
