"""
Anthropic's memory tool over a workspace: `/memories/memory.md` is the long-term file, other files are notes in memory/.

    from recalld import AnthropicMemory, Memory

    tool = AnthropicMemory(Memory("~/assistant"))
    client.messages.create(..., tools=[tool.definition])
    answer = tool(block.input)  # of a tool_use block

Dated files, summaries and originals can be viewed but not changed. Replaced and deleted texts are kept in `.recalld/previous/`.
Models are trained with the answers of the file-system tool in the official SDK (type `memory_20250818`): these are the same.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import stat as modes
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...longterm.lines import without_surrogates
from ...longterm.long_term_file import LongTermFile, refuse_too_large
from ...protocol.marks import pins_more, with_marks_of
from ...protocol.paths import day_of_name, is_foreign
from ...storage.by_content import kept_name
from ...storage.errors import BadRequest, SupervisorError
from ...storage.move_across import move_across
from ...storage.noting import acting, author, noting
from ...storage.os_errors import as_supervisor_error
from ...storage.texts import Text, msgid
from ...text.record import record
from .anthropic_paths import LONG_TERM, ROOT, Refused, check_name, is_long_term, parts_of
from .definitions import MARK_TAKEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from ...storage.disk import Stat
    from ...workspace import Workspace
    from ..api import Memory

#: The commands; the method of each has the model's names for its arguments.
_COMMANDS: Final = ("view", "create", "str_replace", "insert", "delete", "rename")
#: The depth to which a folder is shown.
_DEPTH: Final = 2
#: Lines that are shown above and below the one that was replaced.
_AROUND: Final = 2


@record
class Answer:
    """The answer to the model, the content of a tool_result; *is_error*: nothing was done."""

    text: str
    is_error: bool = False


@record
class _Place:
    """The meaning of a path from the model: its names below the root, and the file or folder on disk."""

    shown: str
    parts: tuple[str, ...]
    path: Path

    def changeable(self) -> _Place:
        """Return the place; BadRequest if recalld writes it, so that nobody else may."""
        if self.parts[:1] in {("summary",), ("originals",)} or any(day_of_name(part) for part in self.parts):
            raise BadRequest(
                "path",
                Text(
                    "{path!r} is kept by recalld, so it can be viewed, not changed; write to memory.md or a note",
                    path=self.shown,
                ),
            )
        return self


class AnthropicMemory:
    """
    The tool over *memory*; call it with the input of a tool_use block.

    Whole files are shown and changed, so the tool is for the user alone: BadRequest if others read the *session* or *chat*.
    """

    #: What `tools` of a request takes.
    definition: ClassVar[Mapping[str, str]] = {"type": "memory_20250818", "name": "memory"}

    def __init__(self, memory: Memory, *, session: str = "", chat: str = "") -> None:
        self._audience = partial(memory.audience, session, chat)
        self._refuse_others()
        self._workspace, self._clock = memory.workspace, memory.clock
        self._files, self._paths = memory.workspace.files, memory.workspace.paths

    def _refuse_others(self) -> None:
        if not self._audience().sees_all:
            raise BadRequest(
                "chat", Text("this tool shows whole files, so it is for the user alone; give a group the other tools")
            )

    def __call__(self, command: object) -> Answer:
        """Carry out the command and return its documented answer; a wrong command is an answer, too, and never raises."""
        try:
            self._refuse_others()  # again: the conversation may have turned out to be a group's
            with acting("tool", "anthropic"), noting() as noted:
                try:
                    return Answer(self._performed(command))
                finally:
                    ws, path = self._workspace, self._workspace.long_term.path
                    if acts := [act for act in noted if act.get("path") == path]:  # notes are not in the diary
                        ws.attempt("diary", lambda: ws.diary.keep(acts, self._clock(), author("tool", "memory")), None)
        except Refused as error:
            return Answer(str(error), is_error=True)
        except (SupervisorError, OSError) as error:
            return Answer(str(as_supervisor_error(error, "memory", self._paths.root)), is_error=True)

    def _performed(self, raw: object) -> str:
        """Return the answer to the command; BadRequest names the argument that is wrong."""
        if not isinstance(raw, Mapping):
            raise BadRequest("command", Text("it must be an object with command and path, not {kind}", kind=type(raw).__name__))
        name, given = raw.get("command"), {key: value for key, value in raw.items() if key != "command"}
        if name not in _COMMANDS:
            raise BadRequest("command", Text("{value} is not allowed, give {allowed}", value=repr(name), allowed=[*_COMMANDS]))
        method: Callable[..., str] = getattr(self, f"_{name}")
        parameters = signature(method).parameters
        for key in (*given, *parameters):
            if key not in parameters:
                raise BadRequest(
                    str(key), Text("{command} has no such argument; give {names}", command=name, names=[*parameters])
                )
            if key in given:
                _check(key, given[key])
            elif parameters[key].default is Parameter.empty:
                raise BadRequest(key, Text("{command} needs it; nothing was done", command=name))
        return method(**given)

    # ── the commands ─────────────────────────────────────────────────────────

    def _view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """Return a file, or the lines of *view_range* of it (the last may be -1), or what is in a folder."""
        place = self._place(path)
        stat = self._stat(place)
        if place.parts and stat is None:
            raise Refused(f"The path {path} does not exist. Please provide a valid path.")
        if stat is None or modes.S_ISDIR(stat.mode):
            entries = [
                (path, stat.size if stat else 0),
                *((f"{path}/{name}", size) for name, size in self._entries(place.parts)),
            ]
            head = f"Here're the files and directories up to {_DEPTH} levels deep in {path}, excluding hidden items:"
            return "\n".join((head, *(f"{size_shown(size)}\t{name}" for name, size in entries)))
        first, last = view_range or (1, -1)
        first = max(1, first)
        lines = self._text_file(place).read().text.split("\n")[first - 1 : None if last == -1 else last]
        return f"Here's the content of {path} with line numbers:\n{_numbered(lines, first)}"

    def _create(self, path: str, file_text: str) -> str:
        place = self._place(path).changeable()
        with self._locked():
            if not place.parts or self._stat(place):
                raise Refused(f"File {path} already exists")
            check_name(place.parts)
            text, note = _unmarked("", _writable(file_text), place)
            data = (self._workspace.mark or str)(text).encode()
            refuse_too_large(path, data)
            self._files.make_folder(place.path.parent)
            self._files.create(place.path, data)
        return f"File created successfully at: {path}{note}"

    def _str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """Replace the only occurrence of *old_str*."""

        def rule(text: str, place: _Place) -> tuple[str, str]:
            start = _only_place(text, old_str, path)
            after = text[:start] + _writable(new_str) + text[start + len(old_str) :]
            after, note = _unmarked(text, after, place)
            line = text.count("\n", 0, start)
            first = max(0, line - _AROUND)
            shown = _numbered(after.split("\n")[first : line + _AROUND + 1], first + 1)
            head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
            return after, f"{head}\n{shown}{note}"

        return self._change(path, rule)

    def _insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert lines after line *insert_line*, 0 being the beginning."""

        def rule(text: str, place: _Place) -> tuple[str, str]:
            lines = text.removesuffix("\n").split("\n") if text else []
            if not 0 <= insert_line <= len(lines):
                raise Refused(
                    f"Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {len(lines)}]."
                )
            lines.insert(insert_line, _writable(insert_text).rstrip("\n"))
            after, note = _unmarked(text, "\n".join(lines), place)
            return after if after.endswith("\n") else f"{after}\n", f"The file {path} has been edited.{note}"

        return self._change(path, rule)

    def _change(self, path: str, rule: Callable[[str, _Place], tuple[str, str]]) -> str:
        """Replace the text of a file by the first result of *rule*, and return the second result."""
        place, answer = self._place(path), ""

        def change(text: str) -> str:
            nonlocal answer
            self._refuse_no_file(place)  # again, under the lock
            text, answer = rule(text, place)
            return text

        self._refuse_no_file(place)
        self._text_file(place.changeable()).change(change, keep_previous=True)
        return answer

    def _delete(self, path: str) -> str:
        """Delete a file, or a folder with all that is in it."""
        place = self._place(path).changeable()
        if not place.parts:
            raise Refused(f"Cannot delete the {ROOT} directory itself")
        with self._locked():
            stat = self._stat(place)
            if stat is None:
                raise Refused(f"The path {path} does not exist")
            self._refuse_kept_inside(place, stat)
            self._files.make_folder(self._paths.previous, lasting=True)
            self._files.ensure_durable(place.path)
            self._files.disk.touch(place.path)  # the time from which its copy is kept
            version = None if modes.S_ISDIR(stat.mode) else self._files.read_stable(place.path)
            name = self._paths.previous / (kept_name(place.path.name, version.data) if version else place.path.name)
            for n in itertools.count(1):
                # moved, not copied: what an editor saves meanwhile is kept as well
                with contextlib.suppress(FileExistsError):
                    move_across(self._files, place.path, name.with_stem(f"{name.stem}-{n}") if n > 1 else name)
                    break
        return f"Successfully deleted {path}"

    def _rename(self, old_path: str, new_path: str) -> str:
        """Give a file or a folder another name, or another place."""
        old, new = self._place(old_path).changeable(), self._place(new_path).changeable()
        if not old.parts:
            raise Refused(f"Cannot rename the {ROOT} directory itself")
        with self._locked():
            if not new.parts or self._stat(new):
                raise Refused(f"The destination {new_path} already exists")
            stat = self._stat(old)
            if stat is None:
                raise Refused(f"The path {old_path} does not exist")
            self._refuse_kept_inside(old, stat)
            check_name((*new.parts, LONG_TERM) if modes.S_ISDIR(stat.mode) else new.parts)
            if new.parts[: len(old.parts)] == old.parts:
                raise BadRequest("new_path", Text("{path!r} is inside the old path; give another one", path=new_path))
            self._files.make_folder(new.path.parent)
            self._files.ensure_durable(old.path)
            move_across(self._files, old.path, new.path)
        return f"Successfully renamed {old_path} to {new_path}"

    # ── places ───────────────────────────────────────────────────────────────

    def _place(self, path: str) -> _Place:
        """Return the meaning of the path; BadRequest if it leads through a link."""
        parts = parts_of(path)
        if is_long_term(parts):
            return _Place(path, (LONG_TERM,), self._paths.root / self._workspace.long_term.path)
        for n in range(len(parts) + 1):
            stat = self._files.disk.stat(self._paths.memory.joinpath(*parts[:n]))
            if stat and modes.S_ISLNK(stat.mode):
                raise BadRequest("path", Text("{path!r} leads through a link", path=path))
        return _Place(path, parts, self._paths.memory.joinpath(*parts))

    def _text_file(self, place: _Place) -> LongTermFile:
        return self._workspace.long_term if is_long_term(place.parts) else _Note(self._workspace, place.path)

    def _stat(self, place: _Place) -> Stat | None:
        """Return the stat of the file or folder, None if there is none; BadRequest if it is not memory, such as a picture."""
        stat = self._files.disk.stat(place.path)
        if stat and not (modes.S_ISDIR(stat.mode) or (modes.S_ISREG(stat.mode) and place.path.name.endswith(".md"))):
            raise BadRequest("path", Text("{path!r} is no memory; give a file that ends in .md", path=place.shown))
        return stat

    def _refuse_no_file(self, place: _Place) -> None:
        stat = self._stat(place)
        if stat is None and place.parts:
            raise Refused(f"The path {place.shown} does not exist. Please provide a valid path.")
        if stat is None or modes.S_ISDIR(stat.mode):
            raise Refused(f"The path {place.shown} is not a file.")

    def _refuse_kept_inside(self, place: _Place, stat: Stat) -> None:
        """Raise an error if a folder holds a file that recalld writes, at any depth."""
        for name, inner in self._files.disk.stats(place.path).items() if modes.S_ISDIR(stat.mode) else ():
            self._refuse_kept_inside(
                _Place(f"{place.shown}/{name}", (*place.parts, name), place.path / name).changeable(), inner
            )

    def _entries(self, parts: tuple[str, ...], depth: int = 1) -> Iterator[tuple[str, int]]:
        """Yield the files and folders below a folder, from its path on, with their sizes; folders end with a slash."""
        stats = self._files.disk.stats(self._paths.memory.joinpath(*parts))
        shown = {name: stat for name, stat in stats.items() if not is_foreign(name) and not is_long_term((*parts, name))}
        if not parts and (long_term := self._files.disk.stat(self._paths.root / self._workspace.long_term.path)):
            shown[LONG_TERM] = long_term
        for name, stat in sorted(shown.items()):
            if modes.S_ISDIR(stat.mode):
                yield f"{name}/", stat.size
                if depth < _DEPTH:
                    yield from ((f"{name}/{below}", size) for below, size in self._entries((*parts, name), depth + 1))
            elif modes.S_ISREG(stat.mode) and name.endswith(".md"):
                yield name, stat.size

    def _locked(self) -> AbstractContextManager[None]:
        """Hold the lock of the long-term file: agents change files one at a time, whichever they are."""
        self._files.make_folder(self._paths.root)
        return self._files.lock(self._paths.long_term_lock)


