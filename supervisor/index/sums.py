"""
Whether the files of an index are as tantivy wrote them: it trusts them, and a wrong length in one can end the process.

Each ends with a checksum of its own. Only a file that was written to after the commit that names it is read for it: a fault
of the disk that leaves no trace is not looked for.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

from supervisor.protocol.errors import BadFile
from supervisor.protocol.json_text import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from supervisor.protocol.disk import Disk, Stat

#: How tantivy ends a file: the length of a JSON object that stands before, and its magic number.
_END: Final = struct.Struct("<II")
_MAGIC: Final = 1337


def refuse_spoiled(disk: Disk, folder: Path, commits: Path, committed: Stat) -> None:
    """Raise BadFile where *commits*, the list of a commit, or a file that it names is not as tantivy wrote it."""
    names = disk.names(folder)
    try:
        named = list(_named(parse_json(disk.read(commits)), names))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BadFile(commits, "it is no list of a commit") from None
    for name in named:
        stat = disk.stat(folder / name)
        if stat and stat.mtime_ns > committed.mtime_ns and not _is_whole(disk.read(folder / name)):
            raise BadFile(folder / name, "its bytes are not those that were written")


def _named(commit: Any, names: list[str]) -> Iterator[str]:
    """Yield which of *names* belong to the commit; what another process is about to commit does not."""
    for segment in commit["segments"]:
        stem, deletes = segment["segment_id"].replace("-", ""), segment["deletes"]
        ended = f"{stem}.{deletes['opstamp']}.del" if deletes else ""
        yield from (name for name in names if name.startswith(f"{stem}.") and (name == ended or not name.endswith(".del")))


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
