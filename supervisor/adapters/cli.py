"""
The command line (docs/cli.md): arguments in, one step called, its answer printed.

Machine output goes to standard output, everything else to standard error. An error is one sentence with an exit code.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import typer

from supervisor.adapters import care, keeping, turn
from supervisor.adapters.exits import run_and_exit
from supervisor.adapters.opening import new_app


@cache
def commands() -> Any:
    """Return all commands, put together once."""
    app = new_app()
    for room in (keeping, care, turn):
        room.register(app)
    return typer.main.get_command(app)


def main() -> None:
    """Run a command here, whether or not a supervisor could answer it, and end with its exit code."""
    run_and_exit(commands())


if __name__ == "__main__":
    main()
