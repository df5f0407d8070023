"""
The file, folder, ZIP archive or backup that is imported: the names of its members, and each as JSON, as lines, or as bytes.

No member is read that is a link, or whose name leads elsewhere. A large file is read piece by piece, and one that grows as far
as it was when it was opened.
"""

from __future__ import annotations

import itertools
import os
import stat
import zipfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from io import BufferedReader, RawIOBase, TextIOWrapper
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from ..protocol.backup_file import LIST, Member, is_tar, members
from ..storage.disk import open_outside, read_outside
from ..storage.errors import BadBackup, BadFile, BadRequest
from ..storage.foreign_name import is_below, parts_of, place_below
from ..storage.lenient_json import not_utf8, parse_json
from ..storage.os_errors import from_os_error
from ..storage.texts import Text, msgid
from ..text.decoding import encoding_of

#: A member of an archive that is larger and shrinks by more than this is no text that people wrote.
_BOMB_BYTES: Final = 100_000_000
_BOMB_RATIO: Final = 200
#: Members of a folder or an archive.
_MOST_MEMBERS: Final = 500_000
#: JSON files by whose beginning a kind is known.
_MOST_ASKED: Final = 50
#: Bytes of a JSON file that is read at once.
_MOST_AT_ONCE: Final = 100_000_000
#: The size of a line of a log that is still read.
_LONGEST_LINE: Final = 64_000_000
#: Events of a JSON file after which its first keys are known.
_HEAD_EVENTS: Final = 2_000
#: Bytes in which a JSON file tells whether it is an array.
_HEAD_BYTES: Final = 1_000
#: Characters of the path of a value in a JSON file; what is nested more deeply is no conversation.
_LONGEST_PATH: Final = 2_000
#: Bytes in which a tar says that it is one.
_TAR_HEAD: Final = 512


class NotImported(BadFile):
    """A log or an export can't be imported; nothing of it was added."""

    http_status = 422
    code = "error.not_imported"
    english = msgid("{path} can't be imported: {why}; {mend}.")


