"""`recalld memory status`, `index`, `search` and `prune`: the names that four commands had before they were recalld's own."""

from __future__ import annotations

import typer

from .admin import status
from .forget import prune
from .turn import index_rebuild, search


def register(app: typer.Typer) -> None:
    """Add the group to *app*; the list of commands does not show it."""
    memory = typer.Typer(help="Other names of `status`, `index rebuild`, `search` and `prune`.", rich_markup_mode=None)
    memory.command("index")(index_rebuild)
    for command in (status, search, prune):
        memory.command()(command)
    app.add_typer(memory, name="memory", hidden=True)
