"""Every benchmark begins as its first lines say."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = [path.stem for path in sorted((ROOT / "bench").glob("*.py")) if "\ndef main" in path.read_text(encoding="utf-8")]


@pytest.mark.proof
def test_each_benchmark_says_how_it_is_run(monkeypatch, capsys):
    for name in NAMES:
        monkeypatch.setattr(sys, "argv", [f"bench/{name}.py", "--help"])
        with pytest.raises(SystemExit, match=r"^0$"):
            importlib.import_module(f"bench.{name}").main()
        said = capsys.readouterr()
        assert said.err == ""
        assert re.search(rf"^usage: .*\n(.*\n)*?.*python -m bench\.{name}\b", said.out, re.MULTILINE)
