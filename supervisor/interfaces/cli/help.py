"""
The help of commands, in the language of the reader, and what completes their words in a shell (docs/reference/cli.md).

The English help of a command is its docstring; that of an option is at its definition.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from shutil import get_terminal_size
from typing import Annotated, Final, TypeAlias

from ...storage.texts import Text, render, template
from ...text.language import Language
from ...text.lazy_re import lazy_re
from ..locate import split_workspace
from ..output import columns, word
from .call import Call
from .parser import COMPLETE, HELP, Argument, Command, Group, Option, command

Headings: TypeAlias = "Mapping[Text, Collection[str]]"
#: A word, or a note in brackets, stays whole with the blanks before it; behind another character a Chinese line may be broken.
_PIECE: Final = lazy_re(r" *(?:\[[^\]\n]{1,60}\]|[!-~…–—’“”]+|[^!-~\s][，。；：、）」？]*)")
#: The most columns of a page, and of the names at its left.
_WIDTH, _NAMES = 78, 30


def page(command: Command | Group, path: Sequence[str], language: Language, headings: Headings) -> str:
    """Return the help of the command below *command* whose words are *path*; *headings* have the names in the list of all."""
    for name in path:
        if isinstance(command, Group):
            command = command.commands[name]
    return _Page(language).of(command, path, {} if path else headings)


class _Page:
    def __init__(self, language: Language) -> None:
        self._language: Language = language
        self._colon = "：" if language == "zh" else ":"
        self._width = min(_WIDTH, get_terminal_size().columns - 2)

    def of(self, command: Command | Group, path: Sequence[str], headings: Headings) -> str:
        """Return the page of the command with these words; its commands stand under *headings* where there are some."""
        arguments = [param for param in command.params if param.is_argument]
        usage = [" ".join(["recalld", *path]), self._say(Text("[OPTIONS]")), *map(self._typed, arguments)]
        usage += [self._say(Text("COMMAND [ARGS]..."))] if isinstance(command, Group) else []
        paragraphs = template(command.help, self._language).split("\n\n")
        lines = [self._say(Text("Usage: ")) + " ".join(usage)]
        for paragraph in paragraphs:
            lines += ["", *(f"  {line}" for line in broken(" ".join(paragraph.split()), self._width - 2))]
        lines += self._section(Text("Arguments"), ((self._typed(argument), self._meaning(argument)) for argument in arguments))
        options = [
            (self._names(parameter), self._meaning(parameter)) for parameter in command.params if not parameter.is_argument
        ]
        lines += self._section(Text("Options"), [*options, (HELP, self._say(Text("Show this message and exit.")))])
        if isinstance(command, Group):
            for heading, names in (headings or {Text("Commands"): command.commands}).items():
                lines += self._section(heading, (self._row(command, name) for name in names))
        return "\n".join(lines)

    def _row(self, group: Group, name: str) -> tuple[str, str]:
        first = template(group.commands[name].help, self._language).partition("\n\n")[0]
        return name, " ".join(first.split()).rstrip(".。")

    def _section(self, heading: Text, rows: Iterable[tuple[str, str]]) -> list[str]:
        rows = list(rows)
        if not rows:
            return []
        first = min(max(columns(name) for name, _ in rows), _NAMES) + 2
        lines = ["", self._say(heading) + self._colon]
        for name, meaning in rows:
            text = broken(meaning, self._width - first - 2)
            begin = [name + " " * (first - columns(name)) + text.pop(0)] if columns(name) <= first - 2 else [name]
            lines += [f"  {line}".rstrip() for line in [*begin, *(" " * first + line for line in text)]]
        return lines

    def _meaning(self, param: Option) -> str:
        notes = [f"x>={param.least}"] if param.least is not None else []
        notes += [self._say(Text("required"))] if param.is_required and not param.is_argument else []
        if param.default and not param.is_flag and not param.is_required and not isinstance(param.default, list):
            notes.append(self._say(Text("default: {value}", value=param.default)))
        means = template(param.help, self._language)
        return f"{means}  [{'；'.join(notes) if self._language == 'zh' else '; '.join(notes)}]" if notes else means

    def _names(self, param: Option) -> str:
        value = "" if param.is_flag else f"<{self._say(word(param.kind.__name__.lower()))}>"
        return ", ".join(param.names) + (f" {value}" if value else "")

    def _typed(self, param: Option) -> str:
        name = self._say(word(param.name))
        name = name if param.is_required else f"[{name}]"
        return f"{name}..." if param.takes_many else name

    def _say(self, text: str) -> str:
        return render(text, self._language)


def broken(text: str, width: int) -> list[str]:
    """
    Return the lines of a text, each of at most *width* columns where its words allow it.

    >>> broken("把 history.json 恢复  [必填]", 8)
    ['把', 'history.json', '恢复', '[必填]']
    """
    lines = [""]
    for piece in _PIECE.findall(text):
        if lines[-1] and columns(lines[-1] + piece) > width:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return lines


# ── completion ──────────────────────────────────────────────────────────────────

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
def completion(call: Call, shell: Annotated[str, Argument("bash, zsh or fish", choices=(*_SCRIPTS,))]) -> None:
    """Print a script for the shell, which completes commands and options by their help."""
    call.show(_SCRIPTS[shell])


def complete(call: Call, command: Command | Group) -> int:
    """Print what completes the words of a script, a word a line, for fish with its help, and return the exit code."""
    line = call.environ.get("COMP_WORDS", "")
    words = line.split("\n" if "\n" in line else " ")  # bash and zsh give a word a line
    words = words[: int(call.environ.get("COMP_CWORD", len(words))) + 1]
    begun = words[-1]
    for name, meaning in _completions(command, words[1:-1], begun):
        if name.startswith(begun):
            call.show(f"{name}\t{' '.join(meaning.split())}" if call.environ[COMPLETE] == "fish" else name)
    return 0


def _completions(command: Command | Group, words: list[str], begun: str) -> list[tuple[str, str]]:
    for typed in split_workspace(words)[1]:
        if isinstance(command, Group) and typed in command.commands:
            command = command.commands[typed]
    options = {name: param for param in command.params for name in param.names}
    if words and words[-1] in options and not options[words[-1]].is_flag:
        return []  # a value, such as a file
    if begun.startswith("-"):
        return [*((name, param.help) for name, param in options.items() if name.startswith("--")), (HELP, "")]
    if not isinstance(command, Group):
        return []
    return [(name, inner.help.partition("\n\n")[0]) for name, inner in command.commands.items()]
