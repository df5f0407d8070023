"""A user's own modules that are called as ours are never run; a process that already has another `supervisor` is told so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import recalld
import supervisor
from tests.world import message_on

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

ROOT = Path(__file__).resolve().parents[2]
RUN_BY_MISTAKE = "import pathlib; pathlib.Path({path!r}).write_text('运行了')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with a supervisor.py, a worker.py and a package prompts of the user's, which note that they were run."""
    source = RUN_BY_MISTAKE.format(path=str(tmp_path / "was-run"))
    (tmp_path / "prompts").mkdir()
    for name in ("supervisor.py", "worker.py", "prompts/__init__.py"):
        (tmp_path / name).write_text(source, encoding="utf-8")
    return tmp_path


def run(folder: Path, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run Python in *folder* with these arguments; recalld is found, the folder may be on PYTHONPATH before it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("RECALLD_", "PYTHON"))}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env={**kept, **environ}, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("path", ["", "."], ids=["working folder", "PYTHONPATH"])
def test_command_and_worker_never_run_modules_of_the_user(folder, path):
    environ = {"PYTHONPATH": str(folder) if path else "", "RECALLD_NOW": "2026-01-31T10:00:00Z"}
    (folder / "ws").mkdir()
    (folder / "ws" / "history.json").write_text(json.dumps([message_on("2026-01-10", text="我对花生过敏。")]), encoding="utf-8")
    for words in (["init"], ["run", "--until-settled"], ["worker", "--idle", "0"], ["search", "花生"]):
        done = run(folder, "-m", "recalld", "-w", "ws", *words, **environ)
        assert (done.returncode, done.stderr) == (0, "")

    assert not (folder / "was-run").exists()
    assert (folder / "ws" / "memory" / "summary" / "2026-01-10.md").exists()  # so the worker did its work


def test_import_is_refused_in_one_sentence_beside_another_supervisor(folder):
    for before in ("", "import supervisor; "):
        done = run(folder, "-c", f"{before}from recalld import Memory", PYTHONPATH=str(ROOT))
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith("ImportError: recalld needs its own package `supervisor`, but ")
        assert str(folder / "supervisor.py") in done.stderr.splitlines()[-1]


def test_import_of_recalld_gives_what_supervisor_offers(tmp_path):
    source = "import recalld, supervisor; print(all(getattr(recalld, n) is getattr(supervisor, n) for n in supervisor.__all__))"
    assert run(tmp_path, "-c", source, PYTHONPATH=str(ROOT)).stdout == "True\n"
    assert recalld.__all__ == supervisor.__all__
