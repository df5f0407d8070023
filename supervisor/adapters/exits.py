"""How a command ends: whatever goes wrong is one sentence on standard error, and an exit code (docs/cli.md)."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer

from supervisor.adapters.opening import MUTE
from supervisor.protocol.errors import BadRequest, SupervisorError, from_os_error

#: What typer raises for wrong arguments; older ones bring click's own, newer ones a copy of it.
_USAGE: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def run_and_exit(commands: Any, *, is_mute: bool = False) -> None:
    """Run one of the *commands* by this process's arguments and end with its code; *is_mute* is told (`supervisor_mute`)."""
    MUTE.set(is_mute)
    os.umask(0o077)  # the engine of the index makes files of its own, and they hold what was said
    code = run_command(commands, None)
    try:
        if sys.stdout:  # None where the caller has closed it
            sys.stdout.flush()
    except OSError as error:
        code = unprinted(error)
    sys.exit(code)


def run_command(commands: Any, argv: list[str] | None) -> int:
    """Run one of the *commands* by the command line *argv* (None: that of this process) and return its exit code."""
    try:
        ended_with = commands(args=argv, prog_name="recalld", standalone_mode=False)
    except SupervisorError as error:
        return _say(str(error), error.exit_code)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.Abort:
        return _say("interrupted.", 130)
    except _USAGE as error:
        sentence = getattr(error, "format_message", error.__str__)().rstrip(".")
        return _say(f"{sentence}. See `recalld --help`.", BadRequest.exit_code)
    except SystemExit:
        return 0  # so typer ends where the reader of the output has gone
    except OSError as error:
        return _refused(error, error.filename or "the workspace")
    return ended_with if isinstance(ended_with, int) else 0


def _refused(error: OSError, where: str) -> int:
    refused = from_os_error(error, where)
    return _say(str(refused), refused.exit_code)


def _say(sentence: str, code: int) -> int:
    print(f"recalld: {sentence}", file=sys.stderr)
    return code


def unprinted(error: OSError) -> int:
    """Return the exit code where the output could not be printed: a reader that has heard enough is no fault."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still held goes there at the end of the process
    return 0 if isinstance(error, BrokenPipeError) else _refused(error, "standard output")
