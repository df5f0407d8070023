"""
The help of commands, and the errors about arguments, in Chinese; in English the list of commands in whole sentences.

The English help of a command is its docstring; that of an option is at its definition. The Chinese help is in the catalogue,
under the names of the command and the option.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ...storage.catalogue import Text, render, template
from ...text.lazy_re import lazy_re
from .output import columns

if TYPE_CHECKING:
    import re

#: The text that the parser adds to an option's help.
_EXTRA: Final = lazy_re(r"\[(?:(?P<range>[^\[\];]+); )?(?P<required>required)\]$|\[default: (?P<default>[^\]]+)\]$")
#: A word that must stay whole, with the blanks before it; or one character, after which a Chinese line may be broken.
_PIECE: Final = lazy_re(r" *(?:[!-~]+|[^!-~\s][，。；：、）」？]*)")
#: The parser's messages about wrong arguments, each with the code of its text; groups are the fields.
_FAULTS: Final = tuple(
    (lazy_re(pattern), code)
    for pattern, code in (
        (r"No such command (?P<name>.+?)\. Did you mean (?P<near>.+)", "usage.no_command_near"),
        (r"No such command (?P<name>.+)", "usage.no_command"),
        (r"No such option: (?P<name>\S+) Did you mean (?P<near>.+)", "usage.no_option_near"),
        (r"No such option: (?P<name>\S+) \(Possible options: (?P<near>.+)\)", "usage.no_option_near"),
        (r"No such option: (?P<name>.+)", "usage.no_option"),
        (r"Missing argument (?P<name>.+)", "usage.missing_argument"),
        (r"Missing option (?P<name>.+)", "usage.missing_option"),
        (r"Missing command", "usage.missing_command"),
        (r"Option (?P<name>.+) requires an argument", "usage.needs_value"),
        (r"Option (?P<name>.+) does not take a value", "usage.takes_no_value"),
        (r"Got unexpected extra arguments?(?:\(s\))? \((?P<name>.+)\)", "usage.too_many"),
        (r"Invalid value for (?P<name>.+?): (?P<why>.+)", "usage.bad_value"),
        (r"(?P<value>.+) is not in the range x>=(?P<least>.+)", "usage.too_small"),
        (r"(?P<value>.+) is not in the range (?P<least>.+)<=x<=(?P<most>.+)", "usage.out_of_range"),
        (r"(?P<value>.+) is not a valid int(?:eger)?(?: range)?", "usage.no_integer"),
        (r"(?P<value>.+) is not a valid float(?: range)?", "usage.no_number"),
    )
)


def usage_fault(message: str) -> str:
    """Return the parser's *message* about wrong arguments as a text of the catalogue; unchanged if it is not known here."""
    message = message.rstrip(".?")
    for pattern, code in _FAULTS:
        if found := pattern.fullmatch(message):
            fields: dict[str, Any] = found.groupdict()
            if "why" in fields:
                fields["why"] = usage_fault(fields["why"])
            if "near" in fields:
                fields["near"] = fields["near"].split(", ")
            return Text(code, **fields)
    return message


def in_english(command: Any) -> Any:
    """Return the *command*; its list says of each subcommand what it does in a whole sentence, which the parser would cut."""
    for inner in getattr(command, "commands", {}).values():
        in_english(inner)
        inner.short_help = " ".join((inner.help or "").partition("\n\n")[0].split()).rstrip(".")
    return command


def in_chinese(command: Any, words: tuple[str, ...] = ()) -> Any:
    """Return the *command*, whose name is *words*, with Chinese help, also for its subcommands and options."""
    context: Any = type(command).context_class
    command.context_class = type("ChineseContext", (context,), {"formatter_class": _formatter(context.formatter_class)})
    command.help = _help_of(".".join(words) or "recalld")
    command.short_help = command.help.partition("\n")[0].rstrip("。")
    command.options_metavar = _render("usage.options_metavar")
    if below := getattr(command, "commands", None):
        command.subcommand_metavar = _render("usage.command_metavar")
        for name, inner in below.items():
            in_chinese(inner, (*words, name))
    for one in command.params:
        one.help = _help_of(".".join((*words, one.name)), one.name)
    if shown := command.get_help_option(context(command)):
        shown.help = _render("usage.show_help")
    return command


def _help_of(name: str, option: str = "") -> str:
    """Return the help of a command or an option: its own, that of the command that it is another name of, or that of all."""
    for code in (name, name.removeprefix("memory.")):
        with suppress(KeyError):
            return template(f"help.{code}", "zh")
    return template(f"help.option.{option}", "zh")


def _render(code: str) -> str:
    return render(Text(code), "zh")


def _formatter(base: Any) -> Any:
    """Return the parser's formatter with Chinese headings, and with lines that are broken by their width in a terminal."""

    class Formatter(base):  # type: ignore[misc]
        """Writes a page of help."""

        def write_usage(self, prog: str, args: str = "", _prefix: str | None = None) -> None:
            """Write the line that shows how the command is typed."""
            super().write_usage(prog, args, _render("usage.prefix"))

        def write_heading(self, heading: str) -> None:
            """Write the heading of a section."""
            self.write(f"{_render(f'usage.heading_{heading.lower()}')}：\n")

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
        return f"[{render(Text('usage.default', value=found['default']), 'zh')}]"
    return f"[{'；'.join(filter(None, [found['range'], _render('usage.required')]))}]"


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
