"""Every file in a workspace is private to its owner, whichever part of recalld, or which library, has made it."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.proof
def test_workspace_files_are_unreadable_for_others(tmp_path):
    root = tmp_path / "工作区"
    environ = {key: value for key, value in os.environ.items() if not key.startswith("RECALLD_")}
    message = json.dumps({"role": "user", "text": "明天把 nginx 的配置备份一下。", "createdAt": "2026-01-05T08:00:00Z"})
    for words, text in (
        (("init",), ""),
        (("append", "--jsonl"), message),
        (("run", "--until-settled"), ""),
        (("search", "nginx 备份"), ""),
    ):
        command = [sys.executable, "-m", "recalld", "-w", str(root), *words]
        subprocess.run(command, input=text.encode(), env=environ, cwd=ROOT, check=True, capture_output=True, umask=0o022)

    found = [path for path in root.rglob("*") if not path.is_symlink()]
    assert any(path.parent.name == "index" for path in found)
    assert [
        f"{path.relative_to(root)} {path.stat().st_mode:o}" for path in found if stat.S_IMODE(path.stat().st_mode) & 0o077
    ] == []
