"""
How a command declares its options, and how the words of a command line are read (docs/reference/cli.md).

A command is a function of a `Call` and its options. The annotation of each parameter, `Annotated[TYPE, Option(…)]`, says how it
is typed and what it means; its docstring is the help.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, TypeAlias, TypeVar, get_args, get_origin

from ...storage.texts import Text, msgid
from .call import Call

HELP: Final = "--help"
#: The variable that the scripts of `recalld completion` set when they ask.
COMPLETE: Final = "_RECALLD_COMPLETE"
Declared: TypeAlias = tuple[Callable[..., int | None], Sequence["Option"]]
F = TypeVar("F", bound="Callable[..., int | None]")


class Option:
    """
    An option of a command: its name and its *meaning*.

    A number has a *least* value; a text is one of the *choices*, if there are any, or the default. What the function of the
    command calls it, and its type and default there, are those of the parameter that it annotates.
    """

    name: str
    kind: type
    default: Any
    takes_many: bool

    def __init__(
        self,
        name: str,
        meaning: str,
        *,
        short: str = "",
        least: int | None = None,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.names = [typed for typed in (short, name) if typed]
        self.help, self.least, self.choices = meaning, least, choices

    @property
    def is_argument(self) -> bool:
        """True if it is a word that has no name."""
        return not self.names

    @property
    def is_flag(self) -> bool:
        """True if no value stands behind its name."""
        return self.kind is bool

    @property
    def is_required(self) -> bool:
        """True if the command can't run without it."""
        return self.default is inspect.Parameter.empty

    @property
    def label(self) -> str:
        """Its name in sentences: an option as it is typed, an argument in the language of the reader."""
        return self.names[-1] if self.names else Text(msgid(self.name, "label"))

    def read(self, value: str, command: str) -> Any:
        """Return the *value* as its type is; UsageFault if it is none."""
        least, choices, why = self.least, self.choices, None
        try:
            given = self.kind(value)
        except ValueError:
            why = Text("{value!r} is not an integer", value=value)
            if self.kind is float:
                why = Text("{value!r} is not a number", value=value)
        else:
            if least is not None and given < least:
                why = Text("{value} is less than {least}", value=given, least=least)
            if choices and given not in (self.default, *choices):
                why = Text("{value!r} is not {names} or {last}", value=value, names=list(choices[:-1]), last=choices[-1])
        if why:
            raise UsageFault(Text("Invalid value for {name}: {why}", name=self.label, why=why), command)
        return given


#: A word of the command that is no option.
Argument: Final = partial(Option, "")


def parameter(name: str, annotation: Any, default: Any) -> Option:
    """Return the option or argument by which a parameter of a function is annotated, `Annotated[TYPE, Option(…)]`."""
    kind, declared = get_args(annotation)[:2]
    option: Option = copy(declared)  # several commands may share it
    kind = get_args(kind)[0] if isinstance(kind, UnionType) else kind
    option.name, option.default, option.takes_many = name, default, get_origin(kind) is list
    option.kind = get_args(kind)[0] if option.takes_many else kind
    return option


class HelpWanted(Exception):
    """Asks for the help of a command in place of running it."""

    def __init__(self, command: str) -> None:
        super().__init__(command)
        self.command = command


class UsageFault(Exception):
    """What is wrong with the words of a command."""

    def __init__(self, fault: Text, command: str) -> None:
        super().__init__(fault)
        self.fault, self.command = fault, command


class Command:
    """A command: its function, and the parameters that it takes; its *module* is loaded when these are asked for."""

    def __init__(self, module: str, words: str) -> None:
        self._module, self._words = module, words

    @cached_property
    def _declared(self) -> Declared:
        import_module(f"{__package__}.{self._module}")
        return COMMANDS[self._words]

    @property
    def help(self) -> str:
        """What it does, in English."""
        return inspect.getdoc(self._declared[0]) or ""

    @cached_property
    def params(self) -> list[Option]:
        """What may be given, in the order of the help: what the function takes, then the options of most commands."""
        function, common = self._declared
        _, *given = inspect.signature(function, eval_str=True).parameters.values()  # the first is the call
        return [*(parameter(option.name, option.annotation, option.default) for option in given), *common]

    def run(self, call: Call, words: Sequence[str], path: str) -> int:
        """Read the words behind the name of the command, run it and return its exit code."""
        function, common = self._declared
        values = self.read(words, path)
        call.take(**{param.name: values.pop(param.name) for param in common})
        return function(call, **values) or 0

    def read(self, words: Sequence[str], path: str) -> dict[str, Any]:
        """Return the values that are given, with the defaults of the others; UsageFault for words that are wrong."""
        values, rest = read_options(self.params, words, path)
        for param in (param for param in self.params if param.is_argument):
            taken, rest = (rest, []) if param.takes_many else (rest[:1], rest[1:])
            if taken:
                values[param.name] = (
                    [param.read(word, path) for word in taken] if param.takes_many else param.read(taken[0], path)
                )
        if rest:
            names = {name: param for param in self.params for name in param.names}
            for word, behind in pairwise(words):  # the name of the next option stood where its value was to be
                if word in names and not names[word].is_flag and behind in names:
                    raise UsageFault(Text("Option {name} needs a value", name=word), path)
            raise UsageFault(Text("Unexpected words: {name}", name=" ".join(rest)), path)
        for param in self.params:
            if param.name not in values and param.is_required:
                kind = msgid("Missing argument {name}") if param.is_argument else msgid("Missing option {name}")
                raise UsageFault(Text(kind, name=param.label), path)
        return {param.name: param.default for param in self.params} | values


