"""
A backup: a tar of the files of a workspace, and a list of them with the digest of each (docs/reference/protocol.md, 9).

The list is the last file in it, so that a backup of which the end is missing is none. What is read here was perhaps made by
somebody else: each name and size is checked before anything is unpacked. A backup needs regular files alone: links, sparse
files and whatever else a tar can hold are refused.
"""

import contextlib
import hashlib
import json
import os
import stat as modes
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final, Self, cast

from ..storage.clock import from_wire
from ..storage.disk import open_outside
from ..storage.errors import BadBackup, NewerFormat
from ..storage.files import FileVersion
from ..storage.lenient_json import parse_json, read_record, wire_name
from ..storage.texts import Text
from ..text.foreign_text import LONGEST_NAME, parts_of

#: Of a backup, and of every file in it: a later format of any of them makes it another number.
FORMAT: Final = 1
#: The name of the list.
LIST: Final = "recalld-backup.json"
_CHUNK: Final = 1 << 20
#: Times that a file system can hold, in nanoseconds from 1970.
_LATEST_NS: Final = 1 << 62
#: Bytes of the list for itself and for a file, at most, not counting the path; JSON writes a byte of that in six at most.
_OF_A_LINE: Final = 512
_MAGIC: Final = (b"ustar\x0000", b"ustar  \x00")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a backup: its path from the workspace, size and digest, time of last change, and whether it is a program."""

    path: str
    size: int
    sha256: str
    mtime_ns: int
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Contents:
    """What a backup's list says of it; *created_at* is a wire time, *made_by* a version of recalld."""

    created_at: str
    made_by: str
    files: tuple[Entry, ...]

    @property
    def size_bytes(self) -> int:
        """The bytes of all its files."""
        return sum(entry.size for entry in self.files)


# ── writing ──────────────────────────────────────────────────────────────────


def entry_of(path: str, version: FileVersion) -> Entry:
    """Return the line of the list for this version of a file."""
    return Entry(path, len(version.data), version.digest, version.stat.mtime_ns, bool(version.stat.mode & modes.S_IXUSR))


def render_file(entry: Entry, data: bytes) -> bytes:
    """Return the bytes of one file in a backup."""
    info = tarfile.TarInfo(entry.path)
    info.size = len(data)
    info.mode = 0o700 if entry.executable else 0o600
    info.mtime = entry.mtime_ns // 10**9
    header = info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    return header + data + bytes(-len(data) % tarfile.BLOCKSIZE)


def render_end(contents: Contents) -> bytes:
    """Return the end of a backup: the list, and what ends a tar."""
    head = {"recalld": FORMAT, "createdAt": contents.created_at, "madeBy": contents.made_by}
    files = ",\n".join(json.dumps(asdict(entry)) for entry in contents.files)
    data = f'{json.dumps(head)[:-1]}, "files": [\n{files}\n]}}\n'.encode()
    entry = Entry(LIST, len(data), "", 0)
    return render_file(entry, data) + bytes(2 * tarfile.BLOCKSIZE)


# ── reading ──────────────────────────────────────────────────────────────────


class BackupFile:
    """An open backup, all of whose names were checked; BadBackup where it is none, NewerFormat of a newer recalld."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file
        try:
            entries = [*members(path, file)]
            self.contents = self._parse(entries)
        except ValueError:
            raise BadBackup(path, Text("it was not made by recalld, or a part of it is missing")) from None
        self._members = {member.name: member for member in entries}
        self._check(entries)

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path) -> Iterator[Self]:
        """Yield the backup at *path*; an OSError where it can't be read."""
        with open(open_outside(path), "rb") as file:
            yield cls(path, file)

    def check(self) -> None:
        """Read every file; BadBackup when one is not what was put in."""
        for entry in self.contents.files:
            for _ in self.read(entry):
                pass

    def read(self, entry: Entry) -> Iterator[bytes]:
        """Yield the parts of a file; BadBackup at its end when they are not what was put in."""
        digest = hashlib.sha256()
        for part in self._parts(self._members[entry.path]):
            digest.update(part)
            yield part
        if digest.hexdigest() != entry.sha256:
            raise BadBackup(self._path, Text("{name} in it is not what was put in", name=entry.path))

    def _parts(self, member: tarfile.TarInfo) -> Iterator[bytes]:
        offset, end = member.offset_data, member.offset_data + member.size
        while offset < end:
            self._file.seek(offset)
            part = self._file.read(min(_CHUNK, end - offset))
            if not part:  # it was cut off after it was opened: its digest will differ
                return
            offset += len(part)
            yield part

    def _parse(self, members: Sequence[tarfile.TarInfo]) -> Contents:
        # a list that is longer than its files need is none: parsed, JSON takes twenty times its size
        room = _OF_A_LINE + sum(_OF_A_LINE + 6 * len(os.fsencode(member.name)) for member in members)
        if not members or members[-1].name != LIST or members[-1].size > room:
            raise ValueError
        raw = parse_json(b"".join(self._parts(members[-1])))
        version = raw.get("recalld") if isinstance(raw, dict) else None
        if not isinstance(version, int):
            raise ValueError  # noqa: TRY004 - every fault of the bytes is one kind
        if version > FORMAT:
            raise NewerFormat(self._path, version)
        contents = read_record(Contents, raw, wire_name)
        from_wire(contents.created_at)
        if any(abs(entry.mtime_ns) >= _LATEST_NS for entry in contents.files):
            raise ValueError
        return contents

    def _check(self, members: Sequence[tarfile.TarInfo]) -> None:
        """Raise BadBackup unless the files are those of the list, each once and inside the folder."""
        for member in members:
            if "/".join(parts_of(member.name, from_here=True)) != member.name:
                raise BadBackup(
                    self._path,
                    Text("{name} in it leads out of the folder, or is not the name of a file", name=member.name[:LONGEST_NAME]),
                )
        listed = {entry.path: entry.size for entry in self.contents.files} | {LIST: members[-1].size}
        sizes = {member.name: member.size for member in members}
        if (
            len(members) != len(sizes)
            or len(self.contents.files) + 1 != len(listed)
            or listed != sizes
            or any(name[:n] in sizes for name in sizes for n, letter in enumerate(name) if letter == "/")
        ):
            raise BadBackup(self._path, Text("its files are not those of its list"))


def is_tar(data: bytes) -> bool:
    """Return whether the data begin like a tar."""
    return data[257:265] in _MAGIC


class _Heads:
    """The file of a tar, of which heads alone are read: an extended one says how long it is, and is believed up to a limit."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.seek, self.tell = file, file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _CHUNK:
            raise ValueError
        return self._file.read(size)


def members(path: Path, file: IO[bytes]) -> Iterator[tarfile.TarInfo]:
    """Yield the files of the tar at *path*, in order; ValueError if it is none, BadBackup if it holds what is no plain file."""
    end = file.seek(0, os.SEEK_END)
    file.seek(0)
    try:
        with tarfile.open(
            fileobj=cast("IO[bytes]", _Heads(file)), mode="r:", encoding="utf-8", errors="surrogateescape"
        ) as tar:
            for info in tar:
                if not info.isreg() or info.issparse():
                    raise BadBackup(path, Text("{name} in it is a link, a folder or a device", name=info.name))
                # before the next header is looked for behind it: a negative size would lead back to this one for ever
                if not 0 <= info.size <= end - info.offset_data:
                    raise ValueError
                yield info
    except (tarfile.TarError, OverflowError, RecursionError) as error:
        raise ValueError from error
