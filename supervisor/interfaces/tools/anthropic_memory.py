"""
Anthropic's memory tool over a workspace: `/memories/memory.md` is the long-term file, other files are notes in memory/.

    from recalld import AnthropicMemory, Memory

    tool = AnthropicMemory(Memory("~/assistant"))
    client.messages.create(..., tools=[tool.definition])
    answer = tool(block.input)  # of a tool_use block

Dated files, summaries and originals can be viewed but not changed. Replaced and deleted texts are kept in `.recalld/previous/`.
The commands and the texts of the answers are in `anthropic_commands`.
"""

from __future__ import annotations

import contextlib
import itertools
import stat as modes
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, assert_never

from recalld.supervisor.interfaces.tools.anthropic_commands import (
    LONG_TERM,
    ROOT,
    Command,
    Create,
    Delete,
    Insert,
    Refused,
    Rename,
    StrReplace,
    View,
    check_name,
    created,
    file_shown,
    folder_shown,
    inserted,
    is_long_term,
    parse_command,
    parts_of,
    replaced,
)
from recalld.supervisor.longterm.long_term_file import LongTermFile, refuse_too_large
from recalld.supervisor.protocol.paths import day_of_name, is_foreign
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest, SupervisorError, as_supervisor_error
from recalld.supervisor.storage.move_across import move_across
from recalld.supervisor.storage.noting import acting, author, noting
from recalld.supervisor.storage.replaced_texts import kept_name
from recalld.supervisor.text.decoding import decoded
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from recalld.supervisor.interfaces.api import Memory
    from recalld.supervisor.storage.disk import Stat
    from recalld.supervisor.workspace import Workspace

#: The depth to which a folder is shown.
_DEPTH: Final = 2


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

    @property
    def is_kept_by_recalld(self) -> bool:
        """Whether recalld writes it, so that nobody else may."""
        return self.parts[:1] in {("summary",), ("originals",)} or any(day_of_name(part) for part in self.parts)


