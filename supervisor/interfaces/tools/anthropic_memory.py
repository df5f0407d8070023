"""
Anthropic's memory tool over a workspace: `/memories/memory.md` is the long-term file, other files are notes in memory/.

    from recalld import AnthropicMemory, Memory

    tool = AnthropicMemory(Memory("~/assistant"))
    client.messages.create(..., tools=[tool.definition])
    answer = tool(block.input)  # of a tool_use block

Dated files, summaries and originals can be viewed but not changed. Replaced and deleted texts are kept in `.recalld/previous/`.
Models are trained with the answers of the file-system tool in the official SDK (type `memory_20250818`): these are the same.
"""

import contextlib
import itertools
import re
import stat as modes
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from ...forgetting.wanted import files_below
from ...longterm.lines import without_surrogates
from ...longterm.long_term_file import LongTermFile, refuse_too_large
from ...protocol.marks import pins_more, with_marks_of
from ...protocol.paths import day_of_name, is_foreign
from ...storage.control import acting, author, note, noting
from ...storage.disk import Stat, place_below
from ...storage.errors import BadRequest, SupervisorError, as_supervisor_error
from ...storage.keeping import kept_name, move_across
from ...storage.texts import Text, msgid
from ...text.comparing import hunks
from ...text.foreign_text import LONGEST_GIVEN
from ...text.lazy_re import lazy_re
from ...workspace import Workspace
from ..api import Memory
from .definitions import MARK_TAKEN
from .registry import Reply

#: The folder that the model sees: memory.md in it is the long-term file, everything else is in memory/.
_ROOT: Final = "/memories"
_LONG_TERM: Final = "memory.md"
#: The arguments of each command and their types, with the model's names; a model may leave `view_range` out.
_COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "view": {"path": "str", "view_range": "[int, int]"},
    "create": {"path": "str", "file_text": "str"},
    "str_replace": {"path": "str", "old_str": "str", "new_str": "str"},
    "insert": {"path": "str", "insert_line": "int", "insert_text": "str"},
    "delete": {"path": "str"},
    "rename": {"old_path": "str", "new_path": "str"},
}
#: An encoded dot, slash, backslash or NUL: nobody's name for a file.
_ODD: Final = lazy_re(r"%(?:2e|2f|5c|00)", re.IGNORECASE)


