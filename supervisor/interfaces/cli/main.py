"""
All commands of the command line (docs/reference/cli.md), and how one is run.

Answers go to standard output, everything else to standard error. An error is one sentence with an exit code. The module of a
command is loaded when the command is run.
"""

from collections.abc import Mapping
from typing import Annotated, Final

from ...storage.errors import BadRequest
from ...storage.texts import Text
from ..locate import split_workspace, version
from .call import Call, exit_code_of
from .parser import (
    COMMON,
    COMPLETE,
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
        "service": ("service", "install restart uninstall status", Text("recalld as a service of systemd.")),
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
#: Commands of earlier versions, by their first words, and what does their work now.
LEFT: Final = {
    "chat": Text("there is no chat any more: `recalld connect` gives this memory to an assistant."),
    "demo": Text("there is no demo any more: `script/demo` in a clone of the repository shows recalld at work."),
    "redact": Text("there is no `redact` any more: `recalld forget --match TEXT` takes back what is stored."),
    "plan": Text("`recalld status --plan` shows what the next run would do."),
    "disconnect": Text("`recalld connect --remove` takes out of the clients' settings what `connect` put in."),
    "stats": Text("`recalld read --stats` counts the lines of the long-term memory."),
    "archive": Text("`recalld run --once` writes every message to its dated file now."),
    "gateway": Text("there is no gateway any more: each workspace answers over HTTP at its own `[serve] port`."),
    "fsck --accept-times": Text(
        "nothing has to be accepted any more: a message whose time can't be read stands under the day that it came, and log.jsonl says so once."
    ),
    "doctor --broker": Text("`recalld pool status` says what is wrong with the pool of workers."),
    "status --metrics": Text("there are no figures for Prometheus any more: `recalld status --json` has them."),
    "why --replay": Text("`recalld inject --query …` shows what would be put before the assistant now."),
    "pool pause": Text("a model of the pool is not paused any more: while its workers are stopped, tasks wait in their files."),
    "pool flush": Text("nothing is flushed any more: what a pool holds in Redis may be deleted with Redis's own commands."),
    "fleet": Text("there is no fleet any more: `recalld -w DIR service install --name NAME` makes a service for a workspace."),
    "service add": Text("`service add` makes no units any more: one of your own runs `recalld worker --broker URL`."),
    "service remove": Text("`service remove` removes no units any more: `systemctl --user disable --now UNIT` ends one."),
    "service logs": Text("`journalctl --user-unit=recalld.service` shows what a service wrote."),
    "restore --from": Text("move the copy of history.json into inbox.d/new, and what only it has is added."),
    "restore --give-up": Text("delete the file of the quarantine that `status` names."),
}
_LEFT_OPTIONS: Final = frozenset(word for words in LEFT for word in words.split() if word.startswith("--"))


def _command(name: str, place: str | tuple[str, str, Text]) -> Command | Group:
    if isinstance(place, str):
        return Command(place, name)
    module, below, meaning = place
    return Group(meaning, {word: Command(module, f"{name} {word}") for word in below.split()})


_NAMED: Final = {name: _command(name, place) for commands in HEADINGS.values() for name, place in commands.items()}
#: The names that four commands had before they were recalld's own.
_OTHERS: Final = {**{name: _NAMED[name] for name in ("status", "search", "prune")}, "index": Command("care", "index rebuild")}
#: Commands that the list does not show: what clients and shells run, and other names.
HIDDEN: Final[Mapping[str, Command | Group]] = {
    "hook": Command("connect", "hook"),
    "completion": Command("help", "completion"),
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
    """Run the command that the arguments of *call* name, and return its exit code; 64 for one that has left."""
    words = [word for word in split_workspace(call.argv)[1] if not word.startswith("-") or word in _LEFT_OPTIONS]
    for count in (1, 2):
        if left := LEFT.get(" ".join(words[:count])):
            return call.say(left, BadRequest.exit_code)
    return exit_code_of(call, lambda: _run(call))


def _run(call: Call) -> int:
    try:
        if COMPLETE in call.environ:
            from .help import complete

            return complete(call, COMMAND_LINE)
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
