"""The two READMEs say the same, and what they name exists. Their examples are run by test_examples.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from recalld.supervisor.interfaces.cli import main

ROOT = Path(__file__).parent.parent
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
BOTH = pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])


def commands(text: str) -> list[str]:
    """The commands that the page shows, their words left out."""
    lines = re.findall(r"^(?:\$ )?((?:recalld -w|script/).*)$", text, re.MULTILINE)
    return [re.sub(r'"[^"]*"|\s*#.*', "", line).strip() for line in lines]


def links(text: str) -> list[str]:
    """The pages that the page links to, in their order; a page and its Chinese version are one, with other headings."""
    return [link.replace(".zh-CN", "").partition("#")[0] for link in re.findall(r"\]\((?!README)([^)]+)\)", text)]


def test_readmes_show_the_same_commands_sections_and_links():
    assert commands(ENGLISH) == commands(CHINESE) != []
    shape = re.compile(r"^(#+|    [├└│]|\* |```\w*|    )", re.MULTILINE)
    assert shape.findall(ENGLISH) == shape.findall(CHINESE)
    assert links(ENGLISH) == links(CHINESE) != []


def test_chinese_pages_link_to_the_chinese_version_where_there_is_one():
    for page in (ROOT / "README.zh-CN.md", *ROOT.glob("docs/**/*.zh-CN.md")):
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#]+\.md)\)", text):
            chinese = link.removesuffix(".md") + ".zh-CN.md"
            own = page.name.replace(".zh-CN", "")
            assert link.endswith((".zh-CN.md", own)) or not (page.parent / chinese).exists(), (page, link)


@BOTH
def test_readme_names_only_existing_commands_and_scripts(text):
    lines = "\n".join([*commands(text), *re.findall(r"`([^`\n]+)`", text)])
    named = set(re.findall(r"\brecalld (?:-w \S+ )?([a-z]+)\b", lines))
    assert named
    assert named <= set(main.COMMAND_LINE.commands)
    scripts = set(re.findall(r"\b(script/\w+)", text))
    assert scripts
    assert all(os.access(ROOT / script, os.X_OK) for script in scripts)


def test_protocol_tree_shows_everything_in_a_workspace(tmp_path):
    from recalld.supervisor.protocol.config import make_workspace
    from recalld.supervisor.workspace import open_workspace

    make_workspace(tmp_path, {})
    open_workspace(tmp_path, {}, None).prepare()
    page = (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8")
    tree = page.partition("    workspace/\n")[2].partition("\n\n")[0]
    named = [name.rstrip("/").partition("/")[0] for name in re.findall(r"^    [├└]── (\S+)", tree, re.MULTILINE)]
    assert set(os.listdir(tmp_path)) - set(named) == set()


@pytest.mark.proof
@pytest.mark.skipif(sys.prefix != str(ROOT / ".venv"), reason="the demo would install what it needs")
def test_demo_fits_two_screens_in_the_language_of_the_terminal():
    shown = {}
    for locale in ("en_GB.UTF-8", "zh_CN.UTF-8"):
        environ = os.environ | {"LC_ALL": locale}
        demo = subprocess.run([ROOT / "script/demo"], env=environ, capture_output=True, text=True, check=True)
        shown[locale[:2]] = demo.stdout
        assert len(demo.stdout.splitlines()) <= 60
        assert len(re.findall(r"^\[memory/\S+#L[\dL,-]+\]", demo.stdout, re.MULTILINE)) == 3, "each question is answered"
    headings = {language: re.findall("^── (.*) ──$", text, re.MULTILINE) for language, text in shown.items()}
    assert len(headings["en"]) == len(headings["zh"]) == 5
    assert all(heading.isascii() for heading in headings["en"])
    assert not any(re.search("[a-z]{4,} [a-z]", heading) for heading in headings["zh"])