class _Refused(Exception):
    """The documented answer to a command that was not carried out."""


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
            why = msgid("this tool shows whole files, so it is for the user alone; give a group the other tools")
            raise BadRequest("chat", Text(why))

    def __call__(self, command: object) -> Reply:
        """Carry out the command and return its documented answer; a wrong command is an answer, too, and never raises."""
        try:
            self._refuse_others()  # again: the conversation may have turned out to be a group's
            name, arguments = _checked(command)
            ws, path = self._workspace, self._workspace.long_term.path
            with acting("tool", "anthropic"), noting() as noted:
                try:
                    return Reply(getattr(self, f"_{name}")(**arguments))
                finally:
                    if acts := [act for act in noted if act.get("path") == path]:  # notes are not in the diary
                        ws.events.attempt("diary", lambda: ws.diary.keep(acts, self._clock(), author("tool", "memory")), None)
        except _Refused as error:
            return Reply(str(error), is_error=True)
        except (SupervisorError, OSError) as error:
            return Reply(str(as_supervisor_error(error, "memory", self._paths.root)), is_error=True)

    # ── the commands ─────────────────────────────────────────────────────────

    def _view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """Return a file, or the lines of *view_range* of it (the last may be -1), or what is in a folder."""
        place = self._place(path)
        if day_of_name(place.name) and place.parent == self._paths.memory:
            place = self._workspace.memory.path_of(place.name)  # a tag names a file as it was filed, also after it has moved
        if self._is_folder(place, f"The path {path} does not exist. Please provide a valid path."):
            stat = self._files.disk.stat(place)
            entries = [("", stat.size if stat else 0), *((f"/{name}", size) for name, size in self._entries(place))]
            head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
            return "\n".join((head, *(f"{size_shown(size)}\t{path}{name}" for name, size in entries)))
        first, last = view_range or (1, -1)
        first = max(1, first)
        lines = self._text_file(place).read().text.split("\n")[first - 1 : None if last == -1 else last]
        return f"Here's the content of {path} with line numbers:\n{_numbered(lines, first)}"

    def _create(self, path: str, file_text: str) -> str:
        place = self._changeable(path)
        with self._workspace.long_term.locked():
            if place == self._paths.memory or self._stat(place):
                raise _Refused(f"File {path} already exists")
            self._refuse_odd_name(place)
            text, note = self._unmarked("", file_text, place)
            data = (self._workspace.mark or str)(text).encode()
            refuse_too_large(path, data)
            self._files.make_folder(place.parent)
            self._files.create(place, data)
            self._note_change(place, "", data.decode())
        return f"File created successfully at: {path}{note}"

    def _str_replace(self, path: str, old_str: str, new_str: str) -> str:
        line = 0

        def rule(text: str) -> str:
            nonlocal line
            start = _only_place(text, old_str, path)
            line = text.count("\n", 0, start)
            return text[:start] + new_str + text[start + len(old_str) :]

        after, note = self._change(path, rule)
        first = max(0, line - 2)
        shown = _numbered(after.split("\n")[first : line + 3], first + 1)
        head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return f"{head}\n{shown}{note}"

    def _insert(self, path: str, insert_line: int, insert_text: str) -> str:

        def rule(text: str) -> str:
            lines = text.removesuffix("\n").split("\n") if text else []
            if not 0 <= insert_line <= len(lines):
                within = f"within the range [0, {len(lines)}]"
                raise _Refused(f"Invalid `insert_line` parameter: {insert_line}. It should be {within}.")
            lines.insert(insert_line, insert_text.rstrip("\n"))
            return "\n".join(lines).removesuffix("\n") + "\n"

        _, note = self._change(path, rule)
        return f"The file {path} has been edited.{note}"

    def _change(self, path: str, rule: Callable[[str], str]) -> tuple[str, str]:
        """Replace the text of a file by what *rule* makes of it; return the new text, and the note about marks."""
        place, note = self._place(path), ""
        if self._is_folder(place, f"The path {path} does not exist. Please provide a valid path."):
            raise _Refused(f"The path {path} is not a file.")

        def change(text: str) -> str:
            nonlocal note
            text, note = self._unmarked(text, rule(text), place)
            return text

        return self._text_file(self._changeable(path)).change(change, keep_previous=True).text, note

    def _delete(self, path: str) -> str:
        place = self._changeable(path)
        if place == self._paths.memory:
            raise _Refused(f"Cannot delete the {_ROOT} directory itself")
        with self._workspace.long_term.locked():
            is_folder = self._is_folder(place, f"The path {path} does not exist")
            text = "" if is_folder else self._text_file(place).read().text
            self._files.make_folder(self._paths.previous, lasting=True)
            self._files.ensure_durable(place)
            self._files.disk.touch(place)  # the time from which its copy is kept
            version = None if is_folder else self._files.read_stable(place)
            name = self._paths.previous / (kept_name(place.name, version.data) if version else place.name)
            for n in itertools.count(1):
                # moved, not copied: what an editor saves meanwhile is kept as well
                with contextlib.suppress(FileExistsError):
                    move_across(self._files, place, name.with_stem(f"{name.stem}-{n}") if n > 1 else name)
                    break
            self._note_change(place, text, "")
        return f"Successfully deleted {path}"

    def _rename(self, old_path: str, new_path: str) -> str:
        old, new = self._changeable(old_path), self._changeable(new_path)
        if old == self._paths.memory:
            raise _Refused(f"Cannot rename the {_ROOT} directory itself")
        with self._workspace.long_term.locked():
            if new == self._paths.memory or self._stat(new):
                raise _Refused(f"The destination {new_path} already exists")
            is_folder = self._is_folder(old, f"The path {old_path} does not exist")
            self._refuse_odd_name(new, is_folder=is_folder)
            if new.is_relative_to(old):
                raise BadRequest("new_path", Text("{path!r} is inside the old path; give another one", path=new_path))
            text = "" if is_folder else self._text_file(old).read().text
            self._files.make_folder(new.parent)
            self._files.ensure_durable(old)
            move_across(self._files, old, new)
            self._note_change(old, text, "")
            self._note_change(new, "", text)
        return f"Successfully renamed {old_path} to {new_path}"

    def _note_change(self, place: Path, before: str, after: str) -> None:
        """Note, for the diary and `undo`, that a file has left or come as a whole."""
        note("text", path=self._paths.relative(place), hunks=hunks(before, after), made=not before)

    def _place(self, path: str) -> Path:
        """Return the file or folder of the path; an error for one that leads out of memory, by a link too, or is never read."""
        if path != _ROOT and not path.startswith(f"{_ROOT}/"):
            raise _Refused(f"Path must start with {_ROOT}, got: {path}")
        names = [name for name in path.removeprefix(_ROOT).split("/") if name not in {"", "."}]
        if ".." in names:
            raise _Refused(f"Path {path} would escape {_ROOT} directory")
        if [name.casefold() for name in names] == [_LONG_TERM]:
            return self._long_term
        place = self._paths.memory.joinpath(*names)
        is_read = not _ODD.search(path) and path == without_surrogates(path) and not any(map(is_foreign, names))
        is_inside = not names or (is_read and place_below(self._paths.memory, "/".join(names)) == place)
        if not is_read or not is_inside or self._is_through_link(place):
            raise BadRequest("path", Text("{path!r} is no place in memory; give plain names, and none of a link", path=path))
        return place

    def _is_through_link(self, place: Path) -> bool:
        """True if a name on the way from memory/ is a link: one inside leads to what recalld keeps."""
        names = place.parts[len(self._paths.memory.parts) :]
        return any(self._paths.memory.joinpath(*names[:n]).is_symlink() for n in range(1, len(names) + 1))

    @property
    def _long_term(self) -> Path:
        return self._paths.root / self._workspace.long_term.path

    def _changeable(self, path: str) -> Path:
        """Return the file or folder of the path; BadRequest if recalld writes it, or a file in it, so that nobody else may."""
        place = self._place(path)
        stat = self._files.disk.stat(place) if place != self._paths.memory else None
        inside = files_below(self._workspace, place) if stat and modes.S_ISDIR(stat.mode) else ()
        for file in (place, *inside):
            names = () if file == self._long_term else file.relative_to(self._paths.memory).parts
            if names[:1] in {("summary",), ("originals",)} or any(map(day_of_name, names)):
                why = msgid("{path!r} is kept by recalld, so it can be viewed, not changed; write to memory.md or a note")
                raise BadRequest("path", Text(why, path="/".join((_ROOT, *names))))
        return place

    def _refuse_odd_name(self, place: Path, *, is_folder: bool = False) -> None:
        """Raise BadRequest if no search would find a file of this name, or no copy of its old text could be kept."""
        names = place.parts[len(self._paths.memory.parts) :]
        for n, name in enumerate(names, 1):
            is_file = n == len(names) and not is_folder
            if name.endswith(".md") != is_file or len(name.encode()) > LONGEST_GIVEN:
                why = msgid("{name!r} would not be kept: a file ends in .md, no folder does, and each has at most {most} bytes")
                raise BadRequest("path", Text(why, name=name, most=LONGEST_GIVEN))

    def _text_file(self, place: Path) -> LongTermFile:
        return self._workspace.long_term if place == self._long_term else _Note(self._workspace, place)

    def _stat(self, place: Path) -> Stat | None:
        """Return the stat of the file or folder, None if there is none; BadRequest if it is not memory, such as a picture."""
        stat = self._files.disk.stat(place)
        if stat and not (modes.S_ISDIR(stat.mode) or (modes.S_ISREG(stat.mode) and place.name.endswith(".md"))):
            raise BadRequest("path", Text("{path!r} is no memory; give a file that ends in .md", path=place.name))
        return stat

    def _is_folder(self, place: Path, missing: str) -> bool:
        stat = self._stat(place)
        if stat is None and place != self._paths.memory:
            raise _Refused(missing)
        return stat is None or modes.S_ISDIR(stat.mode)

    def _entries(self, folder: Path, depth: int = 2) -> Iterator[tuple[str, int]]:
        """Yield the files and folders below a folder, from its path on, with their sizes; folders end with a slash."""
        stats = self._files.disk.stats(folder)
        if folder == self._paths.memory:
            stats = {name: stat for name, stat in stats.items() if name.casefold() != _LONG_TERM}
            if long_term := self._files.disk.stat(self._long_term):
                stats[_LONG_TERM] = long_term
        for name, stat in sorted(stats.items()):
            if modes.S_ISDIR(stat.mode) and not is_foreign(name):
                yield f"{name}/", stat.size
                if depth > 1:
                    yield from ((f"{name}/{below}", size) for below, size in self._entries(folder / name, depth - 1))
            elif modes.S_ISREG(stat.mode) and name.endswith(".md") and not is_foreign(name):
                yield name, stat.size

    def _unmarked(self, before: str, after: str, place: Path) -> tuple[str, str]:
        """Return the text without the marks that the change sets, and a note about them; BadRequest if it pins a line."""
        after = without_surrogates(after.replace("\0", " "))  # which no text file can hold
        text = with_marks_of(before, after)
        if place == self._long_term and pins_more(before, text):
            why = msgid(
                "lines below `# Always` are shown in every turn, and only the owner puts them there; write the line below another heading."
            )
            raise BadRequest("path", Text(why))
        return text, "" if text == after else "\n" + Text(MARK_TAKEN)


