"""
The file, folder, ZIP archive or backup that is imported: the names of its members, and each as JSON, as lines, or as bytes.

No member is read that is a link, or whose name leads elsewhere. A large file is read piece by piece, and one that grows as far
as it was when it was opened.
"""

from __future__ import annotations

import itertools
import lzma
import os
import stat
import zipfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from io import BufferedReader, FileIO, TextIOWrapper
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Final

from ..protocol.backup_file import LIST, is_tar, members
from ..storage.disk import is_below, open_outside, place_below, read_outside
from ..storage.errors import BadBackup, BadFile, BadRequest, why_refused
from ..storage.lenient_json import not_utf8, parse_json
from ..storage.texts import Text, msgid
from ..text.foreign_text import encoding_of, parts_of

if TYPE_CHECKING:
    from tarfile import TarInfo

#: A member of an archive that is larger and shrinks by more than this is no text that people wrote.
_BOMB_BYTES: Final = 100_000_000
_BOMB_RATIO: Final = 200
#: Members of a folder or an archive.
_MOST_MEMBERS: Final = 500_000
#: Bytes of a JSON file that is read at once.
_MOST_AT_ONCE: Final = 100_000_000
#: The size of a line of a log that is still read.
_LONGEST_LINE: Final = 64_000_000
#: Events of a JSON file after which its kind is known.
_HEAD_EVENTS: Final = 2_000
#: Bytes in which a JSON file tells whether it is an array.
_HEAD_BYTES: Final = 1_000
#: Bytes in which a tar says that it is one.
_TAR_HEAD: Final = 512


#: Why something is no member.
_NO_MEMBER: Final = Text("it is a link or an archive, or its name leads elsewhere or is there twice")
#: What mends a file that is damaged.
_AGAIN: Final = Text("export or copy it again; nothing was added")
_DAMAGED: Final = Text("it is cut off or damaged")
_UNPACK: Final = Text("unpack it yourself, look at it, and import the folder; nothing was added")


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


class _Part(FileIO):
    """The *size* bytes of a file from *start* on; of a file that grows meanwhile, and of a backup of many, no more."""

    def __init__(self, path: Path, start: int = 0, size: int | None = None) -> None:
        super().__init__(open_outside(path))
        self._left = os.fstat(self.fileno()).st_size if size is None else size
        self.seek(start)

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        count = super().readinto(memoryview(buffer)[: self._left]) or 0
        self._left -= count
        return count


