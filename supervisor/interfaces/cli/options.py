"""The options that many commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from .parser import Option, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from .parser import Declared

F = TypeVar("F", bound="Callable[..., int | None]")

# whether the folder can be read is not looked at here: it is told when the folder is opened, with exit code 77
Folder = Annotated[Path | None, Option("-w", "--workspace", meaning="the workspace (RECALLD_WORKSPACE)")]
Now = Annotated[str | None, Option("--now", meaning="the clock, ISO 8601 (RECALLD_NOW)")]
Session = Annotated[str, Option("--session", meaning="the key of the conversation in which it was asked")]
Kind = Annotated[str, Option("--chat", meaning="its kind: direct, group or channel; else that in the session's key")]
Json = Annotated[bool, Option("--json", meaning="machine-readable output")]

#: The options of most commands, which `Call.take` is given.
COMMON: Final = {
    "workspace": Parameter("workspace", Folder, None),
    "now": Parameter("now", Now, None),
    "json": Parameter("json", Json, False),
}
#: The commands of the modules that are loaded, by the words of each.
COMMANDS: Final[dict[str, Declared]] = {}


def command(words: str, *, common: tuple[str, ...] = tuple(COMMON)) -> Callable[[F], F]:
    """Declare the function below as the command of these *words*, which takes those options in *common*, too."""

    def declare(function: F) -> F:
        COMMANDS[words] = function, [COMMON[name] for name in common]
        return function

    return declare
