"""The table of docs/reference/protocol.md names every file and folder of WorkspacePaths."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recalld.supervisor.protocol.paths import WorkspacePaths

ROOT = Path(__file__).parents[2]
PATHS = WorkspacePaths(Path("workspace"))
PROPERTIES = sorted(name for name in vars(WorkspacePaths) if isinstance(getattr(PATHS, name, None), Path) and name != "root")


TREE = (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8").partition("## 1. The tree")[2].partition("\n## 2. ")[0]


@pytest.mark.parametrize("name", PROPERTIES)
def test_protocol_names_every_path_of_a_workspace(name: str) -> None:
    path = getattr(PATHS, name)
    names = {path.name, path.suffix} if path.suffix == ".bak" else {path.name}
    assert any(re.search(rf"[`/│ ]{re.escape(one)}[`/ ]", TREE) for one in names)
