"""The parser of the command line: options that all commands have, the version, and the answers to wrong arguments."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ...storage.errors import BadRequest
from ...storage.texts import Text, msgid
from ..locate import named_workspace, without_workspace
from .call import Call, exit_code_of, typed

# not checked here: a folder that this user may not read is reported when it is opened, with exit code 77
Folder = Annotated[Path | None, typer.Option("-w", "--workspace", help="the workspace (RECALLD_WORKSPACE)", readable=False)]
Now = Annotated[str | None, typer.Option("--now", help="the clock, ISO 8601 (RECALLD_NOW)")]
Session = Annotated[str, typer.Option("--session", help="the key of the conversation in which it was asked")]
Kind = Annotated[str, typer.Option("--chat", help="its kind: direct, group or channel; else that in the session's key")]
Json = Annotated[bool, typer.Option("--json", help="machine-readable output")]


#: The context of a command; its `obj` is the `Call`.
Context = typer.Context

#: The variable that the scripts of `recalld completion` set when they ask.
COMPLETE: Final = "_RECALLD_COMPLETE"


def new_app() -> typer.Typer:
    """Return a command line with the common options, but without commands."""
    app = typer.Typer(
        name="recalld",
        help="The memory of a long-running local assistant, kept in files a person can read.",
        add_completion=False,  # `recalld completion` prints what a shell needs, and changes no file of the user's
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_before)
    return app


def _print_version(asked: bool) -> None:
    if asked:
        from ..locate import version

        print(version())
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version")]


def _before(ctx: Context, workspace: Folder = None, now: Now = None, _version: Version = False) -> None:
    call: Call = ctx.obj
    call.given_workspace, call.given_now = workspace, now


#: How each command that is given words wants them.
_WANTED: Final = {
    "recalld forget": "forget --match {}",
    "recalld append": "append --role user --text {}",
    "recalld search": "search {}",
    "recalld write": "write {}",
    "recalld inject": "inject --query {}",
    "recalld context": "context --query {}",
    "recalld summarize": "summarize --session {}",
    "recalld restore": "restore --from {}",
}
#: Who has only a backup of a whole workspace takes it to `restore`, too.
_WANTED_OF_TAR: Final = "backup restore {} --into DIR"

#: Commands and options of earlier versions, and what does their work now.
LEFT: Final = {
    "chat": Text(
        'there is no chat any more: any program asks by inbox.json and finds the answer in history.json where `[turns] reply = "worker"` is set, `recalld connect` gives this memory to an assistant, and `recalld inject --query TEXT` shows what it holds.'
    ),
    "demo": Text(
        "there is no demo among the commands any more: `script/demo` in a clone of the repository shows recalld at work on a sample conversation."
    ),
    "redact": Text(
        'there is no `redact` any more: `recalld forget --match TEXT` takes back a secret that is stored, and `[privacy] redact = "store"` in recalld.toml stores a mark in the place of the next one.'
    ),
    "status --metrics": Text(
        "there are no figures for Prometheus any more: `recalld status --json` has them, and ends with 65 when something is wrong."
    ),
    "gateway": Text(
        "there is no gateway any more: each workspace answers over HTTP at the `[serve] port` of its own recalld.toml, and a web server in front of them can pass /w/NAME/ on to that port."
    ),
    "fleet status": Text(
        "a fleet has no status of its own any more: `recalld -w DIR status` shows how a workspace is, `systemctl status 'recalld*'` how the services are."
    ),
    "fleet drain": Text(
        "nothing is drained or adopted any more: `systemctl stop recalld@NAME` ends the service of a workspace, and `recalld fleet` leaves one alone while there is a file of its name in .fleet/drained."
    ),
    "fleet adopt": Text(
        "nothing is drained or adopted any more: `systemctl stop recalld@NAME` ends the service of a workspace, and `recalld fleet` leaves one alone while there is a file of its name in .fleet/drained."
    ),
    "service add gateway": Text(
        "there is no gateway any more: each workspace answers over HTTP at the `[serve] port` of its own recalld.toml, and a web server in front of them can pass /w/NAME/ on to that port."
    ),
    "service add fleet": Text(
        "a fleet gets no unit any more: `recalld -w DIR/NAME service install --name NAME` makes a service for each workspace."
    ),
    "service install --linger": Text(
        "recalld no longer changes how a login ends: give `loginctl enable-linger` to let your services go on while you are not logged in, and `service install` without this option."
    ),
    "service install --no-linger": Text(
        "recalld no longer changes how a login ends: give `loginctl enable-linger` to let your services go on while you are not logged in, and `service install` without this option."
    ),
    "service install --force": Text(
        "`service install` no longer moves a unit away: move it with `mv`, or remove that of a workspace that has moved with `recalld service uninstall`, and give the command without `--force`."
    ),
}

#: The error that typer raises for wrong arguments: click's class in older versions, a copy of it in newer ones.
_USAGE: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def run_command(commands: Any, call: Call) -> int:
    """Run the command that the arguments of *call* name, and return its exit code; 64 for one that has left."""
    given = without_workspace(call.argv)
    words = [word for word in given if not word.startswith("-")]
    for command, left in LEFT.items():
        names, _, option = command.partition(" --")
        if words[: len(names.split())] == names.split() and (not option or f"--{option}" in given):
            return call.say(left, BadRequest.exit_code)
    return exit_code_of(call, lambda: _parsed(commands, call))


def shows_help(call: Call) -> bool:
    """Return whether the run prints the help of commands, or completes by it."""
    return not call.argv or "--help" in call.argv or COMPLETE in os.environ


def _parsed(commands: Any, call: Call) -> int:
    """Parse the arguments, run the command and return its exit code; its own errors are raised."""
    try:
        if shows_help(call):
            from copy import deepcopy

            from .help import in_chinese, in_english

            if call.language == "zh":
                commands = in_chinese(deepcopy(commands))
            elif COMPLETE not in os.environ:  # a completion shows a line for each
                commands = in_english(deepcopy(commands))
        ended_with = commands(args=call.argv, prog_name="recalld", standalone_mode=False, obj=call)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except _USAGE as error:
        said = getattr(error, "format_message", error.__str__)()
        command = getattr(getattr(error, "ctx", None), "command_path", "recalld")
        if instead := _with_option(call.argv, command, said):
            return call.say(Text("{fault}. See `{command} --help`.", fault=instead, command=command), BadRequest.exit_code)
        if call.language == "zh":
            from .help import usage_fault

            return call.say(
                Text("{fault}. See `{command} --help`.", fault=usage_fault(said), command=command), BadRequest.exit_code
            )
        fault = msgid("{fault}? See `{command} --help`.") if said.endswith("?") else msgid("{fault}. See `{command} --help`.")
        return call.say(Text(fault, fault=said.rstrip(".?"), command=command), BadRequest.exit_code)
    except SystemExit as ended:
        # fish asks by this exit code whether anything completes; typer also exits so if the reader of the output has gone
        return 1 if COMPLETE in os.environ and ended.code else 0
    return ended_with if isinstance(ended_with, int) else 0


def _with_option(argv: list[str], command: str, said: str) -> Text | None:
    """Return how to give words that were not understood, where the command takes words and no option was given; else None."""
    place, words = named_workspace(argv), without_workspace(argv)
    form = None if any(word.startswith("-") for word in words) or not words[1:] else _WANTED.get(command)
    if form is None or not said.startswith(("Got unexpected extra argument", "Missing option")):
        return None
    from ...text.printable import shortened

    if command == "recalld restore" and words[-1].endswith(".tar"):
        form = _WANTED_OF_TAR
    given = form.format(shlex.quote(shortened(" ".join(words[1:]))))
    return Text(
        "Give the words as in `{command}`", command=f"recalld -w {typed(Path(place))} {given}" if place else f"recalld {given}"
    )
