"""The commands for clients such as Claude Code and Codex: hook (docs/reference/cli.md)."""

from __future__ import annotations

from typing import Annotated

import typer

from recalld.supervisor.interfaces.cli.app import Context, Folder  # noqa: TC001 - typer reads the annotations
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest


def hook(
    ctx: Context,  # noqa: ARG001 - as every command
    client: Annotated[str, typer.Argument(help="claude-code, codex, gemini-cli, cursor, opencode or openclaw")],  # noqa: ARG001 - for the help
    workspace: Folder = None,  # noqa: ARG001 - for the help
) -> None:
    """Answer a client's event on standard input; clients run it, and it always ends with 0."""
    raise BadRequest("hook", Text("usage.hook_by_hand"))  # entry.py answers an event; only a person at a terminal gets here


def register(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    app.command()(hook)
