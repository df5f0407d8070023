"""
How a command declares its options, and how the words of a command line are read (docs/reference/cli.md).

A command is a function of a `Call` and its options. The annotation of each parameter, `Annotated[TYPE, Option(…)]`, says how it
is typed and what it means; its docstring is the help. Little of the standard library is loaded, since hooks wait for commands.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TypeVar, get_args, get_origin

from ...storage.texts import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from .call import Call

    #: A command as its module declares it: its function, and which options of most commands it takes, too.
    Declared: TypeAlias = tuple[Callable[..., int | None], Sequence["Parameter"]]

HELP: Final = "--help"
#: The variable that the scripts of `recalld completion` set when they ask.
COMPLETE: Final = "_RECALLD_COMPLETE"
#: The default of a parameter that has none.
_REQUIRED: Final = object()
F = TypeVar("F", bound="Callable[..., int | None]")


class Option:
    """How an option is typed: its names, of which `--yes/--no` are two that say the opposite, and what it means."""

    def __init__(self, *names: str, meaning: str, metavar: str = "", least: int | None = None) -> None:
        self.names = [name for pair in names for name in pair.split("/")[:1]]
        self.opposites = [name for pair in names for name in pair.split("/")[1:]]
        self.meaning, self.metavar, self.least = meaning, metavar, least


class Argument(Option):
    """What a word of the command that is no option means."""

    def __init__(self, meaning: str, metavar: str = "") -> None:
        super().__init__(meaning=meaning, metavar=metavar)


class Exit(Exception):
    """Ends the command with an exit code."""

    def __init__(self, code: int = 0) -> None:
        super().__init__(code)
        self.code = code


class HelpWanted(Exception):
    """Asks for the help of a command in place of running it."""

    def __init__(self, command: str) -> None:
        super().__init__(command)
        self.command = command


class UsageFault(Exception):
    """What is wrong with the words of a command; *wants_option* where words are given without the option that they need."""

    def __init__(self, fault: Text, command: str, *, wants_option: bool = False) -> None:
        super().__init__(fault)
        self.fault, self.command, self.wants_option = fault, command, wants_option


class Parameter:
    """An option or an argument of a command: what its function calls it, its type, its default and how it is declared."""

    def __init__(self, name: str, annotation: Any, default: Any) -> None:
        kind, self.declared = get_args(annotation)[:2]
        kind = get_args(kind)[0] if isinstance(kind, UnionType) else kind
        self.takes_many = get_origin(kind) is list
        self.kind: type = get_args(kind)[0] if self.takes_many else kind
        self.name, self.default, self.help = name, default, self.declared.meaning
        self.names: list[str] = self.declared.names
        self.opposites: list[str] = self.declared.opposites

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
        return self.default is _REQUIRED

    @property
    def label(self) -> str:
        """Its name in sentences."""
        return self.names[-1] if self.names else self.declared.metavar.strip("[]") or self.name

    def read(self, value: str, command: str) -> Any:
        """Return the *value* as its type is; UsageFault if it is none."""
        if self.kind not in (int, float):
            return self.kind(value)
        try:
            number = self.kind(value)
        except ValueError:
            why = (
                Text("{value} is not an integer", value=repr(value))
                if self.kind is int
                else Text("{value} is not a number", value=repr(value))
            )
            raise UsageFault(Text("Invalid value for {name}: {why}", name=self.label, why=why), command) from None
        if self.declared.least is not None and number < self.declared.least:
            why = Text("{value} is less than {least}", value=number, least=self.declared.least)
            raise UsageFault(Text("Invalid value for {name}: {why}", name=self.label, why=why), command)
        return number


class Command:
    """A command: its function, and the parameters that it takes; its module is loaded when these are asked for."""

    def __init__(self, load: Callable[[], Declared], *, hidden: bool = False) -> None:
        self._load, self.hidden = load, hidden

    @cached_property
    def _declared(self) -> Declared:
        return self._load()

    @property
    def help(self) -> str:
        """What it does, in English."""
        from inspect import cleandoc

        return cleandoc(self._declared[0].__doc__ or "")

    @cached_property
    def params(self) -> list[Parameter]:
        """What may be given, in the order of the help: what the function takes, then the options of most commands."""
        function, common = self._declared
        code, scope = function.__code__, function.__globals__
        names = code.co_varnames[1 : code.co_argcount]  # the first is the call
        defaults = function.__defaults__ or ()
        given = (*[_REQUIRED] * (len(names) - len(defaults)), *defaults)
        annotations = function.__annotations__
        parameters = [
            Parameter(name, eval(annotations[name], scope), default)  # noqa: S307 - an annotation of this package
            for name, default in zip(names, given, strict=True)
        ]
        return [*parameters, *common]

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
            raise UsageFault(Text("Unexpected words: {name}", name=" ".join(rest)), path, wants_option=True)
        for param in self.params:
            if param.name not in values and param.is_required:
                if param.is_argument:
                    raise UsageFault(Text("Missing argument {name}", name=param.label), path)
                raise UsageFault(Text("Missing option {name}", name=param.label), path, wants_option=True)
        return {param.name: param.default for param in self.params} | values


class Group:
    """A name with commands below it."""

    params: Sequence[Parameter] = ()

    def __init__(self, meaning: str, load: Callable[[], Mapping[str, Command | Group]], *, hidden: bool = False) -> None:
        self.help, self.hidden, self._load = meaning, hidden, load

    @cached_property
    def commands(self) -> Mapping[str, Command | Group]:
        """The commands by their names; they are loaded when they are asked for."""
        return self._load()

    def run(self, call: Call, words: Sequence[str], path: str) -> int:
        """Run the command that the words name, and return its exit code; UsageFault if they name none."""
        name = next(iter(words), None)
        if name is None:
            raise UsageFault(Text("Missing command"), path)
        if name.startswith("-"):
            read_options((), words, path)  # there is none but --help
        return self.named(name, path).run(call, words[1:], f"{path} {name}")

    def named(self, name: str, path: str) -> Command | Group:
        """Return the command of this name; UsageFault, with those that are like it, if there is none."""
        if name not in self.commands:
            if near := _near(name, self.commands):
                raise UsageFault(Text("No such command {name}; the nearest is {near}", name=repr(name), near=near), path)
            raise UsageFault(Text("No such command {name}", name=repr(name)), path)
        return self.commands[name]


def read_options(
    params: Sequence[Parameter], words: Sequence[str], path: str, *, until_command: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """
    Return the values of the options among the words, and the words that are none.

    A value stands behind its option or, after `=`, in the same word. Of an option that is given twice the last value counts.
    After `--` no word is an option, and a negative number never is; with *until_command* none from the command on.
    """
    values: dict[str, Any] = {}
    rest: list[str] = []
    by_name = {name: (param, is_yes) for param in params for name, is_yes in _names(param)}
    left = iter(words)
    for word in left:
        if word == "--" or (until_command and not word.startswith("-")):
            rest += [*([] if word == "--" else [word]), *left]
        elif not word.startswith("-") or word == "-" or (word[1:].isdecimal() and f"-{word[1]}" not in by_name):
            rest.append(word)
        else:
            name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
            if name == HELP:
                raise HelpWanted(path)
            if name not in by_name:
                _refuse_option(name if word.startswith("--") else word, by_name, path)
            param, is_yes = by_name[name]
            if param.is_flag and equals:
                raise UsageFault(Text("Option {name} takes no value", name=name), path)
            given = is_yes if param.is_flag else param.read(value if equals else _value(name, left, path), path)
            values[param.name] = [*values.get(param.name, ()), given] if param.takes_many else given
    return values, rest


def _names(param: Parameter) -> Iterator[tuple[str, bool]]:
    yield from ((name, True) for name in param.names)
    yield from ((name, False) for name in param.opposites)


def _value(name: str, left: Iterator[str], path: str) -> str:
    for word in left:
        return word
    raise UsageFault(Text("Option {name} needs a value", name=name), path)


def _refuse_option(name: str, known: Mapping[str, object] | Sequence[str], path: str) -> NoReturn:
    """Raise UsageFault: the command has no such option; it names those that are like it."""
    if near := _near(name, [other for other in known if other.startswith("--")]):
        raise UsageFault(Text("No such option {name}; the nearest is {near}", name=name, near=near), path)
    raise UsageFault(Text("No such option {name}", name=name), path)


def _near(name: str, known: Mapping[str, object] | Sequence[str]) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name, known)


# ── declared ─────────────────────────────────────────────────────────────────

# whether the folder can be read is not looked at here: it is told when the folder is opened, with exit code 77
Folder = Annotated[Path | None, Option("-w", "--workspace", meaning="the workspace (RECALLD_WORKSPACE)")]
Now = Annotated[str | None, Option("--now", meaning="the clock, ISO 8601 (RECALLD_NOW)")]
Session = Annotated[str, Option("--session", meaning="the key of the conversation in which it was asked")]
Kind = Annotated[str, Option("--chat", meaning="its kind: direct, group or channel; else that in the session's key")]
Json = Annotated[bool, Option("--json", meaning="machine-readable output")]

#: The options of most commands, which `Call.take` is given.
COMMON: Final = {
    "workspace": Parameter("workspace", Folder, None),
    "now": Parameter("now", Now, None),
    "json": Parameter("json", Json, False),
}
#: The commands of the modules that are loaded, by the words of each.
COMMANDS: Final[dict[str, Declared]] = {}


def command(words: str, *, common: tuple[str, ...] = tuple(COMMON)) -> Callable[[F], F]:
    """Declare the function below as the command of these *words*, which takes those options in *common*, too."""

    def declare(function: F) -> F:
        COMMANDS[words] = function, [COMMON[name] for name in common]
        return function

    return declare