class AnthropicMemory:
    """
    The tool over *memory*; call it with the input of a tool_use block.

    Whole files are shown and changed, so the tool is for the user alone: BadRequest if others read the *session* or *chat*.
    """

    #: What `tools` of a request takes.
    definition: ClassVar[Mapping[str, str]] = {"type": "memory_20250818", "name": "memory"}

    def __init__(self, memory: Memory, *, session: str = "", chat: str = "") -> None:
        self._asks = partial(memory.audience, session, chat)
        self._refuse_others()
        self._workspace, self._clock = memory.workspace, memory.clock
        self._files, self._paths = memory.workspace.files, memory.workspace.paths

    def _refuse_others(self) -> None:
        if not self._asks().sees_all:
            raise BadRequest("chat", Text("memory_tool.for_user"))

    def __call__(self, command: object) -> Answer:
        """Carry out the command and return its documented answer; a wrong command is an answer, too, and never raises."""
        try:
            self._refuse_others()  # again: the conversation may have turned out to be a group's
            with acting("tool", "anthropic"), noting() as noted:
                try:
                    return Answer(self._done(parse_command(command)))
                finally:
                    self._tell(noted)
        except Refused as error:
            return Answer(str(error), is_error=True)
        except (SupervisorError, OSError) as error:
            return Answer(str(as_supervisor_error(error, "memory", self._paths.root)), is_error=True)

    def _tell(self, noted: Sequence[Mapping[str, Any]]) -> None:
        """Write what was changed in the long-term file into the diary; notes are not in it."""
        ws = self._workspace
        acts = [one for one in noted if one.get("path") == ws.long_term.path]
        if acts:
            ws.attempt("diary", lambda: ws.diary.keep(acts, self._clock(), author("tool", "memory")), None)

    def _done(self, asked: Command) -> str:
        match asked:
            case View():
                return self._view(asked)
            case Create():
                return self._create(asked)
            case StrReplace():
                return self._change(asked.path, lambda text: replaced(text, asked))
            case Insert():
                return self._change(asked.path, lambda text: inserted(text, asked))
            case Delete():
                return self._delete(asked)
            case Rename():
                return self._rename(asked)
            case _:
                assert_never(asked)

    # ── the commands ─────────────────────────────────────────────────────────

    def _view(self, asked: View) -> str:
        place = self._place(asked.path)
        stat = self._stat(place)
        if place.parts and stat is None:
            raise Refused(f"The path {asked.path} does not exist. Please provide a valid path.")
        if stat is None or modes.S_ISDIR(stat.mode):
            return folder_shown(asked.path, stat.size if stat else 0, [*self._entries(place.parts)])
        version = self._files.read_shown(place.path)
        if version is None:
            raise Refused(f"The path {asked.path} does not exist. Please provide a valid path.")
        try:
            text = version.data.decode("utf-8")
        except UnicodeDecodeError:
            text = decoded(version.data)
        return file_shown(asked.path, text, asked.view_range)

    def _create(self, asked: Create) -> str:
        place = self._changeable(asked.path)
        with self._locked():
            if not place.parts or self._stat(place):
                raise Refused(f"File {asked.path} already exists")
            check_name(place.parts, asked.path)
            text, answer = created(asked)
            data = (self._workspace.mark or str)(text).encode()
            refuse_too_large(asked.path, data)
            self._files.make_folder(place.path.parent)
            try:
                self._files.create(place.path, data)
            except FileExistsError:
                raise Refused(f"File {asked.path} already exists") from None
        return answer

    def _change(self, path: str, rule: Callable[[str], tuple[str, str]]) -> str:
        """Replace the text of a file by the first result of *rule*, and return the second result."""
        place, answer = self._place(path), ""

        def change(text: str) -> str:
            nonlocal answer
            self._refuse_no_file(place)  # again, under the lock
            text, answer = rule(text)
            return text

        self._refuse_no_file(place)
        _refuse_kept(place)
        text_file = self._workspace.long_term if is_long_term(place.parts) else _Note(self._workspace, place)
        text_file.change(change, keep_previous=True)
        return answer

    def _delete(self, asked: Delete) -> str:
        place = self._changeable(asked.path)
        if not place.parts:
            raise Refused(f"Cannot delete the {ROOT} directory itself")
        with self._locked():
            if self._stat(place) is None:
                raise Refused(f"The path {asked.path} does not exist")
            self._refuse_kept_inside(place)
            self._files.make_folder(self._paths.previous, lasting=True)
            self._files.ensure_durable(place.path)
            self._files.disk.touch(place.path)  # the time from which its copy is kept
            for name in self._names_to_keep(place):
                # moved, not copied: what an editor saves meanwhile is kept as well
                with contextlib.suppress(FileExistsError):
                    move_across(self._files, place.path, self._paths.previous / name)
                    break
        return f"Successfully deleted {asked.path}"

    def _rename(self, asked: Rename) -> str:
        old, new = self._changeable(asked.old_path), self._changeable(asked.new_path)
        if not old.parts:
            raise Refused(f"Cannot rename the {ROOT} directory itself")
        with self._locked():
            if not new.parts or self._stat(new):
                raise Refused(f"The destination {asked.new_path} already exists")
            stat = self._stat(old)
            if stat is None:
                raise Refused(f"The path {asked.old_path} does not exist")
            self._refuse_kept_inside(old)
            check_name((*new.parts, LONG_TERM) if modes.S_ISDIR(stat.mode) else new.parts, asked.new_path)
            if new.parts[: len(old.parts)] == old.parts:
                raise BadRequest("new_path", Text("memory_tool.inside_itself", path=asked.new_path))
            self._files.make_folder(new.path.parent)
            self._files.ensure_durable(old.path)
            try:
                move_across(self._files, old.path, new.path)
            except FileExistsError:
                raise Refused(f"The destination {asked.new_path} already exists") from None
        return f"Successfully renamed {asked.old_path} to {asked.new_path}"

    # ── places ───────────────────────────────────────────────────────────────

    def _place(self, path: str) -> _Place:
        """Return the meaning of the path; BadRequest if it leads through a link."""
        parts = parts_of(path)
        if is_long_term(parts):
            return _Place(path, (LONG_TERM,), self._paths.root / self._workspace.long_term.path)
        place = self._paths.memory.joinpath(*parts)
        for n in range(len(parts) + 1):
            stat = self._files.disk.stat(self._paths.memory.joinpath(*parts[:n]))
            if stat and modes.S_ISLNK(stat.mode):
                raise BadRequest("path", Text("lines.through_link", path=path))
        return _Place(path, parts, place)

    def _changeable(self, path: str) -> _Place:
        place = self._place(path)
        _refuse_kept(place)
        return place

    def _stat(self, place: _Place) -> Stat | None:
        """Return the stat of the file or folder, None if there is none; BadRequest if it is not memory, such as a picture."""
        stat = self._files.disk.stat(place.path)
        if stat and modes.S_ISREG(stat.mode) and not place.path.name.endswith(".md"):
            raise BadRequest("path", Text("memory_tool.no_memory", path=place.shown))
        if stat and not (modes.S_ISREG(stat.mode) or modes.S_ISDIR(stat.mode)):
            raise BadRequest("path", Text("memory_tool.neither", path=place.shown))
        return stat

    def _refuse_no_file(self, place: _Place) -> None:
        stat = self._stat(place)
        if stat is None and place.parts:
            raise Refused(f"The path {place.shown} does not exist. Please provide a valid path.")
        if stat is None or not modes.S_ISREG(stat.mode):
            raise Refused(f"The path {place.shown} is not a file.")

    def _refuse_kept_inside(self, place: _Place) -> None:
        """Raise an error if a folder holds a file that recalld writes, at any depth."""
        for name, stat in self._files.disk.stats(place.path).items() if self._is_folder(place.path) else ():
            inner = _Place(f"{place.shown}/{name}", (*place.parts, name), place.path / name)
            _refuse_kept(inner)
            if modes.S_ISDIR(stat.mode):
                self._refuse_kept_inside(inner)

    def _is_folder(self, path: Path) -> bool:
        stat = self._files.disk.stat(path)
        return stat is not None and modes.S_ISDIR(stat.mode)

    def _names_to_keep(self, place: _Place) -> Iterator[str]:
        """Yield names in .recalld/previous/ for a file or a folder; the first is that for a replaced text."""
        version = None if self._is_folder(place.path) else self._files.read_stable(place.path)
        name = kept_name(place.path.name, version.data) if version else place.path.name
        yield name
        stem, dot, kind = name.rpartition(".") if version else (name, "", "")
        yield from (f"{stem}-{n}{dot}{kind}" for n in itertools.count(2))

    def _entries(self, parts: tuple[str, ...], depth: int = 1) -> Iterator[tuple[str, int]]:
        """Yield the files and folders below a folder, from its path on, with their sizes; folders end with a slash."""
        found = {}
        for name, stat in self._files.disk.stats(self._paths.memory.joinpath(*parts)).items():
            is_file = modes.S_ISREG(stat.mode) and name.endswith(".md") and not is_long_term((*parts, name))
            if (is_file or modes.S_ISDIR(stat.mode)) and not is_foreign(name):
                found[name] = stat
        if not parts and (long_term := self._files.disk.stat(self._paths.root / self._workspace.long_term.path)):
            found[LONG_TERM] = long_term
        for name in sorted(found):
            is_folder = modes.S_ISDIR(found[name].mode)
            yield f"{name}/" if is_folder else name, found[name].size
            if is_folder and depth < _DEPTH:
                yield from ((f"{name}/{below}", size) for below, size in self._entries((*parts, name), depth + 1))

    def _locked(self) -> AbstractContextManager[None]:
        """Hold the lock of the long-term file: agents change files one at a time, whichever they are."""
        self._files.make_folder(self._paths.root)
        return self._files.lock(self._paths.long_term_lock)


class _Note(LongTermFile):
    """A note in memory/, changed like the long-term file: the same lock, the same tries, the same copy of the old text."""

    def __init__(self, workspace: Workspace, place: _Place) -> None:
        self._path = workspace.paths.relative(place.path)
        super().__init__(workspace.files, workspace.paths, workspace.zone, self._path, workspace.mark)

    @property
    def path(self) -> str:
        return self._path


def _refuse_kept(place: _Place) -> None:
    if place.is_kept_by_recalld:
        raise BadRequest("path", Text("memory_tool.kept", path=place.shown))
