"""What a failing disk leaves behind once it works again."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from recalld.supervisor.storage.disk import RealDisk
from tests.world import message


class FullFor(RealDisk):
    """A disk that has no room for more of one file; other files still fit."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_full = True
        self.opened: set[int] = set()

    def open_append(self, path: Path, mode: int) -> int:
        handle = super().open_append(path, mode)
        (self.opened.add if path.name == self.name else self.opened.discard)(handle)
        return handle

    def write(self, handle: int, data: bytes) -> None:
        if self.is_full and handle in self.opened and b'"written"' in data:
            super().write(handle, data[:7])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(handle, data)

    def close(self, handle: int) -> None:
        self.opened.discard(handle)
        super().close(handle)


def test_archive_writes_a_message_once_while_the_journal_is_not_writable(world):
    world.write([message("a", "2026-01-30T09:00", "明天把 nginx 的配置备份一下。")])
    disk = FullFor("seen.jsonl")
    world.reopen(disk=disk)

    for _ in range(3):
        done = world.round("all")
        assert "archive" in done.errors
    assert world.archived() == [("a", "明天把 nginx 的配置备份一下。")]

    disk.is_full = False
    world.settle()
    assert world.archived() == [("a", "明天把 nginx 的配置备份一下。")]
    assert world.flags() == [True]
