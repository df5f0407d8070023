"""
The commands of Anthropic's memory tool (type `memory_20250818`) and the words of its answers, as pure functions.

Models are trained with these answers, so they are exactly those of the file-system tool in the official SDK. `anthropic_memory`
carries the commands out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Final, TypeAlias

from recalld.supervisor.longterm.lines import without_surrogates
from recalld.supervisor.protocol.marks import pins_more, with_marks_of
from recalld.supervisor.protocol.paths import is_foreign
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.storage.foreign_name import LONGEST_GIVEN, LONGEST_NAME
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.record import record

#: The folder that the model sees: memory.md in it is the long-term file, everything else is in memory/.
ROOT: Final = "/memories"
LONG_TERM: Final = "memory.md"
#: The most lines of a file that is viewed, and how wide their numbers are.
_MOST_LINES: Final = 999_999
_WIDTH: Final = 6
#: Lines that are shown above and below the one that was replaced.
_AROUND: Final = 2
#: An encoded dot, slash, backslash or NUL; or a backslash, which is a slash on other systems.
_ODD: Final = lazy_re(r"%(?:2e|2f|5c|00)|\\", re.IGNORECASE)


class Refused(Exception):
    """The documented answer to a command that was not carried out."""


@record
class View:
    """Show a file, or the lines of *view_range* of it (the last may be -1), or what is in a folder."""

    path: str
    view_range: Sequence[int] | None = None


@record
class Create:
    """Make a file."""

    path: str
    file_text: str


@record
class StrReplace:
    """Replace the only occurrence of *old_str*."""

    path: str
    old_str: str
    new_str: str


@record
class Insert:
    """Insert lines after line *insert_line*, 0 being the beginning."""

    path: str
    insert_line: int
    insert_text: str


@record
class Delete:
    """Delete a file, or a folder with all that is in it."""

    path: str


@record
class Rename:
    """Give a file or a folder another name, or another place."""

    old_path: str
    new_path: str


Command: TypeAlias = View | Create | StrReplace | Insert | Delete | Rename
_COMMANDS: Final[Mapping[str, type[Command]]] = {
    "view": View,
    "create": Create,
    "str_replace": StrReplace,
    "insert": Insert,
    "delete": Delete,
    "rename": Rename,
}


def parse_command(raw: object) -> Command:
    """Return the command that the model gave as the tool's input; BadRequest names the argument that is wrong."""
    if not isinstance(raw, Mapping):
        raise BadRequest("command", Text("argument.not_command", kind=type(raw).__name__))
    name = raw.get("command")
    kind = _COMMANDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise BadRequest("command", Text("argument.not_allowed", value=repr(name), allowed=[*_COMMANDS]))
    given = {key: value for key, value in raw.items() if key != "command"}
    if given.get("view_range", 0) is None:
        del given["view_range"]
    known = {field.name: field.default is MISSING for field in fields(kind)}
    for key in given.keys() - known:
        raise BadRequest(str(key), Text("memory_tool.lacks", command=name, names=[*known]))
    for key, is_needed in known.items():
        if key in given:
            _check(key, given[key])
        elif is_needed:
            raise BadRequest(key, Text("memory_tool.needs", command=name))
    return kind(**given)


def _check(key: str, value: Any) -> None:
    if key == "view_range":
        if not isinstance(value, Sequence) or len(value) != 2 or not all(type(one) is int for one in value):
            raise BadRequest(key, Text("memory_tool.no_range"))
    elif key == "insert_line":
        if type(value) is not int:
            raise BadRequest(key, Text("argument.not_whole_number", kind=type(value).__name__))
    elif not isinstance(value, str):
        raise BadRequest(key, Text("argument.not_text", kind=type(value).__name__))