class _Note(LongTermFile):
    """A note in memory/, changed like the long-term file: the same lock, the same tries, the same copy of the old text."""

    def __init__(self, workspace: Workspace, path: Path) -> None:
        self._path = workspace.paths.relative(path)
        super().__init__(workspace.files, workspace.paths, workspace.zone, self._path, workspace.mark)

    @property
    def path(self) -> str:
        return self._path


def _checked(command: object) -> tuple[str, dict[str, Any]]:
    if not isinstance(command, Mapping):
        raise BadRequest("command", Text("it must be an object with command and path, not {kind}", kind=type(command).__name__))
    given: dict[str, Any] = {key: value for key, value in command.items() if value is not None}  # a model's null is nothing
    name = given.pop("command", None)
    if not isinstance(name, str) or name not in _COMMANDS:
        raise BadRequest("command", Text("{value} is not allowed, give {allowed}", value=repr(name), allowed=[*_COMMANDS]))
    for key in (*given, *_COMMANDS[name]):
        if _type_of(given.get(key)) != _COMMANDS[name].get(key) and (key, given.get(key)) != ("view_range", None):
            takes = ", ".join(f"{argument}: {kind}" for argument, kind in _COMMANDS[name].items())
            raise BadRequest(str(key), Text("{command} takes {arguments}; nothing was done", command=name, arguments=takes))
    return name, given


def _type_of(value: object) -> str:
    return f"[{', '.join(map(_type_of, value))}]" if isinstance(value, list) else type(value).__name__


def size_shown(size: int) -> str:
    """Return a number of bytes as people read it: 0B, 4K, 1.5K."""
    unit = min(max(size.bit_length() - 1, 0) // 10, 3)
    value = size / 1024**unit
    return f"{value:.0f}{'BKMG'[unit]}" if value.is_integer() else f"{value:.1f}{'BKMG'[unit]}"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, first))


def _only_place(text: str, part: str, path: str) -> int:
    if part not in text:
        raise _Refused(f"No replacement was performed, old_str `{part}` did not appear verbatim in {path}.")
    if text.count(part) > 1:  # as the SDK lists them, occurrences may overlap
        places = (match.start() for match in re.finditer(f"(?={re.escape(part)})", text))
        numbers = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
        why = f"No replacement was performed. Multiple occurrences of old_str `{part}` in lines: {numbers}."
        raise _Refused(f"{why} Please ensure it is unique")
    return text.index(part)
