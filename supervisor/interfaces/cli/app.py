"""
How every command begins and ends: its workspace, its clock and its variables; its error sentence and exit code (cli.md).

If the supervisor runs a command for a client, the client's workspace and variables are used in place of the supervisor's own.
"""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - typer reads the annotations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from supervisor.interfaces.locate import workspace_of
from supervisor.protocol.clock import Clock, fixed_clock, read_instant, to_wire, utc_now
from supervisor.protocol.errors import BadRequest, SupervisorError, from_os_error
from supervisor.text.printable import printable
from supervisor.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from collections.abc import Mapping

Folder = Annotated[Path | None, typer.Option("-w", "--workspace", help="the workspace (RECALLD_WORKSPACE)")]
Now = Annotated[str | None, typer.Option("--now", help="the clock, ISO 8601 (RECALLD_NOW)")]
Json = Annotated[bool, typer.Option("--json", help="machine-readable output")]


@dataclass(frozen=True, slots=True)
class Call:
    """A command that came through the socket: the workspace it names, the client's RECALLD_* variables, the open workspace."""

    named: str
    environ: Mapping[str, str]
    served: Workspace


#: The request that is being answered; None in a process that runs its own command.
CALL: Final[ContextVar[Call | None]] = ContextVar("call", default=None)
#: Whether a supervisor was asked first and did not respond.
MUTE: Final[ContextVar[bool]] = ContextVar("mute", default=False)
#: The last year of a clock: waits and limits reach some years ahead, and the calendar ends with 9999.
_LAST_YEAR: Final = 9900
#: The options before the command.
GIVEN: Final[dict[str, Any]] = {}


def is_served() -> bool:
    """Return whether the supervisor runs the command for a client."""
    return CALL.get() is not None


def environ() -> Mapping[str, str]:
    """Return the environment variables of the client, or of this process."""
    call = CALL.get()
    return call.environ if call else os.environ


def root_of(workspace: Path | None) -> Path:
    """
    Return the absolute path of the workspace: the option's, else what `workspace_of` finds.

    ValueError if a client's arguments name another workspace than `named_workspace` found, by which it chose the supervisor.
    """
    chosen = workspace or GIVEN.get("workspace")
    if call := CALL.get():
        if chosen != (Path(call.named) if call.named else None):
            raise ValueError("another workspace")
        return call.served.paths.root
    return Path(chosen or workspace_of([], os.environ)).expanduser().absolute()


def moment(now: str | None) -> datetime | None:
    """Return the instant of --now or RECALLD_NOW, None for the machine's clock; BadRequest if it is no time."""
    text = now or GIVEN.get("now") or environ().get("RECALLD_NOW")
    if not text:
        return None
    found = read_instant(text, utc_now().tzinfo)  # type: ignore[arg-type]  # UTC is a zone
    if found is None:
        raise BadRequest("--now", f"{text!r} is no time; write it like 2026-01-31T08:00:00Z")
    if found.year > _LAST_YEAR:
        raise BadRequest("--now", f"{text!r} is at the end of the calendar; give a year up to {_LAST_YEAR}")
    if CALL.get() is None:
        os.environ["RECALLD_NOW"] = to_wire(found)  # workers inherit it
    return found


def opened(workspace: Path | None, now: str | None) -> tuple[Workspace, datetime]:
    """Return the open workspace and the moment of a one-shot command; BadRequest if there is no such workspace."""
    at = moment(now)
    clock: Clock = fixed_clock(at) if at else utc_now
    root = root_of(workspace)
    if call := CALL.get():
        return call.served, clock()
    if not root.is_dir():
        raise BadRequest("--workspace", f"{root} is not there; make it with `recalld init -w {root}`")
    ws = open_workspace(root, os.environ, clock)
    if MUTE.get():
        ws.events.transition("supervisor_mute", True)
    return ws, clock()


def new_app(*, completion: bool = False) -> typer.Typer:
    """Return a command line with the common options, but without commands; with *completion* also the options for shells."""
    app = typer.Typer(
        name="recalld",
        help="The memory of a long-running local assistant, kept in files a person can read.",
        add_completion=completion,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_before)
    return app


def _say_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"recalld {version('recalld')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_say_version, is_eager=True, help="which version this is")]


def _before(workspace: Folder = None, now: Now = None, _version: Version = False) -> None:
    GIVEN.update(workspace=workspace, now=now)


#: What typer raises for wrong arguments: in older versions click's class, in newer ones a copy of it.
_USAGE: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def run_and_exit(commands: Any, *, is_mute: bool = False) -> None:
    """Run the command of this process's arguments and exit with its code; *is_mute*: a supervisor did not respond."""
    MUTE.set(is_mute)
    os.umask(0o077)  # the index engine creates files itself, and they contain messages
    code = run_command(commands, None)
    try:
        if sys.stdout:  # None if the caller has closed it
            sys.stdout.flush()
    except OSError as error:
        code = unprinted(error)
    sys.exit(code)


def run_command(commands: Any, argv: list[str] | None) -> int:
    """Run the command that *argv* names (None: this process's arguments) and return its exit code."""
    try:
        ended_with = commands(args=argv, prog_name="recalld", standalone_mode=False)
    except SupervisorError as error:
        return say(str(error), error.exit_code)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.Abort:
        return say("interrupted.", 130)
    except _USAGE as error:
        sentence = getattr(error, "format_message", error.__str__)().rstrip(".")
        return say(f"{sentence}. See `recalld --help`.", BadRequest.exit_code)
    except SystemExit:
        return 0  # typer's exit if the reader of the output has gone
    except OSError as error:
        return _refused(error, error.filename or "the workspace")
    return ended_with if isinstance(ended_with, int) else 0


def _refused(error: OSError, where: str) -> int:
    refused = from_os_error(error, where)
    return say(str(refused), refused.exit_code)


def say(sentence: str, code: int) -> int:
    """Print the sentence on standard error and return the exit code."""
    if sys.stderr:  # None if the caller has closed it: then `print` would choose standard output
        print(printable(f"recalld: {sentence}"), file=sys.stderr)
    return code


def unprinted(error: OSError) -> int:
    """Return the exit code after the output could not be printed; 0 if its reader has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # buffered output goes there at the end of the process
    return 0 if isinstance(error, BrokenPipeError) else _refused(error, "standard output")
