"""Hostile archives for `backup verify` and `backup restore`."""

import hashlib
import io
import json
import random
import tarfile
import tempfile
from collections.abc import Mapping
from functools import partial
from typing import Final
from unittest.mock import patch

from recalld.supervisor.checks import backup
from recalld.supervisor.storage.errors import SupervisorError
from tests.fuzz.mutate import mutated
from tests.process.rounds import folder_in_memory
from tests.world import at

_NOW: Final = at("2026-01-31T10:00")
_BLOCK: Final = 512
_SIZES: Final = (
    b"-0000001000\0", b"\xff" * 10 + b"\xfe\0", b"\x80" + b"\xff" * 11, b"77777777777\0", b"00000000000\0", b" " * 12, b"0000000_010\0", b"\0" * 12,
)  # fmt: skip
_TYPES: Final = b"0\0001234567xgLKSVMNDX"
_RECORDS: Final = (
    b"20 size=-0000000512\n", b"30 size=99999999999999999999\n", b"0 path=a\n", b"99999 path=a\n", b"12 path=../a\n", b"11 path=a\0\n",
    b"29 GNU.sparse.numblocks=9999\n", b"25 GNU.sparse.map=0,9,9,9\n", b"22 hdrcharset=BINARY\n",
)  # fmt: skip


def _resummed(block: bytes) -> bytes:
    blank = block[:148] + b" " * 8 + block[156:]
    return blank[:148] + b"%06o\0 " % sum(blank) + blank[156:]


def _headers(data: bytes) -> list[int]:
    return [at for at in range(0, len(data) - _BLOCK + 1, _BLOCK) if data[at + 257 : at + 262] == b"ustar"]


def hostile_tar(data: bytes, pick: random.Random) -> bytes:
    """Return the backup with something done to its headers, which have right sums again, or to any bytes."""
    for _ in range(pick.choice((1, 1, 2, 5))):
        places = _headers(data)
        at = pick.choice(places) if places else 0
        block, rest = bytearray(data[at : at + _BLOCK].ljust(_BLOCK, b"\0")), data[at + _BLOCK :]
        match pick.randrange(8):
            case 0:
                block[124:136] = pick.choice(_SIZES)
            case 1:
                block[156] = pick.choice(_TYPES)
            case 2:
                records = pick.choice(_RECORDS) * pick.choice((1, 1, 50, 5_000))
                head = tarfile.TarInfo("x")
                head.type, head.size = pick.choice((b"x", b"x", b"g", b"L")), pick.choice((len(records), len(records), 1 << 40))
                block[:] = head.tobuf(tarfile.GNU_FORMAT)[:_BLOCK] + records + bytes(-len(records) % _BLOCK) + block
            case 3:
                name = pick.choice((b"a/", "深/".encode(), b"../", b"/")) * pick.choice((1, 16, 50))
                block[:100] = name[:99].ljust(100, b"\0")
            case 4:
                rest = bytes(block) * pick.choice((1, 100, 2_000)) + rest
            case 5:
                data = _many_folders(pick)
                continue
            case _:
                data = mutated(data, pick)
                continue
        data = data[:at] + _resummed(bytes(block[:_BLOCK])) + bytes(block[_BLOCK:]) + rest
    return data


def _many_folders(pick: random.Random) -> bytes:
    """A backup that is right but for paths of folders in folders, as many as its size allows."""
    depth, files = pick.choice((10, 60, 64, 65, 2_000, 40_000)), pick.choice((1, 8, 60))
    return packed({f"{n}/" + "a/" * depth + "x": b"" for n in range(files)})


def packed(files: Mapping[str, bytes]) -> bytes:
    """A backup of these files."""
    listed = [
        {"path": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "mtime_ns": 0, "executable": False}
        for name, data in files.items()
    ]
    text = json.dumps({"recalld": 1, "createdAt": "2026-01-28T04:00:00.000Z", "madeBy": "", "files": listed}).encode()
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in {**files, "recalld-backup.json": text}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return file.getvalue()


def read_backup(data: bytes) -> None:
    """Verify and restore it; either may refuse, and leaves nothing beside what it was asked for."""
    with folder_in_memory("archive-") as place, patch.object(tempfile, "tempdir", str(place)):
        file, refused = place / "一.tar", []
        file.write_bytes(data)
        for attempt in (partial(backup.verify, file, {}, lambda: _NOW), partial(backup.restore, file, place / "新")):
            try:
                attempt()
            except SupervisorError as error:
                refused.append(error)
        left = {path.name for path in place.iterdir()} - {"一.tar", "新"}
        assert not left, left
    if refused:
        raise refused[0]
