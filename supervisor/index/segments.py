"""
The files of a commit of tantivy: their names, and whether they are whole.

tantivy trusts its files: a wrong length in one can end the process. So a file that was written to after its commit must have
the checksum at its end.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final

from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadFile
from recalld.supervisor.storage.lenient_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recalld.supervisor.storage.disk import Disk, Stat

#: The end of each of tantivy's files: the length of the JSON object before it, and a magic number.
_END: Final = struct.Struct("<II")
_MAGIC: Final = 1337


def verify_checksums(disk: Disk, parts: Mapping[Path, Stat], committed: Stat) -> None:
    """Raise BadFile if one of *parts* was written to after the commit *committed* and fails its checksum."""
    for path, stat in parts.items():
        if stat.mtime_ns > committed.mtime_ns and not _is_whole(_read(disk, path)):
            raise BadFile(path, Text("file.bytes_differ"))


def _read(disk: Disk, path: Path) -> bytes:
    try:
        return disk.read(path)
    except FileNotFoundError:
        raise BadFile(path, Text("file.gone")) from None


def _is_whole(data: bytes) -> bool:
    if len(data) < _END.size:
        return False
    size, magic = _END.unpack_from(data, len(data) - _END.size)
    body = len(data) - _END.size - size
    if magic != _MAGIC or body < 0:
        return False
    try:
        said = parse_json(data[body : -_END.size])
        return bool(said["crc"] == zlib.crc32(memoryview(data)[:body]))
    except (ValueError, TypeError, KeyError):
        return False


def segment_files(disk: Disk, commits: Path) -> dict[Path, Stat] | None:
    """
    Return the stats of the files that the list of the last commit names; None if it names none.

    Files that another process is writing for its next commit are not among them.
    """
    try:
        named = [(one["segment_id"].replace("-", ""), one["deletes"]) for one in parse_json(disk.read(commits))["segments"]]
        deleted = {stem: f"{stem}.{deletes['opstamp']}.del" if deletes else "" for stem, deletes in named}
    except (ValueError, TypeError, KeyError, AttributeError, FileNotFoundError):
        raise BadFile(commits, Text("file.no_commit_list")) from None

    def belongs(name: str) -> bool:
        stem = name.partition(".")[0]
        return stem in deleted and (not name.endswith(".del") or name == deleted[stem])

    found = disk.stats(commits.parent) if deleted else {}
    return {commits.parent / name: stat for name, stat in found.items() if belongs(name)} if deleted else None
