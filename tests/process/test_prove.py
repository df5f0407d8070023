"""script/prove ends with the outcome of each suite: a skipped one is not counted as passed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "script" / "prove"
#: Takes the place of Python: what it prints and its exit code depend on the suite.
PYTHON = """#!/usr/bin/env bash
case $2 in
    tests.powercut) echo "SKIPPED, 没有 root" ;;
    tests.fuzz) exit "$CODE" ;;
esac
"""


@pytest.mark.parametrize(("code", "state"), [(0, "passed"), (1, "FAILED"), (77, "FAILED")])
def test_prove_lists_each_suite_with_its_outcome(tmp_path, code, state):
    folder = tmp_path / "script"
    folder.mkdir()
    shutil.copy(SCRIPT, folder)
    (folder / "environment").write_text(f"root={tmp_path} bin={tmp_path}")
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o700)
    done = subprocess.run(
        [folder / "prove"], env={**os.environ, "CODE": str(code)}, capture_output=True, text=True, check=False
    )

    outcomes = {line.split()[3]: line.split()[0] for line in done.stdout.partition("the outcome")[2].splitlines()[1:]}
    assert (outcomes["tests.crash"], outcomes["tests.powercut"], outcomes["tests.fuzz"]) == ("passed", "SKIPPED", state)
    assert done.returncode == (code != 0)