class Group:
    """A name with commands below it; *params* may be given before the command."""

    def __init__(self, meaning: str, commands: Mapping[str, Command | Group], params: Sequence[Option] = ()) -> None:
        self.help, self.commands, self.params = meaning, commands, params

    def run(self, call: Call, words: Sequence[str], path: str) -> int:
        """Run the command that the words name, and return its exit code; UsageFault if they name none."""
        if not words:
            raise UsageFault(Text("Missing command"), path)
        if (name := words[0]).startswith("-"):
            read_options((), words, path)  # there is none but --help
        if name not in self.commands:
            raise UsageFault(Text("No such command {name}", name=repr(name)), path)
        return self.commands[name].run(call, words[1:], f"{path} {name}")


def read_options(
    params: Sequence[Option], words: Sequence[str], path: str, *, until_command: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """
    Return the values of the options among the words, and the words that are none.

    A value stands behind its option or, after `=`, in the same word. Of an option that is given twice the last value counts.
    After `--` no word is an option, and a negative number never is; with *until_command* none from the command on.
    """
    values: dict[str, Any] = {}
    rest: list[str] = []
    by_name = {name: param for param in params for name in param.names}
    left = iter(words)
    for word in left:
        if word == "--" or (until_command and not word.startswith("-")):
            rest += [*([] if word == "--" else [word]), *left]
        elif not word.startswith("-") or word == "-" or word[1:].isdecimal():
            rest.append(word)
        else:
            name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
            if name == HELP:
                raise HelpWanted(path)
            if name not in by_name:
                raise UsageFault(Text("No such option {name}", name=word.partition("=")[0]), path)
            param = by_name[name]
            if param.is_flag and equals:
                raise UsageFault(Text("Option {name} takes no value", name=name), path)
            given: Any = True
            if not param.is_flag:
                typed = value if equals else next(left, None)
                if typed is None:
                    raise UsageFault(Text("Option {name} needs a value", name=name), path)
                given = param.read(typed, path)
            values[param.name] = [*values.get(param.name, ()), given] if param.takes_many else given
    return values, rest


# ── declared ─────────────────────────────────────────────────────────────────

# whether the folder can be read is not looked at here: it is told when the folder is opened, with exit code 77
Folder = Annotated[Path | None, Option("--workspace", "the workspace (RECALLD_WORKSPACE)", short="-w")]
Now = Annotated[str | None, Option("--now", "the clock, ISO 8601 (RECALLD_NOW)")]
Session = Annotated[str, Option("--session", "the key of the conversation in which it was asked")]
CHATS: Final = ("direct", "group", "channel")
Chat = Annotated[str, Option("--chat", "its kind: direct, group or channel; else that in the session's key", choices=CHATS)]
Json = Annotated[bool, Option("--json", "machine-readable output")]

#: The options that several commands have, which `Call.take` is given.
COMMON: Final = {
    "session": parameter("session", Session, ""),
    "chat": parameter("chat", Chat, ""),
    "workspace": parameter("workspace", Folder, None),
    "now": parameter("now", Now, None),
    "json": parameter("json", Json, False),
}
#: Those of most commands, and of those whose answer depends on who reads it.
MOST: Final = ("workspace", "now", "json")
READ: Final = ("session", "chat", *MOST)
#: The commands of the modules that are loaded, by the words of each.
COMMANDS: Final[dict[str, Declared]] = {}


def command(words: str, *, common: tuple[str, ...] = MOST) -> Callable[[F], F]:
    """Declare the function below as the command of these *words*, which takes those options in *common*, too."""

    def declare(function: F) -> F:
        COMMANDS[words] = function, [COMMON[name] for name in common]
        return function

    return declare
