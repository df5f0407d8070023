"""
Steps that may fail alone: what fails is reported while it lasts, and is over when the same step succeeds.

`attempt` is for one step, `FaultScope` for those that are reported together, as the steps of a round. The events are made by
`Events.report`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from .events import Events
from .protocol.paths import WorkspacePaths
from .storage.errors import BadConfig, LockLost, NewerFormat, SupervisorError, as_supervisor_error

T = TypeVar("T")
#: What no further round could change: it ends a supervisor.
ENDING: Final = (BadConfig, NewerFormat, LockLost)


class FaultScope:
    """
    The errors of steps that are reported together, by the names of the steps.

    Errors of the kinds *raises* are raised. *root* is named for an OSError that names no file.
    """

    def __init__(self, root: Path, raises: tuple[type[Exception], ...] = ENDING) -> None:
        self.errors: dict[str, SupervisorError] = {}
        self._root = root
        self._raises = raises

    def attempt(self, name: str, step: Callable[[], T], otherwise: T) -> T:
        """Return what *step* returns; if it fails, keep its error under its *name* and return *otherwise*."""
        try:
            return step()
        except self._raises:
            raise
        except Exception as error:  # noqa: BLE001 - a bug in one step must not stop the others; it is reported
            self.errors[name] = as_supervisor_error(error, name, self._root)
        return otherwise


def attempt(what: str, step: Callable[[], T], otherwise: T, paths: WorkspacePaths, events: Events) -> T:
    """Return what *step* returns, *otherwise* if it fails in any way; events report the fault of *what* while it lasts."""
    scope = FaultScope(paths.root, raises=())
    value = scope.attempt(what, step, otherwise)
    events.report(what, scope.errors.values())
    return value
