"""
Whether the files of an index are as tantivy wrote them: it trusts them, and a wrong length in one can end the process.

Each ends with a checksum of its own. Only a file that was written to after the commit that names it is read for it: a fault
of the disk that leaves no trace is not looked for.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final

from supervisor.protocol.errors import BadFile
from supervisor.protocol.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from supervisor.protocol.disk import Disk, Stat

#: How tantivy ends a file: the length of a JSON object that stands before, and its magic number.
_END: Final = struct.Struct("<II")
_MAGIC: Final = 1337


def refuse_spoiled(disk: Disk, parts: Mapping[Path, Stat], committed: Stat) -> None:
    """Raise BadFile where one of *parts*, which the list of a commit names, as of *committed*, is not as tantivy wrote it."""
    for path, stat in parts.items():
        if stat.mtime_ns > committed.mtime_ns and not _is_whole(_read(disk, path)):
            raise BadFile(path, "its bytes are not those that were written")


def _read(disk: Disk, path: Path) -> bytes:
    try:
        return disk.read(path)
    except FileNotFoundError:
        raise BadFile(path, "it is gone") from None


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
