"""
From a task to its result: the material read and checked, the provider asked, every fault turned into a failed result.

Nothing a message says is followed here: a summary is text made from text, no tool exists to be called (docs/protocol.md, 6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from supervisor.protocol.clock import to_wire
from supervisor.protocol.task import Result
from worker.material import Lost, material
from worker.providers.completion import Model, ProviderError
from worker.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.protocol.clock import Clock
    from supervisor.protocol.config import Config
    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout
    from supervisor.protocol.task import Reason, Task
    from worker.providers.completion import Summariser

NOTHING: Final = "无需记录"
_ERROR_CHARS: Final = 200


def summarise(
    task: Task,
    provider: Model | Summariser,
    config: Config,
    files: Files,
    layout: Layout,
    clock: Clock,
    cancelled: Callable[[], bool] = lambda: False,
) -> Result:
    """
    Return what came of the task; of what a task or a provider can cause nothing is raised.

    Cancelled when *cancelled* says so while a model writes, NoCall when it may not be asked, BadConfig when the workspace's
    wording is wrong: none is the task's fault.
    """
    began = clock()
    writing = Writing(provider, config, files, layout, clock, cancelled) if isinstance(provider, Model) else None
    write = writing.write if writing else cast("Summariser", provider).summarise
    text, error, wait_s = "", "", 0
    reason: Reason | None = None
    try:
        text = write(task, material(task, files, layout, extracts=provider.extract)) or NOTHING
    except Lost as fault:
        reason, error = "lost", str(fault)
    except ProviderError as fault:
        reason, error, wait_s = fault.reason, fault.why, fault.retry_after_s
    except (OSError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError) as fault:
        reason, error = "input", f"{type(fault).__name__}: {fault}"
    ended = clock()
    return Result(
        id=task.id,
        status="failed" if reason else "done",
        text=text,
        error=error[:_ERROR_CHARS],
        reason=reason,
        retry_after_s=wait_s,
        provider=provider.name,
        model=provider.model,
        prompt=writing.version if writing else "",
        extract=provider.extract,
        usage=writing.usage.wire() if writing else {},
        group=task.group,
        sources=task.sources,
        previous_digest=task.previous_digest,
        redo=task.redo,
        attempt=task.attempt,
        started_at=to_wire(began),
        completed_at=to_wire(ended),
        duration_ms=max(0, round((ended - began).total_seconds() * 1000)),
    )
