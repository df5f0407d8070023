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


def hostile_tar(data: bytes, pick: random.Random) -> bytes:
    """Return the backup with a field of a header spoiled, whose sum is right again, or with anything done to any bytes."""
    heads = [at for at in range(0, len(data), _BLOCK) if data[at + 257 : at + 262] == b"ustar"]
    if pick.random() < 0.3:
        return mutated(data, pick)
    at, place = pick.choice(heads), pick.choice((0, 90, 124, 131, 156, 157, 257, 345))  # name, size, type, link, magic, prefix
    block = bytearray(data[at : at + _BLOCK])
    block[place : place + 4] = pick.choice((pick.randbytes(4), b"7777", b"-001", b"\0\0\0\0", b"../a"))
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:_BLOCK])
    return data[:at] + bytes(block[:_BLOCK]) + data[at + _BLOCK :]


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
