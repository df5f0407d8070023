"""
Read and write the settings files of clients for `recalld connect`, and keep what was put into them.

A file is gathered, changed as a text (`plan.py`), and replaced whole, with its mode and owner; a link is followed, and stays.
No file of a client is written before all of its files could be changed.
"""

from __future__ import annotations

import contextlib
import os
import stat as modes
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ...protocol.connections import Connection, parse_connections, render_connections
from ...protocol.paths import WorkspacePaths
from ...storage.disk import is_below
from ...storage.errors import BadFile, BadRequest, NoPermission, SupervisorError, from_os_error
from ...storage.files import Files, FileVersion
from ...storage.texts import Text, msgid
from ...text.lazy_re import lazy_re
from .clients import CLIENTS, Place, Wanted, wanted
from .plan import Refused, comparable, connected, disconnected, is_blank, workspaces

if TYPE_CHECKING:
    _Read: TypeAlias = tuple[Wanted, Path, FileVersion | None, str | None]

#: A key of JSON or TOML before its value.
_KEY: Final = lazy_re(r'\s*(?:"[^"\\]*"|[\w.-]+)\s*[:=](?!\s*[{\[]?\s*$)')
#: Settings of more bytes are not read; those of a busy client have some hundred thousand.
_MOST_BYTES: Final = 20_000_000


@dataclass(eq=False, repr=False)
class BadSettings(BadFile):
    """A client's settings are in a form in which they can't be changed; the file was left as it is."""

    code = "error.unchangeable"
    english = msgid("{path} can't be changed: {why}; {mend}; it was left as it is.")


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to one settings file: the text that it has (None: there is none) and the one that it gets."""

    client: str
    wanted: Wanted
    file: Path  # with links followed
    before: FileVersion | None
    text: str
    is_created: bool
    kind: Literal["add", "update", "there", "remove", "delete", "absent"]
    elsewhere: tuple[str, ...] = ()  # other workspaces that it is connected with


@dataclass(frozen=True, slots=True)
class Machine:
    """The clients of this user, the workspace to connect them with, and what earlier runs put into their settings."""

    files: Files
    paths: WorkspacePaths
    environ: Mapping[str, str]
    home: Path
    paragraph: str
    project: Path | None = None

    @property
    def place(self) -> Place:
        """Where clients are connected, and what starts recalld there."""
        codex = self.environ.get("CODEX_HOME")
        return Place(
            self.home, (program(), "-w", str(self.paths.root)), self.project, Path(codex).expanduser() if codex else None
        )

    def known(self, root: str | None = None) -> tuple[Connection, ...]:
        """What earlier runs put in, for another workspace at *root*; nothing where the file of it is gone or damaged."""
        paths = WorkspacePaths(Path(root)) if root else self.paths
        try:
            version = self.files.read_stable(paths.connections)
            return parse_connections(version.data) if version else ()
        except (ValueError, OSError, SupervisorError):
            return ()

    def installed(self) -> list[str]:
        """Return the clients of this user: those with a folder of settings, or a command that starts them."""
        path = self.environ.get("PATH", os.defpath)
        return [
            name for name, client in CLIENTS.items() if (self.home / client.folder).is_dir() or which(client.command, path=path)
        ]

    def changes(self, client: str) -> list[Change]:
        """Return what would connect the client; BadSettings or NoPermission for a file that can't be changed."""
        read, others = self._all_read(client)
        roots = dict.fromkeys(root for change in others.values() for root in change)
        changes = []
        for wanted_file, file, before, text in read:
            if self.project and not is_below(file, self.project):
                raise BadSettings(
                    wanted_file.path,
                    Text("it leads to {file}, outside the project", file=file),
                    Text("make it a file of the project, or connect without --project"),
                )
            known, base = self._known(wanted_file.path, roots), text or ""
            with _told_of(wanted_file.path):
                edited = connected(base, wanted_file)
                if edited != text:
                    base = disconnected(base, wanted_file)
                    edited = connected(base, wanted_file)
            is_created = known.made if known else before is None
            is_new = text is None or base == text
            kind: Literal["add", "update", "there"] = "there" if edited == text else "add" if is_new else "update"
            changes.append(Change(client, wanted_file, file, before, edited, is_created, kind))
        return changes

    def removals(self, client: str) -> list[Change]:
        """Return what would disconnect the client; BadSettings or NoPermission for a file that can't be changed."""
        root = str(self.paths.root)
        read, others = self._all_read(client)
        changes = []
        for wanted_file, file, before, text in read:
            left, known = text, self._known(wanted_file.path)
            if text is not None and not ("paragraph" in wanted_file.what and any(others.values())):  # the paragraph is for all
                with _told_of(wanted_file.path):
                    left = disconnected(text, wanted_file, root)
            is_created = known is not None and known.made
            is_empty = is_created and is_blank(left or "", wanted_file)
            kind: Literal["absent", "delete", "remove"] = "absent" if left == text else "delete" if is_empty else "remove"
            changes.append(
                Change(client, wanted_file, file, before, left or "", is_created, kind, elsewhere=others[wanted_file.path])
            )
        return changes

    def _all_read(self, client: str) -> tuple[list[_Read], dict[Path, tuple[str, ...]]]:
        """Return the settings files of the client as they are, and for each the other workspaces that it is connected with."""
        read = [(wanted_file, *self._read(wanted_file)) for wanted_file in wanted(client, self.place, self.paragraph)]
        others: dict[Path, tuple[str, ...]] = {}
        for wanted_file, _, _, text in read:
            with _told_of(wanted_file.path):
                names = workspaces(text or "", wanted_file)
            others[wanted_file.path] = tuple(root for root in names if root not in ("", str(self.paths.root)))
        return read, others

    def apply(self, changes: Sequence[Change]) -> None:
        """Write the changes, and what was put in; BadSettings before anything is written, OSError as the errors of recalld."""
        edits = [(change, _bytes_of(change)) for change in changes]
        kept = {(connection.client, connection.path): connection for connection in self.known()}
        paragraphs = set[Path]()  # clients may share the file of it
        for change, data in edits:
            key = (change.client, str(change.wanted.path))
            try:
                if change.file not in paragraphs or change.wanted.form != "paragraph":
                    self._write(change, data)
                paragraphs |= {change.file} if change.wanted.form == "paragraph" else set()
            except OSError as error:
                raise from_os_error(error, change.wanted.path) from error
            if change.kind in ("remove", "delete", "absent"):
                kept.pop(key, None)
            elif change.kind != "there" or key not in kept:
                kept[key] = self._connection(change)
        self.files.make_folder(self.paths.state)
        self.files.replace(
            self.paths.connections, render_connections(list(kept.values())), self.files.read_stable(self.paths.connections)
        )

    def _write(self, change: Change, data: bytes) -> None:
        if change.kind == "delete":
            self.files.remove(change.file)
        elif change.kind in ("add", "update", "remove"):
            self.files.make_folder(change.file.parent)
            self.files.replace(change.file, data, change.before)

    def _connection(self, change: Change) -> Connection:
        return Connection(
            client=change.client,
            path=str(change.wanted.path),
            project=str(self.project or ""),
            command=self.place.hook(change.client) if "hooks" in change.wanted.what else "",
            made=change.is_created,
        )

    def _known(self, path: Path, others: Iterable[str] = ()) -> Connection | None:
        """Return what was put into the file, for this workspace or one of the *others*; an update takes it over from these."""
        lists = (self.known(root) for root in (None, *others))
        return next((connection for connections in lists for connection in connections if connection.path == str(path)), None)

    def _read(self, wanted_file: Wanted) -> tuple[Path, FileVersion | None, str | None]:
        """Return the file with links followed, its bytes, and its text; an error where it can't be changed."""
        file = Path(os.path.realpath(wanted_file.path))
        try:
            stat = self.files.disk.stat(file)
            if stat is None:
                if wanted_file.path.is_symlink():
                    raise BadSettings(
                        wanted_file.path,
                        Text("it is a link to a file that does not exist"),
                        Text("restore that file, or delete the link"),
                    )
                return file, None, None
            if not modes.S_ISREG(stat.mode) or stat.size > _MOST_BYTES:
                raise BadSettings(
                    wanted_file.path,
                    Text("it is no plain file, or larger than settings are"),
                    Text("correct it, or add the entry by hand"),
                )
            if not stat.mode & modes.S_IWUSR:
                raise NoPermission(wanted_file.path, Text("it is read-only"), Text("make it writable for you"))
            before = self.files.read_stable(file)
        except OSError as error:
            raise from_os_error(error, wanted_file.path) from error
        with _told_of(wanted_file.path):
            return file, before, before.data.decode("utf-8") if before else None


