"""A program that always moves the same name into the drop-box, beside a real supervisor."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import threading
from typing import TYPE_CHECKING

import pytest

from tests.checker.formats import read_dated
from tests.process.command import Command, until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.proof

_NOREPLACE, _EXCHANGE, _AT_FDCWD = 1, 2, -100


def _renamed(old: Path, new: Path, flag: int) -> bool:
    """Call renameat2; False when there was a file (_NOREPLACE), or none (_EXCHANGE)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_AT_FDCWD, os.fsencode(old), _AT_FDCWD, os.fsencode(new), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EEXIST, errno.ENOENT):
        return False
    raise OSError(number, os.strerror(number), str(new))


def _move(draft: Path, target: Path) -> bytes:
    """Move *draft* to *target*; returns what nobody had taken from there, b"" when the place was free."""
    while True:
        if _renamed(draft, target, _NOREPLACE):
            return b""
        if _renamed(draft, target, _EXCHANGE):
            return draft.read_bytes()


def test_drop_box_loses_no_file_of_a_program_that_reuses_its_name(tmp_path: Path) -> None:
    command = Command.made(tmp_path / "workspace", RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai")
    texts = [f"第 {n} 句：备份放在 nas{n}。" for n in range(60)]
    target, draft = command.root / "inbox.d" / "new" / "msg.json", command.root / "inbox.d" / "draft"

    turn = threading.Event()
    with command.supervised():
        waiting = [json.dumps({"role": "user", "text": text}, ensure_ascii=False).encode() for text in texts]
        while waiting:
            draft.write_bytes(waiting.pop())
            if back := _move(draft, target):
                waiting.append(back)
            turn.wait(0.001)
        until(lambda: not target.exists())
    assert command("run", "--until-settled", "--no-worker").code == 0

    filed = [read_dated(path.read_bytes()) for path in (command.root / "memory").glob("*.md")]
    assert sorted(words.text for dated in filed if dated for words in dated.words) == sorted(texts)