class Source:
    """
    What is imported. *names* are its members as paths with `/`: the files below a folder, the members of an archive.

    With *only* the members are those below the folder that it names. A ZIP archive in the folder is opened too. *left_out* says
    why something is no member, or none that is read; *refused* what is wrong with a file that is damaged, encrypted, or shrinks
    more than text does. BadRequest if there is nothing.
    """

    def __init__(self, path: Path, only: Iterable[str] | None = None) -> None:
        self.path = path
        self.left_out: dict[str, Text] = {}
        self.refused: dict[str, NotImported] = {}
        #: Of each member what opens it.
        self._members: dict[str, Callable[[], IO[bytes]]] = {}
        self._first: tuple[str, dict[str, Any]] = ("", {})
        self._archives = ExitStack()
        if path.is_dir():
            self._add_below(only)
        elif path.is_file():
            self._add_file()
        else:
            why = Text("{path} is no file and no folder; `recalld import` lists the clients that have logs here", path=path)
            raise BadRequest("import", why)
        self.names = tuple(self._members)

    def _add_below(self, only: Iterable[str] | None) -> None:
        inside = (os.path.relpath(entry.path, self.path) for entry in entries(self.path)) if only is None else only
        names = sorted(itertools.islice(inside, _MOST_MEMBERS + 1))
        self.left_out |= dict.fromkeys(names[_MOST_MEMBERS:], Text("the folder has too many files"))
        for name in names[:_MOST_MEMBERS]:
            path = self.path / name
            if path.is_symlink():
                if not is_below(path, self.path):  # else what it leads to is a member itself
                    self.left_out[name] = _NO_MEMBER
            elif not path.is_file():
                continue
            elif not os.access(path, os.R_OK) or (path.suffix != ".md" and name.encode("utf-8", "ignore").decode() != name):
                self.left_out[name] = Text("it may not be read, or its name is not in UTF-8")  # no message can name it
            elif path.suffix.lower() == ".zip":
                self._open_archive(path, name)
            else:
                self._members[name] = partial(_opened, path)

    def _add_file(self) -> None:
        path = self.path
        if path.suffix.lower() == ".zip" or zipfile.is_zipfile(path):
            self._open_archive(path, "")
            return
        self._members[path.name] = partial(_opened, path)
        if is_tar(self.beginning(path.name, _TAR_HEAD)):
            self._open_backup()

    def _open_backup(self) -> None:
        path, inside = self.path, list["TarInfo"]()
        with suppress(BadBackup, ValueError), open(open_outside(path), "rb") as file:
            inside += members(path, file)
        self._members = {}
        if not inside or inside[-1].name != LIST:  # the end is missing
            why = Text("it was not made by recalld, or a part of it is missing")
            self.refused[path.name] = NotImported(path, why, _UNPACK)
            return
        for member in inside[:-1]:
            if "/".join(parts_of(member.name)) == member.name:
                self._members[member.name] = partial(_opened, path, member)
            else:
                self.left_out[member.name] = _NO_MEMBER

    def _open_archive(self, path: Path, place: str) -> None:
        try:
            archive = self._archives.enter_context(zipfile.ZipFile(path))
        except (zipfile.BadZipFile, OSError, ValueError):
            self.refused[place] = NotImported(path, Text("it is no ZIP archive, or not a whole one"), _AGAIN)
            return
        prefix = f"{place}/" if place else ""
        for info in archive.infolist():
            if info.is_dir():
                continue
            parts = parts_of(info.orig_filename)
            name, is_link = prefix + "/".join(parts), stat.S_ISLNK(info.external_attr >> 16)
            is_no_member = not parts or is_link or name.lower().endswith(".zip") or name in self._members
            if is_no_member or len(self._members) >= _MOST_MEMBERS:
                self.left_out[prefix + info.filename] = _NO_MEMBER
            elif info.flag_bits & 1:
                self.refused[place] = NotImported(path, Text("it is encrypted"), _UNPACK)
            elif info.file_size > _BOMB_BYTES and info.file_size > _BOMB_RATIO * max(info.compress_size, 1):
                why = Text("{name} in it grows more than two hundred times when it is unpacked", name=info.filename)
                self.refused[place] = NotImported(path, why, _UNPACK)
            else:
                self._members[name] = partial(archive.open, info)

    def close(self) -> None:
        """Close the archives."""
        self._archives.close()

    def named(self, pattern: str) -> list[str]:
        """Return the members whose last parts match the pattern, such as `sessions/*.jsonl`, in the order of their names."""
        return sorted(name for name in self._members if PurePosixPath(name).match(pattern))

    def open(self, name: str) -> IO[bytes]:
        """Open a member for reading."""
        return self._members[name]()

    def beginning(self, name: str, size: int) -> bytes:
        """Return so many bytes of a member at most."""
        with self.reading(name), closing(self.open(name)) as file:
            return file.read(size)

    @contextmanager
    def text(self, name: str, errors: str = "strict") -> Iterator[TextIOWrapper]:
        """Open a text in UTF-8, or in UTF-16 with its mark; NotImported, with what converts it, for another."""
        encoding = "utf-16" if encoding_of(self.beginning(name, 2)) == "UTF-16" else "utf-8-sig"
        with self.reading(name), TextIOWrapper(self.open(name), encoding, errors, "\n") as text:
            yield text

    def read(self, name: str) -> bytes:
        """Return the bytes of a member; NotImported for one of more than 100 MB, or one that is cut off."""
        data = self.beginning(name, _MOST_AT_ONCE + 1)
        if len(data) > _MOST_AT_ONCE:
            raise self._refusal(name, Text("it is larger than 100 MB"))
        return data

    def beside(self, name: str) -> bytes | None:
        """Return the bytes of a member, or of another file below the folder, None where it is not there."""
        if name in self._members:
            return self.read(name)
        place = place_below(self.path, name)
        with suppress(OSError):
            return read_outside(place, _MOST_AT_ONCE) if place else None
        return None

    @contextmanager
    def _json(self, name: str) -> Iterator[IO[bytes]]:
        import ijson

        mark = BOM_UTF8 if self.beginning(name, len(BOM_UTF8)) == BOM_UTF8 else b""
        with self.reading(name, ijson.JSONError), closing(self.open(name)) as file:
            file.read(len(mark))
            yield file

    def items(self, name: str, prefix: str) -> Iterator[Any]:
        """Yield the values at the prefix of a JSON file, such as `item` for those of an array, one after another."""
        import ijson

        with self._json(name) as file:
            yield from ijson.items(file, prefix, use_float=True)

    def objects(self, name: str) -> Iterator[Any]:
        """Yield the values of a JSON file's array, or the one value that the file is."""
        is_array = self.beginning(name, _HEAD_BYTES).removeprefix(BOM_UTF8).lstrip().startswith(b"[")
        yield from self.items(name, "item" if is_array else "")

    def records(self, name: str, prefix: str) -> Iterator[tuple[dict[str, Any], Any]]:
        """
        Yield each object at the prefix of a JSON file, with what stood before it: the plain values of the objects around it.

        The values are by path: `chats.list.item.name` is the name of the chat that the message at
        `chats.list.item.messages.item` is in.
        """
        import ijson

        around: dict[str, Any] = {}
        with self._json(name) as file:
            events = ijson.parse(file, use_float=True)
            for path, event, value in events:
                if path == prefix and event == "start_map":
                    yield around, next(ijson.items(itertools.chain([(path, event, value)], events), prefix))
                elif event == "end_map":
                    around = {key: value for key, value in around.items() if not key.startswith(f"{path}." if path else "")}
                elif event in ("string", "number", "boolean") and not path.startswith(prefix):
                    around[path] = value

    def first(self, name: str) -> dict[str, Any]:
        """
        Return the first object of a JSON file's array or lines, or the one that it is; an empty one if it has none.

        A large one has its beginning alone.
        """
        if self._first[0] != name:  # each kind asks
            values = (value for _, value in self.lines(name)) if name.endswith(".jsonl") else self._beginning_of_json(name)
            self._first = name, next((value for value in values if isinstance(value, dict)), {})
        return self._first[1]

    def _beginning_of_json(self, name: str) -> list[Any]:
        import ijson

        builder = ijson.ObjectBuilder()
        with suppress(NotImported), self._json(name) as file:
            for event, value in itertools.islice(ijson.basic_parse(file, use_float=True), _HEAD_EVENTS):
                builder.event(event, value)
        value = getattr(builder, "value", None)
        return value if isinstance(value, list) else [value]

    def lines(self, name: str) -> Iterator[tuple[int, Any]]:
        """Yield the number and the value of each line of a file of JSON lines, for a line that is no JSON its error."""
        with self.reading(name), closing(self.open(name)) as file:
            for number, line in enumerate(iter(partial(file.readline, _LONGEST_LINE), b""), 1):
                try:
                    if line.strip():
                        yield number, parse_json(line)
                except (ValueError, RecursionError) as error:
                    yield number, error

    @contextmanager
    def reading(self, name: str, *no_json: type[Exception]) -> Iterator[None]:
        """Raise what goes wrong while a member is read as NotImported, with its name; *no_json* is the error of a JSON file."""
        try:
            yield
        except UnicodeDecodeError:
            mend = Text("save it as UTF-8, or take it out; nothing was added")
            raise self._refusal(name, self._encoding(name) or Text("it is no text in UTF-8"), mend) from None
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, EOFError):
            raise self._refusal(name, _DAMAGED) from None
        except OSError as error:
            if error.errno is not None:
                raise
            raise self._refusal(name, _DAMAGED) from None  # bzip2's own
        except no_json:
            raise self._refusal(name, self._encoding(name) or _DAMAGED) from None

    @contextmanager
    def sparing(self, name: str) -> Iterator[None]:
        """Put what goes wrong with a member into `refused`; one that has left meanwhile is as if it had never been."""
        try:
            yield
        except NotImported as error:
            self.refused[name] = error
        except FileNotFoundError:
            pass
        except OSError as error:
            self.refused[name] = self._refusal(name, Text("it can't be read ({why})", why=why_refused(error)))

    def _encoding(self, name: str) -> Text | None:
        """Return which other encoding than UTF-8 a member seems to have, with what converts it; None if that is not known."""
        return not_utf8(self.beginning(name, _MOST_AT_ONCE))

    def _refusal(self, name: str, why: Text, mend: Text = _AGAIN) -> NotImported:
        return NotImported(self._place(name), why, mend)

    def _place(self, name: str) -> Path:
        return self.path if name == self.path.name else self.path / name


def _opened(path: Path, member: TarInfo | None = None) -> IO[bytes]:
    return BufferedReader(_Part(path, member.offset_data, member.size) if member else _Part(path), 1 << 16)
