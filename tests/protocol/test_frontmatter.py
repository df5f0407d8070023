"""The head of a Markdown file of ours: flat YAML, read as strings only."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from supervisor.protocol.errors import NewerFormat
from supervisor.protocol.frontmatter import FORMAT, read_head, render_head

HERE = Path("memory/2026-01-28-nginx.md")
FIELDS = {"recalld": str(FORMAT), "kind": "dated", "period": "2026-01-28", "zone": "Asia/Shanghai"}


def test_a_head_as_a_person_sees_it():
    assert render_head(FIELDS) == "---\nrecalld: 1\nkind: dated\nperiod: 2026-01-28\nzone: Asia/Shanghai\n---\n"


def test_a_head_and_what_follows_it():
    assert read_head(render_head(FIELDS) + "\n花生\n---\n", HERE) == (FIELDS, "\n花生\n---\n")


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
        f"---\nrecalld: 1\nx: {'[' * 5_000}\n---\n",
        '---\nrecalld: 1\nx: "\\UFFFFFFFF"\n---\n',
        f"---\nrecalld: {'7' * 5_000}\n---\n",
        "---\nrecalld: 1\n  - [坏\n---\n",
        "---\nrecalld: 1\ntags: [a, b]\n---\n",
        "---\nx: recalld\n---\n",
        "\n---\nrecalld: 1\n---\n",
    ],
)
def test_a_file_without_a_head_of_ours_is_a_person_s_own_and_comes_back_whole(text):
    assert read_head(text, HERE) == ({}, text)


def test_a_head_of_a_newer_recalld_is_refused_with_its_name():
    with pytest.raises(NewerFormat, match="upgrade recalld") as caught:
        read_head(f"---\nrecalld: {FORMAT + 1}\nkind: dated\n---\n", HERE)
    assert caught.value.path == HERE
    assert caught.value.exit_code == 78


def test_unknown_keys_are_read_and_values_stay_strings():
    fields, _ = read_head("---\nrecalld: 1\nextract: true\ncount: 007\nmood: 好\nwhen: 2026-01-28\n---\n", HERE)
    assert fields == {"recalld": "1", "extract": "true", "count": "007", "mood": "好", "when": "2026-01-28"}


def test_a_head_that_a_person_quoted_or_annotated_is_still_ours():
    fields, _ = read_head("---\nrecalld: \"1\" # 别动\nkind: dated\nzone: 'Asia/Shanghai'\n---\n", HERE)
    assert fields == {"recalld": "1", "kind": "dated", "zone": "Asia/Shanghai"}


KEYS = st.from_regex(r"[a-z]{1,10}", fullmatch=True).filter(lambda key: key != "recalld")
VALUES = st.text('ab 1:#-./_+"\\', max_size=8) | st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff\u2028\u2029"), max_size=40
)


@given(st.dictionaries(KEYS, VALUES, max_size=8), st.text())
def test_what_was_written_is_read_and_any_yaml_parser_agrees(fields, body):
    fields = {"recalld": "1", **fields}
    head = render_head(fields)
    assert read_head(head + body, HERE) == (fields, body)
    assert yaml.load(head.removeprefix("---\n").removesuffix("---\n"), Loader=yaml.BaseLoader) == fields  # noqa: S506 - it makes nothing but strings


@given(
    st.text()
    | st.lists(st.sampled_from(["---\n", "recalld: ", "1\n", "9", "kind: dated\n", ": ", "- x\n", "\n", "花"])).map("".join)
)
def test_any_text_is_read_or_refused(text):
    try:
        fields, body = read_head(text, HERE)
    except NewerFormat:
        return
    assert text.endswith(body)
    assert bool(fields) == (body != text)
