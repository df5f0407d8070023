"""
The help of commands, and the errors about arguments, in Chinese; in English the list of commands in whole sentences.

The English help of a command is its docstring; that of an option is at its definition. Its Chinese is that of this English.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...storage.texts import Text, msgid, render, template
from ...text.lazy_re import lazy_re
from .output import columns

if TYPE_CHECKING:
    import re

#: The text that the parser adds to an option's help.
_EXTRA: Final = lazy_re(r"\[(?:(?P<range>[^\[\];]+); )?(?P<required>required)\]$|\[default: (?P<default>[^\]]+)\]$")
#: A word that must stay whole, with the blanks before it; or one character, after which a Chinese line may be broken.
_PIECE: Final = lazy_re(r" *(?:[!-~]+|[^!-~\s][，。；：、）」？]*)")
#: The parser's messages about wrong arguments, each with its text; groups are the fields.
_FAULTS: Final = tuple(
    (lazy_re(pattern), text)
    for pattern, text in (
        (r"No such command (?P<name>.+?)\. Did you mean (?P<near>.+)", msgid("No such command {name}. Did you mean {near}")),
        (r"No such command (?P<name>.+)", msgid("No such command {name}")),
        (r"No such option: (?P<name>\S+) Did you mean (?P<near>.+)", msgid("No such option: {name} Did you mean {near}")),
        (
            r"No such option: (?P<name>\S+) \(Possible options: (?P<near>.+)\)",
            msgid("No such option: {name} Did you mean {near}"),
        ),
        (r"No such option: (?P<name>.+)", msgid("No such option: {name}")),
        (r"Missing argument (?P<name>.+)", msgid("Missing argument {name}")),
        (r"Missing option (?P<name>.+)", msgid("Missing option {name}")),
        (r"Missing command", msgid("Missing command")),
        (r"Option (?P<name>.+) requires an argument", msgid("Option {name} requires an argument")),
        (r"Option (?P<name>.+) does not take a value", msgid("Option {name} does not take a value")),
        (r"Got unexpected extra arguments?(?:\(s\))? \((?P<name>.+)\)", msgid("Got unexpected extra arguments ({name})")),
        (r"Invalid value for (?P<name>.+?): (?P<why>.+)", msgid("Invalid value for {name}: {why}")),
        (r"(?P<value>.+) is not in the range x>=(?P<least>.+)", msgid("{value} is not in the range x>={least}")),
        (
            r"(?P<value>.+) is not in the range (?P<least>.+)<=x<=(?P<most>.+)",
            msgid("{value} is not in the range {least}<=x<={most}"),
        ),
        (r"(?P<value>.+) is not a valid int(?:eger)?(?: range)?", msgid("{value} is not a valid integer")),
        (r"(?P<value>.+) is not a valid float(?: range)?", msgid("{value} is not a valid float")),
    )
)
#: The headings of a page of help.
_HEADINGS: Final = {
    "Options": msgid("Options"),
    "Arguments": msgid("Arguments"),
    "Commands": msgid("Commands"),
}


def usage_fault(message: str) -> str:
    """Return the parser's *message* about wrong arguments as a text of ours; unchanged if it is not known here."""
    message = message.rstrip(".?")
    for pattern, text in _FAULTS:
        if found := pattern.fullmatch(message):
            fields: dict[str, Any] = found.groupdict()
            if "why" in fields:
                fields["why"] = usage_fault(fields["why"])
            if "near" in fields:
                fields["near"] = fields["near"].split(", ")
            return Text(text, **fields)
    return message


def in_english(command: Any) -> Any:
    """Return the *command*; its list says of each subcommand what it does in a whole sentence, which the parser would cut."""
    for inner in getattr(command, "commands", {}).values():
        in_english(inner)
        inner.short_help = " ".join((inner.help or "").partition("\n\n")[0].split()).rstrip(".")
    return command


def in_chinese(command: Any) -> Any:
    """Return the *command* with Chinese help, also for its subcommands and options."""
    context: Any = type(command).context_class
    command.context_class = type("ChineseContext", (context,), {"formatter_class": _formatter(context.formatter_class)})
    command.help = template(command.help, "zh")
    command.short_help = command.help.partition("\n")[0].rstrip("。")
    command.options_metavar = _render(Text("[OPTIONS]"))
    if below := getattr(command, "commands", None):
        command.subcommand_metavar = _render(Text("COMMAND [ARGS]..."))
        for inner in below.values():
            in_chinese(inner)
    for parameter in command.params:
        parameter.help = template(parameter.help, "zh")
    if shown := command.get_help_option(context(command)):
        shown.help = _render(Text("Show this message and exit."))
    return command


def _render(text: Text) -> str:
    return render(text, "zh")


def _formatter(base: Any) -> Any:
    """Return the parser's formatter with Chinese headings, and with lines that are broken by their width in a terminal."""

    class Formatter(base):  # type: ignore[misc]
        """Writes a page of help."""

        def write_usage(self, prog: str, args: str = "", _prefix: str | None = None) -> None:
            """Write the line that shows how the command is typed."""
            super().write_usage(prog, args, _render(Text("Usage: ")))

        def write_heading(self, heading: str) -> None:
            """Write the heading of a section."""
            self.write(f"{_render(Text(_HEADINGS[heading]))}：\n")

        def write_text(self, text: str) -> None:
            """Write paragraphs."""
            indent = " " * self.current_indent
            lines = (line for part in text.split("\n") for line in broken(part, self.width - self.current_indent))
            self.write("".join(f"{indent}{line}".rstrip() + "\n" for line in lines))

        def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
            """Write names with their help next to them."""
            rows = list(rows)
            first = min(max(columns(name) for name, _ in rows), col_max) + col_spacing
            for name, help_text in rows:
                lines = broken(_EXTRA.sub(_extra, help_text), self.width - first - self.current_indent)
                fits = columns(name) <= first - col_spacing
                begin = [name + " " * (first - columns(name)) + lines.pop(0)] if fits and lines else [name]
                rest = [" " * first + line for line in lines]
                self.write("".join(f"{' ' * self.current_indent}{line}".rstrip() + "\n" for line in [*begin, *rest]))

    return Formatter


def _extra(found: re.Match[str]) -> str:
    if found["default"]:
        return "[" + _render(Text("default: {value}", value=found["default"])) + "]"
    return "[" + "；".join(filter(None, [found["range"], _render(Text("required"))])) + "]"


def broken(text: str, width: int) -> list[str]:
    """
    Return the lines of a Chinese text, each of at most *width* columns where its words allow it.

    >>> broken("把 history.json 恢复", 8)
    ['把', 'history.json', '恢复']
    """
    lines = [""]
    for piece in _PIECE.findall(text):
        if lines[-1] and columns(lines[-1] + piece) > width:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return lines
