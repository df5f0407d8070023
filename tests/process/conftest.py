"""Workspaces that commands are started in."""

import json
import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.process.command import Command

NOW: Final = "2026-01-31T10:00:00+08:00"
HERE: Final = {"RECALLD_NOW": NOW, "RECALLD_ARCHIVE_TIMEZONE": "Asia/Shanghai", "RECALLD_SUMMARIZE_LEAST": "0"}
LINES: Final = (
    {"role": "user", "text": "我对花生过敏，点外卖要备注。", "createdAt": "2026-01-20T10:00:00+08:00"},
    {"role": "assistant", "text": "记住了，花生过敏。", "createdAt": "2026-01-20T10:00:05+08:00"},
    {"role": "user", "text": "备份脚本上传失败，the port is 8443", "createdAt": "2026-01-29T10:00:00+08:00"},
)
#: More than a pipe holds, so that a reader who has gone is met while it is printed, not after.
MUCH: Final = 15_000


@pytest.fixture
def recalld(tmp_path: Path) -> Command:
    """An empty workspace in Shanghai, by the clock of the machine."""
    return Command.made(tmp_path / "工作区", RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai")


@pytest.fixture(scope="session")
def two_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory of two days, archived; one of the days waits for its summary."""
    made = Command.made(tmp_path_factory.mktemp("talk") / "工作区", **HERE)
    assert made("append", "--jsonl", stdin="\n".join(map(json.dumps, LINES))).code == 0
    assert made("run", "--until-settled", "--no-worker").code == 0
    return made.root


@pytest.fixture
def talked(two_days: Path, tmp_path: Path) -> Command:
    """A workspace of its own with that memory, and two notes."""
    root = shutil.copytree(two_days, tmp_path / "工作区")
    (root / "memory" / "short.md").write_text("好\n", encoding="utf-8")
    (root / "memory" / "长长的笔记.md").write_text("我喜欢 tuna。\n" + "花生\n" * MUCH, encoding="utf-8")
    return Command(root, **HERE)
