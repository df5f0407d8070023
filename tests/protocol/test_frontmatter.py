"""The head of a Markdown file that recalld writes: flat YAML, read as strings only."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.dated_file import DATED_FORMAT, read_head, render_head
from recalld.supervisor.storage.errors import NewerFormat

HERE = Path("memory/2026-01-28-nginx.md")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "花生过敏",
        "# 标题\n---\nrecalld: 1\n---\n",
        "---\ntitle: 我的笔记\n---\n正文",
        "---\nrecalld: 1\n没有结尾",
        "---\nrecalld: 一\n---\n",
        "---\nrecalld: ²\n---\n",
        f"---\nrecalld: {'7' * 5_000}\n---\n",
        "---\nrecalld: 1\n  - [坏\n---\n",
        "---\nx: recalld\n---\n",
        "\n---\nrecalld: 1\n---\n",
    ],
)
def test_read_head_returns_a_file_without_valid_header_unchanged(text):
    assert read_head(text, HERE) == ({}, text)


def test_read_head_refuses_a_newer_format_and_names_the_file():
    with pytest.raises(NewerFormat, match="upgrade recalld") as caught:
        read_head(f"---\nrecalld: {DATED_FORMAT + 1}\nkind: dated\n---\n", HERE)
    assert caught.value.path == HERE
    assert caught.value.exit_code == 78


KEYS = st.from_regex(r"[a-z]{1,10}", fullmatch=True).filter(lambda key: key != "recalld")
VALUES = st.text('ab 1:#-./_+"\\', max_size=8) | st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff\u2028\u2029"), max_size=40
)


@given(st.dictionaries(KEYS, VALUES, max_size=8), st.text())
def test_read_head_agrees_with_a_yaml_parser_on_rendered_headers(fields, body):
    fields = {"recalld": "1", **fields}
    head = render_head(fields)
    assert read_head(head + body, HERE) == (fields, body)
    assert yaml.load(head.removeprefix("---\n").removesuffix("---\n"), Loader=yaml.BaseLoader) == fields  # noqa: S506 - it makes nothing but strings
