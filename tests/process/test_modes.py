"""Every file in a workspace is private to its owner, whichever part of recalld, or which library, has made it."""

from __future__ import annotations

import stat

from tests.process.command import Command, ended


def test_workspace_files_are_unreadable_for_others(tmp_path):
    recalld = Command.made(tmp_path / "工作区")
    assert recalld("append", "--role", "user", "--text", "明天备份配置。", "--at", "2026-01-05T08:00").code == 0
    open_to_all = ["sh", "-c", 'umask 022; exec "$@"', "sh"]
    assert ended(recalld.start("-w", str(recalld.root), "run", "--until-settled", before=open_to_all)).code == 0
    left = [path for path in recalld.root.rglob("*") if not path.is_symlink()]
    assert any(path.parent.name == "index" for path in left)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in left}
    assert [(path, oct(mode)) for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)] == []
