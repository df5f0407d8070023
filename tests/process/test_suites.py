"""script/crash ends with the outcome of each suite: a skipped one is not counted as passed."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Stands where Python would: says what it is told to, and ends with the number that comes last.
STANDS_IN = """#!/usr/bin/env bash
echo "${@:2:$#-2}"
exit "${@: -1}"
"""


@pytest.mark.parametrize(("code", "state"), [(0, "passed"), (1, "FAILED"), (77, "FAILED")])
def test_suites_script_lists_each_suite_with_its_outcome(tmp_path, code, state):
    (tmp_path / "python").write_text(STANDS_IN)
    (tmp_path / "python").chmod(0o700)
    suites = f"suite SKIPPED, 没有 root 0\nsuite 有事 {code}\nend_suites"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f'bin={tmp_path}\n. "{ROOT}/script/suites"\n{suites}'],
        capture_output=True,
        text=True,
        check=False,
    )

    assert [line.split()[0] for line in done.stdout.splitlines()[-2:]] == ["SKIPPED", state]
    assert done.returncode == (code != 0)
