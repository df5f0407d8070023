"""
All commands of the command line (docs/reference/cli.md), and how one is run.

Answers go to standard output, everything else to standard error. An error is one sentence with an exit code. The module of a
command is loaded when the command is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from ...storage.errors import BadRequest
from ...storage.texts import Text
from ..locate import version
from .call import Call, exit_code_of
from .parser import (
    COMMON,
    Command,
    Group,
    HelpWanted,
    Option,
    UsageFault,
    parameter,
    read_options,
)

#: The headings of the list of commands, those of every day first, and below each its commands with their modules; what has
#: commands below it also with these, and what it is about.
HEADINGS: Final[Mapping[Text, Mapping[str, str | tuple[str, str, Text]]]] = {
    Text("Every day"): {
        "search": "recall",
        "read": "memory",
        "write": "memory",
        "forget": "memory",
        "undo": "memory",
        "status": "care",
        "open": "workspace",
    },
    Text("Setting up"): {
        "init": "workspace",
        "run": "workspace",
        "connect": "connect",
        "import": "import_logs",
        "service": ("service", "install restart uninstall status logs", Text("recalld as a service of systemd.")),
        "model": ("care", "test", Text("The model that writes summaries.")),
    },
    Text("For an assistant"): {
        "append": "append",
        "inject": "recall",
        "context": "recall",
        "get": "recall",
        "why": "recall",
        "summarize": "memory",
        "invalidate": "memory",
        "delete": "memory",
        "mcp": "workspace",
    },
    Text("Care"): {
        "doctor": "care",
        "fsck": "care",
        "backup": (
            "care",
            "create nightly verify restore",
            Text("Copies of the whole workspace, each in one file. (`recalld restore` restores a damaged history.json.)"),
        ),
        "restore": "care",
        "summary": ("workspace", "redo", Text("Daily and monthly summaries.")),
        "index": ("care", "status rebuild", Text("The search index, which can be deleted at any time.")),
        "prune": "memory",
    },
    Text("Workers"): {
        "worker": "workspace",
        "pool": ("workspace", "key status", Text("A pool of workers, for many workspaces.")),
    },
}


def _command(name: str, place: str | tuple[str, str, Text]) -> Command | Group:
    if isinstance(place, str):
        return Command(place, name)
    module, below, meaning = place
    return Group(meaning, {word: Command(module, f"{name} {word}") for word in below.split()})


_NAMED: Final = {name: _command(name, place) for commands in HEADINGS.values() for name, place in commands.items()}
#: The names that four commands had before they were recalld's own.
_OTHERS: Final = {**{name: _NAMED[name] for name in ("status", "search", "prune")}, "index": Command("care", "index rebuild")}
#: Commands that the list does not show: what clients run, and other names.
HIDDEN: Final[Mapping[str, Command | Group]] = {
    "hook": Command("connect", "hook"),
    "memory": Group(Text("Other names of `status`, `index rebuild`, `search` and `prune`."), _OTHERS),
}


#: What may be given before the command.
_BEFORE: Final = (
    COMMON["workspace"],
    COMMON["now"],
    parameter("is_version", Annotated[bool, Option("--version", "print the version")], False),
)


COMMAND_LINE: Final = Group(
    Text("The memory of a long-running local assistant, kept in files a person can read."), {**_NAMED, **HIDDEN}, _BEFORE
)


def run_command(call: Call) -> int:
    """Run the command that the arguments of *call* name, and return its exit code."""
    return exit_code_of(call, lambda: _run(call))


def _run(call: Call) -> int:
    try:
        values, words = read_options(_BEFORE, call.argv, "recalld", until_command=True)
        if values.pop("is_version", False):
            print(version())
            return 0
        call.take(**values)
        return COMMAND_LINE.run(call, words, "recalld")
    except HelpWanted as wanted:
        from .help import page

        call.show(page(COMMAND_LINE, wanted.command.split()[1:], call.language, HEADINGS))
        return 0
    except UsageFault as fault:
        return call.say(
            Text("{fault}. See `{command} --help`.", fault=fault.fault, command=fault.command), BadRequest.exit_code
        )
