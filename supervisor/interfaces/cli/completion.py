"""The command that prints what a shell needs to complete the others: completion (docs/reference/cli.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer
from typer.completion import completion_init, get_completion_script  # type: ignore[attr-defined]

from ...storage.errors import BadRequest
from ...storage.texts import Text
from .app import COMPLETE, Context

if TYPE_CHECKING:
    from .call import Call

_SHELLS: Final = ("bash", "zsh", "fish")


def completion(
    ctx: Context,
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish", autocompletion=lambda: list(_SHELLS))],
) -> None:
    """Print a script for the shell, which completes commands and options by their help."""
    call: Call = ctx.obj
    if shell not in _SHELLS:
        raise BadRequest("shell", Text("{value!r} is not bash, zsh or fish", value=shell))
    call.show(get_completion_script(prog_name="recalld", complete_var=COMPLETE, shell=shell))


def register(app: typer.Typer) -> None:
    """Add the command to *app*, and answer the requests of its scripts."""
    completion_init()
    app.command()(completion)
