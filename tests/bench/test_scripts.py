"""Every benchmark begins as its first lines say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = [path.stem for path in sorted((ROOT / "bench").glob("*.py")) if "\ndef main" in path.read_text(encoding="utf-8")]


@pytest.mark.proof
@pytest.mark.parametrize("name", NAMES)
def test_benchmark_says_how_it_is_run(name):
    said = subprocess.run(
        [sys.executable, "-m", f"bench.{name}", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert re.search(rf"^usage: .*\n(.*\n)*?.*python -m bench\.{name}\b", said.stdout, re.MULTILINE)