@contextlib.contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Raise BadSettings of the settings file at *path* where it can't be changed."""
    try:
        yield
    except Refused as error:
        raise BadSettings(path, *error.args) from None
    except UnicodeError:  # the path of this workspace, too, may have a byte that is none of a text
        raise BadSettings(path, Text("it is not in UTF-8"), Text("correct it, or add the entry by hand")) from None


def _bytes_of(change: Change) -> bytes:
    with _told_of(change.wanted.path):
        return change.text.encode()


def client_names(given: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the clients that are meant: those that are *given*, else those that are *known*; BadRequest for another."""
    names = ["claude-code" if name.lower() == "claude" else name.lower() for name in given]
    if other := next((name for name in names if name not in CLIENTS), None):
        why = Text(
            "recalld writes the settings of {names}; to connect {client}, put what `recalld connect mcp` prints among the MCP servers in its settings, and to disconnect it, take the entry `recalld` out of them",
            names=[*CLIENTS],
            client=other,
        )
        raise BadRequest("client", why)
    return list(dict.fromkeys(names or known))


def program() -> str:
    """Return the path of the command `recalld` of this environment, else the one that the shell finds."""
    path = Path(sys.executable).parent / "recalld"
    return str(path) if path.exists() else which("recalld") or "recalld"


def changed_lines(change: Change) -> Iterator[str]:
    """
    Yield the lines that the change takes out, with "-", and those that it puts in, with "+", for a person.

    A line that is there before and after is the client's own, wherever a comma or the difference puts it: it may be a secret.
    So may the value of a key that goes, which is not shown.
    """
    from collections import Counter
    from difflib import unified_diff

    texts = (change.before.data.decode() if change.before else "", "" if change.kind == "delete" else change.text)
    before, after = (comparable(text, change.wanted) for text in texts)
    left = {"-": Counter(before) - Counter(after), "+": Counter(after) - Counter(before)}
    for line in [*unified_diff(before, after, n=0, lineterm="")][2:]:
        sign, words = line[:1], line[1:]
        if sign in left and words.strip() and left[sign][words] > 0:
            left[sign][words] -= 1
            key = _KEY.match(words) if sign == "-" and change.wanted.form != "paragraph" else None
            yield f"{sign} {key[0]} …" if key else f"{sign} {words}"
