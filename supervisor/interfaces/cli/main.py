"""
All commands of the command line (cli.md); a module of its own, since `serve` imports only the commands that it answers.

Answers go to standard output, everything else to standard error. An error is one sentence with an exit code.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import typer

from recalld.supervisor.interfaces.cli import (
    admin,
    backup,
    chat,
    completion,
    connect,
    demo,
    fleet,
    forget,
    import_logs,
    long_term,
    model,
    pool,
    programs,
    service,
    turn,
    unit,
)
from recalld.supervisor.interfaces.cli.app import new_app


@cache
def commands() -> Any:
    """Return the command line with all commands, built once."""
    app = new_app()
    for group in (
        service,
        chat,
        admin,
        backup,
        import_logs,
        turn,
        long_term,
        forget,
        model,
        pool,
        completion,
        unit,
        programs,
        connect,
        demo,
        fleet,
    ):
        group.register(app)
    return typer.main.get_command(app)
