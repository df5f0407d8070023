"""
All commands of the command line (cli.md); a module of its own, since `serve` imports only the commands that it answers.

Answers go to standard output, everything else to standard error. An error is one sentence with an exit code.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

import typer

from .app import new_app

#: The modules in the order of the help, and the commands that each adds; `programs` adds to the `service` of `unit`.
MODULES: Final = {
    "service": ("init", "run", "worker", "archive", "mcp", "open", "summary"),
    "admin": ("status", "plan", "doctor", "fsck", "restore"),
    "backup": ("backup",),
    "import_logs": ("import",),
    "turn": ("append", "inject", "context", "search", "get", "why", "index"),
    "long_term": ("write", "read", "delete", "stats", "summarize", "invalidate"),
    "forget": ("prune", "forget", "undo"),
    "memory": ("memory",),
    "model": ("model",),
    "pool": ("pool",),
    "completion": ("completion",),
    "unit": ("service",),
    "programs": ("service",),
    "connect": ("connect", "disconnect", "hook"),
    "fleet": ("fleet",),
}


@cache
def commands(asked: str = "") -> Any:
    """
    Return the command line, built once: with all commands, or with those of the module that has the one that is *asked* for.

    To build all of it takes longer than most commands.
    """
    app = new_app()
    for module in [name for name, its in MODULES.items() if asked in its] or MODULES:
        import_module(f"recalld.supervisor.interfaces.cli.{module}").register(app)
    return typer.main.get_command(app)
