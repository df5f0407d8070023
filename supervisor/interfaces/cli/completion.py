"""`recalld completion`: the scripts that it prints for shells, and the answers to what these ask (docs/reference/cli.md)."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Final

from ...storage.errors import BadRequest
from ...storage.texts import Text
from .parser import COMPLETE, HELP, Argument, Command, Group, command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .call import Call

_BASH: Final = """\
_recalld_completion() {
    local IFS=$'\\n'
    COMPREPLY=( $(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _RECALLD_COMPLETE=bash recalld) )
}
complete -o default -F _recalld_completion recalld"""
_SCRIPTS: Final = {
    "bash": _BASH,
    "zsh": f"autoload -U +X bashcompinit && bashcompinit\n{_BASH}",
    "fish": 'complete --command recalld --arguments "(COMP_WORDS=(commandline -cp) _RECALLD_COMPLETE=fish recalld)"',
}


@command("completion", common=())
def completion(call: Call, shell: Annotated[str, Argument("bash, zsh or fish")]) -> None:
    """Print a script for the shell, which completes commands and options by their help."""
    if shell not in _SCRIPTS:
        raise BadRequest("shell", Text("{value!r} is not bash, zsh or fish", value=shell))
    call.show(_SCRIPTS[shell])


def complete(call: Call, command: Command | Group) -> int:
    """Print what completes the words of a script, a word a line, for fish with its help, and return the exit code."""
    if "COMP_WORDS" not in call.environ:  # a script of 0.29 or older for zsh or fish, which somebody has kept
        return 0
    line, number = call.environ["COMP_WORDS"], call.environ.get("COMP_CWORD")
    words = _words(line) + ([""] if number is None and line.endswith(" ") else [])
    at = len(words) - 1 if number is None else int(number)
    begun = words[at] if at < len(words) else ""
    for name, meaning in _completions(command, words[1:at], begun):
        if name.startswith(begun):
            call.show(f"{name}\t{' '.join(meaning.split())}" if call.environ[COMPLETE] == "fish" else name)
    return 0


def _words(line: str) -> list[str]:
    """Return the words of a line; one with a quotation mark that is open yet is taken as it is."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _completions(command: Command | Group, words: Sequence[str], begun: str) -> list[tuple[str, str]]:
    """Return what may stand behind the words, with its help; nothing where a file may."""
    takes_value = False
    for word in words:
        by_name = {name: param for param in command.params for name in param.names}
        if takes_value:
            takes_value = False
        elif word in by_name:
            takes_value = not by_name[word].is_flag
        elif isinstance(command, Group) and word in command.commands:
            command = command.commands[word]
    if takes_value:
        return []
    if begun.startswith("-"):
        options = [(name, param.help) for param in command.params for name in (*param.names, *param.opposites)]
        return [*((name, meaning) for name, meaning in options if name.startswith("--")), (HELP, "")]
    if not isinstance(command, Group):
        return []
    return [(name, inner.help.partition("\n\n")[0]) for name, inner in command.commands.items() if not inner.hidden]
