"""The house stays easy to read: sizes of modules and functions, names of tests, no references to documents that a reader does not have."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRODUCT = [path for name in ("recalld", "supervisor", "worker", "prompts") for path in (ROOT / name).rglob("*.py")]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
#: Codes such as "A27." or "4H, 7" at the start of a docstring, and files that are not in the repository.
ABSENT = re.compile(r'"""(4[A-H], ?\d+|[ABCDHS]\d{1,2})\b|\bholes\.md\b')


def test_modules_are_at_most_400_lines():
    assert [path.name for path in PRODUCT if path.read_text(encoding="utf-8").count("\n") > 400] == []


#: Lines with docstrings that the packages of recall may have together; a package that wants more takes it from another.
RECALL: dict[tuple[str, ...], int] = {("query", "index", "recall", "context"): 11_100}


def test_rooms_of_recall_hold_their_size():
    for packages, most in RECALL.items():
        paths = [path for name in packages for path in (ROOT / "supervisor" / name).rglob("*.py")]
        assert sum(path.read_text(encoding="utf-8").count("\n") for path in paths) <= most, packages


def test_functions_have_at_most_40_lines_below_their_docstring():
    longer = []
    for path in PRODUCT:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                own = node.body[1:] if ast.get_docstring(node) else node.body
                if own and (own[-1].end_lineno or 0) - own[0].lineno >= 40:
                    longer.append(f"{path.name}: {node.name}")
    assert longer == []


def test_names_of_tests_are_at_most_70_characters():
    names = [name for path in TESTS for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))]
    assert names
    assert [name for name in names if len(name) > 70] == []


def test_sources_cite_no_absent_documents():
    others = [path for path in [*PRODUCT, *TESTS] if path != Path(__file__)]
    assert [path.name for path in others if ABSENT.search(path.read_text(encoding="utf-8"))] == []
