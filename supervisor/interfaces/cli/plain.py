"""
Command lines that need no parser: those of `COMMANDS`, with each option and its value as a word.

Loading typer takes longer than writing a message, and a sixth of the time of an injection. A command line with a fault, or for
help, or one that is written otherwise (`--role=user`) is left to typer, which reads these too (tests/process/test_entry.py).
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..locate import command_of

if TYPE_CHECKING:
    from collections.abc import Callable

#: The module of each command. Its function has the options as keyword arguments, and what is no option before them.
COMMANDS: Final = {
    "append": "append",
    "inject": "recall",
    "context": "recall",
    "search": "recall",
    "status": "state",
    "plan": "state",
}
#: A number of more digits, or with a sign, is left to typer.
_MOST_DIGITS: Final = 9


def plain_command(argv: list[str]) -> tuple[Callable[..., int], dict[str, Any]] | None:
    """
    Return the function of the command and its arguments beside the call; None if the command line needs a parser.

    >>> plain_command(["append", "--role", "user", "--text", "hi", "--json"])[1]
    {'role': 'user', 'text': 'hi', 'json': True}
    """
    name = command_of(argv)
    if name not in COMMANDS:
        return None
    function: Callable[..., int] = getattr(import_module(f"recalld.supervisor.interfaces.cli.{COMMANDS[name]}"), name)
    given = _given(function, argv)
    return None if given is None else (function, given)


def _given(function: Any, argv: list[str]) -> dict[str, Any] | None:
    """Return the arguments of the function in the command line, None if it needs a parser."""
    given: dict[str, Any] = {}
    defaults, code = function.__kwdefaults__, function.__code__
    unnamed, words, has_command = list(code.co_varnames[1 : code.co_argcount]), iter(argv), False
    for word in words:
        name = word.removeprefix("--")
        if word == function.__name__ and not has_command:
            has_command = True
        elif word in ("-w", "--workspace") and (value := next(words, "")):
            given["workspace"] = Path(value)
        elif word != name and name in defaults and (has_command or name == "now"):
            read = True if defaults[name] is False else _read(next(words, ""), defaults[name])
            if not read:
                return None
            given[name] = [*given.get(name, ()), *read] if isinstance(read, list) else read
        elif word and not word.startswith("-") and has_command and unnamed:
            given[unnamed.pop(0)] = word
        else:
            return None
    return given if has_command and not unnamed else None


def _read(value: str, default: Any) -> Any:
    """Return the value of an option as its default is: a number, one of several texts, a text; None for no plain number."""
    if isinstance(default, int):
        return int(value) if value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS else None
    return [value] if isinstance(default, tuple) and value else value
