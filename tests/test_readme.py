"""The two READMEs say the same, and what they name exists."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from supervisor.interfaces.cli import main

ROOT = Path(__file__).parent.parent
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
BOTH = pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])


def commands(text: str) -> list[str]:
    """The commands that the page shows, their words left out."""
    return [
        re.sub(r'"[^"]*"|\s*#.*', "", found).strip()
        for found in re.findall(r"^    ((?:recalld|script/).*)$", text, re.MULTILINE)
    ]


def packages(text: str) -> list[str]:
    """The packages of the table, in their order."""
    return re.findall(r"^\| `([\w/]+)/` \|", text, re.MULTILINE)


def test_readmes_show_the_same_commands_modules_and_sections():
    assert commands(ENGLISH) == commands(CHINESE) != []
    assert packages(ENGLISH) == packages(CHINESE)
    shape = re.compile(r"^(#+|    [├└│]|\* |\| |    )", re.MULTILINE)
    assert shape.findall(ENGLISH) == shape.findall(CHINESE)
    assert re.findall(r"\]\((?!README)([^)]+)\)", ENGLISH) == re.findall(r"\]\((?!README)([^)]+)\)", CHINESE)


@BOTH
def test_readme_names_only_existing_commands_and_scripts(text):
    known = set(main.commands().commands)
    named = set(
        re.findall(r"\brecalld (?:-w \S+ )?([a-z]+)\b", "\n".join([*commands(text), *re.findall(r"`([^`\n]+)`", text)]))
    )
    assert named
    assert named <= known
    scripts = set(re.findall(r"\b(script/\w+)", text))
    assert scripts
    assert all(os.access(ROOT / script, os.X_OK) for script in scripts)


@BOTH
def test_every_package_is_named_and_every_name_is_a_package(text):
    inner = sorted(path.parent.name for path in (ROOT / "supervisor").glob("*/__init__.py"))
    assert sorted(packages(text)) == sorted(["prompts", "recalld", "worker", *(f"supervisor/{name}" for name in inner)])


@BOTH
def test_readme_tree_shows_everything_in_a_workspace(text, tmp_path):
    from supervisor.workspace import make_workspace, open_workspace

    make_workspace(tmp_path, {})
    open_workspace(tmp_path, {}, None).prepare()
    tree = text.partition("    workspace/\n")[2].partition("\n\n")[0]
    named = [name.rstrip("/").partition("/")[0] for name in re.findall(r"^    [├└]── (\S+)", tree, re.MULTILINE)]
    assert set(os.listdir(tmp_path)) - set(named) == set()
