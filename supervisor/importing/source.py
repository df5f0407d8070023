"""
The file, folder, ZIP archive or backup that is imported: the names of its members, and each as JSON, as lines, or as bytes.

No member is read that is a link, or whose name leads elsewhere. A large file is read piece by piece, and one that grows as far
as it was when it was opened.
"""

import itertools
import lzma
import os
import stat
import zipfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from io import BufferedReader, BytesIO, FileIO, TextIOWrapper
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

import ijson

from ..protocol.backup_file import BackupFile, Entry, is_tar
from ..storage.disk import is_below, open_outside, place_below, read_outside
from ..storage.errors import BadBackup, BadFile, BadRequest, why_refused
from ..storage.lenient_json import not_utf8, parse_json
from ..storage.texts import Text, msgid
from ..text.foreign_text import encoding_of, parts_of

#: A member of an archive that is larger and shrinks by more than this is no text that people wrote.
_BOMB_BYTES: Final = 100_000_000
_BOMB_RATIO: Final = 200
#: Bytes of a member that is read at once.
_MOST_AT_ONCE: Final = 100_000_000
#: The size of a line of a log that is still read.
_LONGEST_LINE: Final = 64_000_000
#: Events of a JSON file after which its kind is known.
_HEAD_EVENTS: Final = 2_000
#: Bytes in which a JSON file tells whether it is an array.
_HEAD_BYTES: Final = 1_000
#: Bytes in which a tar says that it is one.
_TAR_HEAD: Final = 512
#: What a damaged archive, text or JSON file raises, besides an OSError without a number, which is bzip2's own.
_DAMAGE: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, EOFError),
    *(ValueError, ijson.JSONError),
)

#: Why something is no member.
_NO_MEMBER: Final = Text("it is a link or an archive, or its name leads elsewhere or is there twice")
_TOO_LARGE: Final = Text("it is larger than 100 MB")
_DAMAGED: Final = Text("it is cut off, damaged, or no text in UTF-8: export or copy it again")
_UNPACK: Final = Text(
    "it is encrypted, or grows more than two hundred times: unpack it yourself, look at it, and import the folder"
)


class NotImported(BadFile):
    """A log or an export can't be imported; nothing of it was added."""

    http_status = 422
    code = "error.not_imported"
    english = msgid("{path} can't be imported: {why}; nothing was added.")


