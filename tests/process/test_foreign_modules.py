"""A user's own modules named as ours are never run, and work beside ours."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.world import message_on

pytestmark = pytest.mark.proof

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
        [sys.executable, *command],
        cwd=folder,
        env={**kept, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


@pytest.mark.parametrize("path", ["", "."], ids=["working folder", "PYTHONPATH"])
def test_command_and_worker_never_run_modules_of_the_user(folder, path):
    environ = {"PYTHONPATH": str(folder) if path else "", "RECALLD_NOW": "2026-01-31T10:00:00Z", "TZ": "Asia/Shanghai"}
    environ["RECALLD_SUMMARIZE_LEAST"] = "0"
    (folder / "ws").mkdir()
    (folder / "ws" / "history.json").write_text(json.dumps([message_on("2026-01-10", text="我对花生过敏。")]), encoding="utf-8")
    for words in (["init"], ["run", "--until-settled"], ["worker", "--idle", "0"], ["search", "花生"]):
        done = run(folder, "-m", "recalld", "-w", "ws", *words, **environ)
        assert (done.returncode, done.stderr) == (0, "")

    assert not (folder / "was-run").exists()
    assert (folder / "ws" / "memory" / "summary" / "2026-01-10.md").exists()  # so the worker did its work


def test_import_of_recalld_works_beside_modules_of_the_user(folder):
    source = "import supervisor, worker, prompts; from recalld import Memory; from recalld.prompts import MEMORY_ENTRY_TEMPLATE"
    done = run(folder, "-c", source, PYTHONPATH=str(ROOT / "script" / "editable"))
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "was-run").exists()  # theirs, which they asked for


def test_editable_install_shows_no_package_but_recalld(tmp_path):
    found = "import importlib.util as u; print([name for name in ('supervisor', 'worker', 'prompts') if u.find_spec(name)])"
    assert run(tmp_path, "-c", found, PYTHONPATH=str(ROOT / "script" / "editable")).stdout == "[]\n"
    assert [one.name for one in (ROOT / "script" / "editable").iterdir()] == ["recalld"]