def entries(folder: Path, enters: Callable[[os.DirEntry[str]], bool] = bool) -> Iterator[os.DirEntry[str]]:
    """Yield what is below the folder, one after another however much it is: files, links, and the folders that it *enters*."""
    folders = [os.fspath(folder)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as inside:
            for entry in inside:
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder and not enters(entry):
                    continue
                folders += [entry.path] if is_folder else []
                yield entry


class _Part(RawIOBase):
    """The *size* bytes of a file from *start* on; of a file that grows meanwhile, and of a backup of many, no more."""

    def __init__(self, path: Path, start: int = 0, size: int | None = None) -> None:
        self._file = open(open_outside(path), "rb", buffering=0)  # noqa: SIM115 - closed with this
        self._left = os.fstat(self._file.fileno()).st_size if size is None else size
        self._file.seek(start)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        count = self._file.readinto(memoryview(buffer)[: self._left])
        self._left -= count
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


class Source:
    """
    What is imported. *names* are its members as paths with `/`: the files below a folder, the members of an archive.

    With *only* the members are those below the folder that it names. An archive in the folder or archive is opened too, one
    level deep. *left_out* are the names of what is no member. BadRequest if there is nothing, NotImported if an archive is
    damaged, encrypted, or shrinks more than text does.
    """

    def __init__(self, path: Path, only: Iterable[str] | None = None) -> None:
        self.path = path
        #: Of each member what opens it.
        self._members: dict[str, Callable[[], IO[bytes]]] = {}
        self._archives: list[zipfile.ZipFile] = []
        self.left_out: list[str] = []
        self.opened: set[str] = set()
        self._keys: dict[str, frozenset[str]] = {}
        try:
            if only is not None and path.is_dir():
                for name in sorted(only):
                    self._add(path / name)
            else:
                self._find(path)
        except OSError as error:
            self.close()
            raise from_os_error(error, path) from None
        except BaseException:
            self.close()
            raise

    def _find(self, path: Path) -> None:
        if path.is_dir():
            inside = sorted(entry.path for entry in itertools.islice(entries(path), _MOST_MEMBERS + 1))
            for name in inside[:_MOST_MEMBERS]:
                self._add(Path(name))
            self.left_out += inside[_MOST_MEMBERS:]  # one name says that there are more
        elif path.exists():
            self._add(path)
        else:
            raise BadRequest(
                "import",
                Text(
                    "{path} does not exist; give a file, a folder, or one of the clients that `recalld import` lists", path=path
                ),
            )

    def _add(self, path: Path) -> None:
        relative = path.relative_to(self.path).as_posix() if path != self.path else path.name
        if path.is_symlink() and path != self.path:  # one that is named is meant
            if not is_below(path, self.path):  # else what it leads to is a member itself
                self.left_out.append(relative)
            return
        if not path.is_file():
            if path == self.path:
                raise BadRequest("import", Text("{path} is neither a file nor a folder", path=path))
            return
        if path.suffix != ".md" and relative.encode("utf-8", "ignore").decode() != relative:  # a message can't name it
            self.left_out.append(relative)
            return
        if zipfile.is_zipfile(path) or path.suffix.lower() == ".zip":
            self._open_archive(path, f"{relative}/" if path != self.path else "", deep=True)
        elif path == self.path and _is_tar(path):
            self._open_backup(path)
        else:
            self._members[relative] = partial(_opened, path)

    def _open_backup(self, path: Path) -> None:
        try:
            with open(open_outside(path), "rb") as file:
                entries = [*members(path, file)]
            if not entries or entries[-1].name != LIST:  # the end is missing
                raise ValueError
        except (BadBackup, ValueError):
            raise NotImported(
                path,
                Text("it was not made by recalld, or a part of it is missing"),
                Text("unpack it, and import the folder; nothing was added"),
            ) from None
        for member in entries[:-1]:
            if "/".join(parts_of(member.name)) == member.name:
                self._members[member.name] = partial(_opened, path, member)
            else:
                self.left_out.append(member.name)

    def _open_archive(self, place: Path | IO[bytes], prefix: str, *, deep: bool) -> None:
        try:
            archive = zipfile.ZipFile(place)
        except (zipfile.BadZipFile, OSError, ValueError):
            raise NotImported(
                self.path, Text("it is no ZIP archive, or not a whole one"), Text("export or copy it again; nothing was added")
            ) from None
        self._archives.append(archive)
        for info in archive.infolist():
            parts = parts_of(info.orig_filename)
            name, is_link = prefix + "/".join(parts), stat.S_ISLNK(info.external_attr >> 16)
            if info.is_dir():
                continue
            if not parts or is_link or name in self._members or len(self._members) >= _MOST_MEMBERS:
                self.left_out.append(prefix + info.filename)
                continue
            if info.flag_bits & 1:
                raise NotImported(
                    self.path, Text("it is encrypted"), Text("unpack it with its password, and import the folder")
                )
            if info.file_size > _BOMB_BYTES and info.file_size > _BOMB_RATIO * max(info.compress_size, 1):
                raise NotImported(
                    self.path,
                    Text("{name} in it grows more than two hundred times when it is unpacked", name=info.filename),
                    Text("unpack it yourself, look at it, and import the folder; nothing was added"),
                )
            if deep and info.filename.lower().endswith(".zip"):
                self._open_archive(archive.open(info), f"{name}/", deep=False)
            else:
                self._members[name] = partial(archive.open, info.filename)

    def close(self) -> None:
        """Close the archives."""
        for archive in reversed(self._archives):
            archive.close()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members."""
        return tuple(self._members)

    def named(self, pattern: str) -> list[str]:
        """Return the members whose last parts match the pattern, such as `sessions/*.jsonl`, in the order of their names."""
        return sorted(name for name in self._members if PurePosixPath(name).match(pattern))

    def has_bytes(self, name: str) -> bool:
        """Return whether the member holds anything."""
        with self.reading(name), self.open(name) as file:
            return bool(file.read(1))

    def open(self, name: str) -> IO[bytes]:
        """Open a member for reading; it is then among those that were *opened*."""
        self.opened.add(name)
        return self._members[name]()

    @contextmanager
    def text(self, name: str, errors: str = "strict") -> Iterator[TextIOWrapper]:
        """Open a text in UTF-8, or in UTF-16 with its mark; NotImported, with what converts it, for another."""
        with closing(self.open(name)) as file:
            encoding = "utf-16" if encoding_of(file.read(2)) == "UTF-16" else "utf-8-sig"
        with self.reading(name), TextIOWrapper(self.open(name), encoding, errors, "\n") as text:
            yield text

    def read(self, name: str) -> bytes:
        """Return the bytes of a member; NotImported for one of more than 100 MB, or one that is cut off."""
        with self.reading(name), closing(self.open(name)) as file:
            data = file.read(_MOST_AT_ONCE + 1)
        if len(data) > _MOST_AT_ONCE:
            raise self._damaged(name, Text("it is larger than 100 MB"))
        return data

    def beside(self, name: str) -> bytes | None:
        """Return the bytes of a member, or of another file below the folder, None where it is not there."""
        if name in self._members:
            return self.read(name)
        place = place_below(self.path, name)
        with suppress(OSError):
            return read_outside(place, _MOST_AT_ONCE) if place else None
        return None

    def items(self, name: str, prefix: str) -> Iterator[Any]:
        """Yield the values at the prefix of a JSON file, such as `item` for those of an array, one after another."""
        import ijson

        with self.reading(name, ijson.JSONError), closing(self._json_text(name)) as file:
            yield from ijson.items(file, prefix, use_float=True)

    def objects(self, name: str) -> Iterator[Any]:
        """Yield the values of a JSON file's array, or the one value that the file is."""
        with closing(self._json_text(name)) as file:
            is_array = file.read(_HEAD_BYTES).lstrip().startswith(b"[")
        yield from self.items(name, "item" if is_array else "")

    def records(self, name: str, prefix: str) -> Iterator[tuple[dict[str, Any], Any]]:
        """
        Yield each object at the prefix of a JSON file, with what stood before it: the plain values of the objects around it.

        The values are by path: `chats.list.item.name` is the name of the chat that the message at
        `chats.list.item.messages.item` is in.
        """
        import ijson

        around: dict[str, Any] = {}
        with self.reading(name, ijson.JSONError), closing(self._json_text(name)) as file:
            events = ijson.parse(file, use_float=True)
            for path, event, value in events:
                if path == prefix and event == "start_map":
                    yield around, next(ijson.items(itertools.chain([(path, event, value)], events), prefix))
                elif event == "end_map":
                    around = {key: value for key, value in around.items() if not key.startswith(f"{path}." if path else "")}
                elif event in ("string", "number", "boolean") and not path.startswith(prefix):
                    around[path] = value

    def keys(self, name: str) -> frozenset[str]:
        """Return the keys of a JSON file's object, or of the first object of its array; none if it is no JSON."""
        if name not in self._keys:  # each kind asks
            self._keys[name] = self._read_keys(name)
            self.opened.discard(name)  # it was looked at, not read
        return self._keys[name]

    def _read_keys(self, name: str) -> frozenset[str]:
        import ijson

        keys: set[str] = set()
        try:
            with closing(self._json_text(name)) as file:
                for n, (path, event, value) in enumerate(ijson.parse(file)):
                    if event == "map_key" and path in ("", "item"):
                        keys.add(value)
                    if n > _HEAD_EVENTS or len(path) > _LONGEST_PATH or (event == "end_map" and path == "item"):
                        break
        except (ijson.JSONError, OSError, ValueError, zipfile.BadZipFile, zlib.error):
            pass
        return frozenset(keys)

    def _json_text(self, name: str) -> IO[bytes]:
        file = self.open(name)
        if file.read(len(BOM_UTF8)) == BOM_UTF8:
            return file
        file.close()
        return self.open(name)

    def json_with(self, *wanted: frozenset[str]) -> list[str]:
        """Return the JSON files that begin with all keys of one of the *wanted* sets; none if none of the first 50 does."""

        def fits(name: str) -> bool:
            keys = self.keys(name)
            return any(key <= keys for key in wanted)

        names = self.named("*.json")
        return [*filter(fits, names)] if any(map(fits, names[:_MOST_ASKED])) else []

    def lines(self, name: str) -> Iterator[tuple[int, Any]]:
        """
        Yield the number and the value of each line of a file of JSON lines, for a line that is no JSON its error.

        A last line that has no end and is no JSON is one that its program has not finished: it is not yielded.
        """
        with self.reading(name), closing(self.open(name)) as file:
            number = 0
            while line := file.readline(_LONGEST_LINE):
                number += 1
                if line.strip():
                    try:
                        yield number, parse_json(line)
                    except (ValueError, RecursionError) as error:
                        if line.endswith(b"\n"):
                            yield number, error

    def first_line(self, name: str) -> Any:
        """Return the value of the first line of a file of JSON lines, None if it is no JSON."""
        return next((value for _, value in self.lines(name) if not isinstance(value, Exception)), None)

    @contextmanager
    def reading(self, name: str, *no_json: type[Exception]) -> Iterator[None]:
        """Raise what goes wrong while a member is read as NotImported, with its name; *no_json* is the error of a JSON file."""
        try:
            yield
        except UnicodeDecodeError:
            raise self.no_utf8(name) from None
        except (zipfile.BadZipFile, zlib.error, EOFError):
            raise self._damaged(name, Text("it is cut off or damaged")) from None
        except no_json:
            raise self._damaged(name, self.encoded(name) or Text("it is cut off or damaged")) from None

    def no_utf8(self, name: str) -> NotImported:
        """Return that a text is in another encoding, with the command that converts it where that is known."""
        return NotImported(
            self._place(name),
            self.encoded(name) or Text("it is no text in UTF-8"),
            Text("save it as UTF-8, or take it out; nothing was added"),
        )

    def encoded(self, name: str) -> Text | None:
        """Return which other encoding than UTF-8 a member seems to have, with what converts it; None if that is not known."""
        place = self._place(name)
        with self.reading(name), closing(self.open(name)) as file:
            return not_utf8(file.read(_MOST_AT_ONCE), place if place.is_file() else None)

    def _damaged(self, name: str, why: Any) -> NotImported:
        return NotImported(self._place(name), why, Text("export or copy it again; nothing was added"))

    def _place(self, name: str) -> Path:
        return self.path if name == self.path.name else self.path / name


def _is_tar(path: Path) -> bool:
    with _opened(path) as file:
        return is_tar(file.read(_TAR_HEAD))


def _opened(path: Path, member: Member | None = None) -> IO[bytes]:
    return BufferedReader(_Part(path, member.offset, member.size) if member else _Part(path), 1 << 16)