def names_below(root: Path, folder: Path, *, has_hidden: bool = False) -> Iterator[str]:
    """Yield what is below the folder by its path from *root*, one after another however much it is: files, links, folders."""
    folders = [os.fspath(folder)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as inside:
            for entry in inside:
                is_folder = entry.is_dir(follow_symlinks=False)
                if has_hidden or not (is_folder and entry.name.startswith(".")):
                    folders += [entry.path] if is_folder else []
                    yield os.path.relpath(entry.path, root)


class _Whole(FileIO):
    """A file as large as it is when it is opened, however it grows meanwhile."""

    def __init__(self, path: Path) -> None:
        super().__init__(open_outside(path))
        self._left = os.fstat(self.fileno()).st_size

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        count = super().readinto(memoryview(buffer)[: self._left]) or 0
        self._left -= count
        return count


class Source:
    """
    What is imported. *names* are its members as paths with `/`: the files below a folder, the members of an archive.

    With *only* the members of a folder are those that it names. A ZIP archive in the folder is opened too. *left_out* says
    of each that is no member, or is not read, why: a link, and what is damaged, encrypted, or shrinks more than text does.
    BadRequest if there is nothing.
    """

    def __init__(self, path: Path, only: Iterable[str] | None = None) -> None:
        self.path = path
        self.left_out: dict[str, str] = {}
        #: The members that no kind knew, though their names end as those of a log or an export.
        self.unknown: list[str] = []
        #: Of each member what opens it.
        self._members: dict[str, Callable[[], IO[bytes]]] = {}
        self._archives = ExitStack()
        self._first: dict[str, dict[str, Any]] = {}
        if path.is_dir():
            for name in sorted(names_below(path, path, has_hidden=True) if only is None else only):
                if not (path / name).is_symlink():
                    self._add(path / name, name)
                elif not is_below(path / name, path):  # else what it leads to is a member itself
                    self.left_out[name] = _NO_MEMBER
        elif path.is_file():
            self._add(path, path.name)
            with self.sparing(path.name):
                if path.name in self._members and is_tar(self.beginning(path.name, _TAR_HEAD)):
                    self._open_backup()
        else:
            why = Text("{path} is no file and no folder; `recalld import` lists the clients that have logs here", path=path)
            raise BadRequest("import", why)
        self.names = tuple(self._members)

    def _add(self, path: Path, name: str) -> None:
        if not path.is_file():
            return
        if path.suffix != ".md" and name.encode("utf-8", "ignore").decode() != name:
            self.left_out[name] = Text("its name is not in UTF-8")  # no message can name it
        elif path.suffix.lower() == ".zip" or (path == self.path and zipfile.is_zipfile(path)):
            with self.sparing(name):
                self._open_archive(path, f"{name}/" if path != self.path else "")
        else:
            self._members[name] = lambda: BufferedReader(_Whole(path), 1 << 16)

    def _open_archive(self, path: Path, prefix: str) -> None:
        archive = self._archives.enter_context(zipfile.ZipFile(path))
        for info in archive.infolist():
            name, is_link = "/".join(parts_of(info.orig_filename)), stat.S_ISLNK(info.external_attr >> 16)
            is_bomb = info.file_size > _BOMB_BYTES and info.file_size > _BOMB_RATIO * max(info.compress_size, 1)
            if info.is_dir():
                continue
            if is_bomb or info.flag_bits & 1:
                self.left_out[prefix + info.filename] = _UNPACK
            elif is_link or not name or name.lower().endswith(".zip") or prefix + name in self._members:
                self.left_out[prefix + info.filename] = _NO_MEMBER
            else:
                self._members[prefix + name] = partial(archive.open, info)

    def _open_backup(self) -> None:
        self._members = {}
        backup = self._archives.enter_context(BackupFile.opened(self.path))
        for entry in backup.contents.files:
            if entry.size <= _MOST_AT_ONCE:
                self._members[entry.path] = partial(_of_backup, backup, entry)
            else:
                self.left_out[entry.path] = _TOO_LARGE

    def close(self) -> None:
        """Close the archives."""
        self._archives.close()

    @contextmanager
    def sparing(self, name: str) -> Iterator[None]:
        """Put what goes wrong with a member into `left_out`; one that has left meanwhile is as if it had never been."""
        try:
            yield
        except (NotImported, BadBackup) as error:
            self.left_out[name] = error.why
        except FileNotFoundError:
            pass
        except (*_DAMAGE, OSError) as error:
            why = Text("it can't be read ({why})", why=why_refused(error)) if isinstance(error, OSError) else _DAMAGED
            if not getattr(error, "errno", None):
                with suppress(*_DAMAGE, OSError, KeyError):  # of a text the encoding, with what converts it
                    why = not_utf8(self.beginning(name, _MOST_AT_ONCE)) or _DAMAGED
            self.left_out[name] = why

    # ── one member ───────────────────────────────────────────────────────────

    def named(self, pattern: str) -> list[str]:
        """Return the members whose last parts match the pattern, such as `sessions/*.jsonl`, in the order of their names."""
        return sorted(name for name in self._members if PurePosixPath(name).match(pattern))

    def open(self, name: str) -> IO[bytes]:
        """Open a member for reading."""
        return self._members[name]()

    def beginning(self, name: str, size: int) -> bytes:
        """Return so many bytes of a member at most."""
        with self.open(name) as file:
            return file.read(size)

    def text(self, name: str, errors: str = "strict") -> TextIOWrapper:
        """Open a text in UTF-8, or in UTF-16 with its mark."""
        encoding = "utf-16" if encoding_of(self.beginning(name, 2)) == "UTF-16" else "utf-8-sig"
        return TextIOWrapper(self.open(name), encoding, errors, "\n")

    def read(self, name: str) -> bytes:
        """Return the bytes of a member; NotImported for one of more than 100 MB."""
        data = self.beginning(name, _MOST_AT_ONCE + 1)
        if len(data) > _MOST_AT_ONCE:
            raise NotImported(self.path / name, _TOO_LARGE)
        return data

    def beside(self, name: str) -> bytes | None:
        """Return the bytes of a member, or of another file below the folder, None where it is not there or can't be read."""
        with self.sparing(name):
            place = place_below(self.path, name)
            return self.read(name) if name in self._members else read_outside(place, _MOST_AT_ONCE) if place else None
        return None

    def lines(self, name: str) -> Iterator[tuple[int, Any]]:
        """Yield the number and the value of each line of a file of JSON lines, for a line that is no JSON its error."""
        with self.open(name) as file:
            for number, line in enumerate(iter(partial(file.readline, _LONGEST_LINE), b""), 1):
                try:
                    if line.strip():
                        yield number, parse_json(line)
                except (ValueError, RecursionError) as error:
                    yield number, error

    # ── a JSON file, which may be larger than memory ─────────────────────────

    def _json(self, name: str) -> IO[bytes]:
        mark = self.beginning(name, len(BOM_UTF8))
        file = self.open(name)
        file.read(len(BOM_UTF8) if mark == BOM_UTF8 else 0)
        return file

    def objects(self, name: str) -> Iterator[Any]:
        """Yield the values of a JSON file's array, one after another, or the one value that the file is."""
        is_array = self.beginning(name, _HEAD_BYTES).removeprefix(BOM_UTF8).lstrip().startswith(b"[")
        with self._json(name) as file:
            yield from ijson.items(file, "item" if is_array else "", use_float=True)

    def records(self, name: str, outer: str, inner: str) -> Iterator[tuple[dict[str, Any], Any]]:
        """
        Yield each object at the path *inner* of the objects at *outer* in a JSON file, "" for the one that the file is.

        Each is yielded with the plain values that stood before it in the outer one.
        """
        prefix, around = f"{outer}.{inner}".lstrip("."), dict[str, Any]()
        with self._json(name) as file:
            events = ijson.parse(file, use_float=True)
            for path, event, value in events:
                place, _, key = path.rpartition(".")
                if path == prefix and event == "start_map":
                    yield around, next(ijson.items(itertools.chain([(path, event, value)], events), prefix))
                elif path == outer and event == "start_map":
                    around = {}
                elif place == outer and event in ("string", "number", "boolean"):
                    around[key] = value

    def first(self, name: str) -> dict[str, Any]:
        """
        Return the first object of a JSON file's array or lines, or the one that it is; an empty one if it has none.

        A large one has its beginning alone.
        """
        if name not in self._first:  # each kind asks
            values = (value for _, value in self.lines(name)) if name.endswith(".jsonl") else self._beginning_of_json(name)
            self._first = {name: next((value for value in values if isinstance(value, dict)), {})}
        return self._first[name]

    def _beginning_of_json(self, name: str) -> list[Any]:
        builder = ijson.ObjectBuilder()
        with suppress(ijson.JSONError), self._json(name) as file:
            for event, value in itertools.islice(ijson.basic_parse(file, use_float=True), _HEAD_EVENTS):
                builder.event(event, value)
        value = getattr(builder, "value", None)
        return value if isinstance(value, list) else [value]


def _of_backup(backup: BackupFile, entry: Entry) -> IO[bytes]:
    return BytesIO(b"".join(backup.read(entry)))