def parts_of(path: str) -> tuple[str, ...]:
    """
    Return the names below the root; none for the root itself.

    Refused or BadRequest for a path that leads out of it, or has a name that memory never reads.

    >>> parts_of("/memories/projects/recalld.md"), parts_of("/memories/")
    (('projects', 'recalld.md'), ())
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise Refused(f"Path must start with {ROOT}, got: {path}")
    parts = tuple(part for part in path.removeprefix(ROOT).split("/") if part not in {"", "."})
    if ".." in parts:
        raise Refused(f"Path {path} would escape {ROOT} directory")
    for part in parts:
        is_plain = part == without_surrogates(part) and not is_foreign(part) and not _ODD.search(part)
        if not is_plain or len(part.encode()) > LONGEST_NAME:
            raise BadRequest("path", Text("memory_tool.never_read", name=part))
    return parts


def check_name(parts: Sequence[str], path: str) -> None:
    """Raise an error if no file may be made here: no search would find it, or no copy of its old text could be kept."""
    if not parts:
        raise BadRequest("path", Text("lines.is_folder", path=path))
    if long := next((part for part in parts if len(part.encode()) > LONGEST_GIVEN), ""):
        raise BadRequest("path", Text("memory_tool.long_name", name=long, count=len(long.encode()), most=LONGEST_GIVEN))
    for part in parts[:-1]:
        if part.endswith(".md"):
            raise BadRequest("path", Text("memory_tool.file_name", name=part))
    if not parts[-1].endswith(".md"):
        raise BadRequest("path", Text("memory_tool.not_found", name=parts[-1]))


def is_long_term(parts: Sequence[str]) -> bool:
    """Return whether the names are those of the long-term file, in upper or lower case."""
    return len(parts) == 1 and parts[0].casefold() == LONG_TERM


# ── what is shown ────────────────────────────────────────────────────────────


def file_shown(path: str, text: str, view_range: Sequence[int] | None = None) -> str:
    """Return the lines of a file with their numbers; Refused if it has too many."""
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise Refused(f"File {path} exceeds maximum line limit of {_MOST_LINES:,} lines.")
    first, last = view_range or (1, -1)
    first = max(1, first)
    shown = lines[first - 1 : None if last == -1 else last]
    return f"Here's the content of {path} with line numbers:\n{_numbered(shown, first)}"


def folder_shown(path: str, size: int, entries: Sequence[tuple[str, int]]) -> str:
    """Return the list of a folder of *size* bytes; *entries* are the paths below it, folders with a slash, and their sizes."""
    lines = [f"{size_shown(size)}\t{path}", *(f"{size_shown(size)}\t{path}/{name}" for name, size in entries)]
    head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    return "\n".join((head, *lines))


def size_shown(size: int) -> str:
    """
    Return a number of bytes as people read it.

    >>> size_shown(0), size_shown(4096), size_shown(1536)
    ('0B', '4K', '1.5K')
    """
    unit = min(max(size.bit_length() - 1, 0) // 10, 3)
    value = size / 1024**unit
    return f"{value:.0f}{'BKMG'[unit]}" if value.is_integer() else f"{value:.1f}{'BKMG'[unit]}"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


# ── what is changed ──────────────────────────────────────────────────────────


def replaced(text: str, asked: StrReplace) -> tuple[str, str]:
    """Return the text with the replacement, and the answer that shows it; Refused unless *old_str* is there exactly once."""
    places = _places(text, asked.old_str)
    if not places:
        raise Refused(f"No replacement was performed, old_str `{asked.old_str}` did not appear verbatim in {asked.path}.")
    if len(places) > 1:
        numbers = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
        why = f"No replacement was performed. Multiple occurrences of old_str `{asked.old_str}` in lines: {numbers}."
        raise Refused(f"{why} Please ensure it is unique")
    place = places[0]
    after = text[:place] + writable(asked.new_str) + text[place + len(asked.old_str) :]
    first = max(0, text.count("\n", 0, place) - _AROUND)
    after, note = _unmarked(text, after, asked.path)
    lines = after.split("\n")[first : text.count("\n", 0, place) + _AROUND + 1]
    head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    return after, f"{head}\n{_numbered(lines, first + 1)}{note}"


def _places(text: str, part: str) -> list[int]:
    """Return where *part* begins in the text; as the SDK counts, occurrences overlap only if there are two that do not."""
    if text.count(part) < 2:
        place = text.find(part)
        return [] if place < 0 else [place]
    places, place = [], text.find(part)
    while place >= 0:
        places.append(place)
        place = text.find(part, place + 1)
    return places


def inserted(text: str, asked: Insert) -> tuple[str, str]:
    """Return the text with the new lines, and the answer; Refused if the text has no such line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if not 0 <= asked.insert_line <= len(lines):
        why = f"Invalid `insert_line` parameter: {asked.insert_line}. It should be within the range [0, {len(lines)}]."
        raise Refused(why)
    lines.insert(asked.insert_line, writable(asked.insert_text).rstrip("\n"))
    after = "\n".join(lines)
    after, note = _unmarked(text, after, asked.path)
    return after if after.endswith("\n") else f"{after}\n", f"The file {asked.path} has been edited.{note}"


def created(asked: Create) -> tuple[str, str]:
    """Return the text of a new file, and the answer."""
    text, note = _unmarked("", writable(asked.file_text), asked.path)
    return text, f"File created successfully at: {asked.path}{note}"


def _unmarked(before: str, after: str, path: str) -> tuple[str, str]:
    """
    Return the text without the marks that the change sets, and the note about them; "" if it sets none.

    BadRequest where the change would pin a line of the long-term file by the heading above it.
    """
    text = with_marks_of(before, after)
    if is_long_term(parts_of(path)) and pins_more(before, text):
        raise BadRequest("path", Text("longterm.pinned_by_owner"))
    return text, "" if text == after else f"\n{Text('longterm.mark_taken')}"


def writable(text: str) -> str:
    """Return the text with a blank for each NUL and lone surrogate, which no text file can hold."""
    return without_surrogates(text.replace("\0", " "))