class _Note(LongTermFile):
    """A note in memory/, changed like the long-term file: the same lock, the same tries, the same copy of the old text."""

    def __init__(self, workspace: Workspace, path: Path) -> None:
        self._path = workspace.paths.relative(path)
        super().__init__(workspace.files, workspace.paths, workspace.zone, self._path, workspace.mark)

    @property
    def path(self) -> str:
        return self._path


def _check(key: str, value: Any) -> None:
    """Raise BadRequest for an argument that is of another kind."""
    if key == "view_range":
        is_range = isinstance(value, Sequence) and len(value) == 2 and all(type(number) is int for number in value)
        if value is not None and not is_range:
            raise BadRequest(key, Text("it must be two whole numbers, the first and the last line"))
    elif type(value) is not (kind := int if key == "insert_line" else str):
        wrong = msgid("it must be a whole number, not {kind}") if kind is int else msgid("it must be text, not {kind}")
        raise BadRequest(key, Text(wrong, kind=type(value).__name__))


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
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first))


def _only_place(text: str, part: str, path: str) -> int:
    """Return where *part* begins in the text; Refused unless it is there exactly once."""
    count = text.count(part)
    if not count:
        raise Refused(f"No replacement was performed, old_str `{part}` did not appear verbatim in {path}.")
    if count > 1:  # as the SDK lists them, occurrences may overlap
        places = (match.start() for match in re.finditer(f"(?={re.escape(part)})", text))
        numbers = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
        why = f"No replacement was performed. Multiple occurrences of old_str `{part}` in lines: {numbers}."
        raise Refused(f"{why} Please ensure it is unique")
    return text.index(part)


def _unmarked(before: str, after: str, place: _Place) -> tuple[str, str]:
    """
    Return the text without the marks that the change sets, and the note about them; "" if it sets none.

    BadRequest where the change would pin a line of the long-term file by the heading above it.
    """
    text = with_marks_of(before, after)
    if is_long_term(place.parts) and pins_more(before, text):
        raise BadRequest(
            "path",
            Text(
                "lines below `# Always` are shown in every turn, and only the owner puts them there; write the line below another heading."
            ),
        )
    return text, "" if text == after else "\n" + Text(MARK_TAKEN)


def _writable(text: str) -> str:
    """Return the text with a blank for each NUL and lone surrogate, which no text file can hold."""
    return without_surrogates(text.replace("\0", " "))
