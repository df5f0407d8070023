"""A summary file: the text of a worker, its sources, and a person's bytes, which stay an exact prefix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.index.chunking import chunk_summary
from recalld.supervisor.protocol.summary_file import MARKER, Source, Summary, parse_summary, render_summary, with_text
from recalld.supervisor.storage.errors import NewerFormat

HERE = Path("memory/summary/2026-01-15.md")
ONE, TWO = Source("2026-01-15-nginx.md", "9f8a3c0012345678", 12), Source("2026-01-15-pnpm.md", "00aa3c0012345678", 3)
SUMMARY = Summary(
    period="2026-01-15",
    zone="Asia/Shanghai",
    created="2026-01-21T02:00:00.000Z",
    text="## 部署\n\n超时改成 30 秒。",
    sources=(ONE,),
    provider="openai",
    model="qwen3:8b",
    prompt="3f2a",
)


def parse(data: bytes) -> Summary:
    return parse_summary(data, "2026-01-15", HERE)


def test_render_summary_writes_header_text_and_sources():
    assert render_summary(SUMMARY).decode() == (
        "---\nrecalld: 1\nkind: day\nperiod: 2026-01-15\nzone: Asia/Shanghai\ncreated: 2026-01-21T02:00:00.000Z\ncount: 12\n"
        "provider: openai\nmodel: qwen3:8b\nprompt: 3f2a\ndigest: 1b9c5cfc57e9a5e5\n---\n\n"
        "## 部署\n\n超时改成 30 秒。\n\n<!-- recalld: made from -->\n- 2026-01-15-nginx.md · 12 · 9f8a3c0012345678\n"
    )


def test_render_summary_header_has_at_most_12_lines_and_marks_an_extract():
    head = render_summary(replace(SUMMARY, extract=True, empty=True)).decode().split("---\n")[1].splitlines()
    assert len(head) <= 12
    assert {"extract: true", "empty: true"} <= set(head)


def test_render_summary_writes_the_kind_month_for_a_month():
    assert b"kind: month\n" in render_summary(replace(SUMMARY, period="2025-12"))


def test_parse_summary_restores_a_rendered_summary():
    assert parse(render_summary(SUMMARY)) == SUMMARY
    assert parse(render_summary(replace(SUMMARY, extract=True, model="", prompt=""))).extract


# ── a person's edits ─────────────────────────────────────────────────────────


def test_words_below_the_list_of_sources_belong_to_the_text():
    data = render_summary(SUMMARY) + "- 我自己补一句：回滚脚本在 /srv。\n".encode()
    found = parse(data)
    assert (found.text, found.sources) == (f"{SUMMARY.text}\n\n- 我自己补一句：回滚脚本在 /srv。", SUMMARY.sources)
    assert found.kept.encode() == data
    (cut,) = chunk_summary(str(HERE), data.decode(), None, HERE)
    assert data.decode().split("\n")[cut.passage.end - 1] == "- 我自己补一句：回滚脚本在 /srv。"


def test_parse_summary_returns_empty_kept_text_for_an_unedited_file():
    assert parse(render_summary(SUMMARY)).kept == ""


@pytest.mark.parametrize(
    "edit",
    [
        ("30 秒", "45 秒"),
        ("## 部署", "## 部署（已确认）"),
        ("\n<!-- recalld: made from -->", "\n我加的一行\n\n<!-- recalld: made from -->"),
    ],
)
def test_render_summary_keeps_edited_bytes_as_an_exact_prefix(edit):
    edited = render_summary(SUMMARY).decode().replace(*edit).encode()
    found = parse(edited)
    newer = render_summary(replace(SUMMARY, text="## 新", sources=(TWO,), kept=found.kept))
    assert newer.startswith(edited)
    assert newer[len(edited) :].startswith(f"{MARKER}\n---\nrecalld: 1\n".encode())


def test_parse_summary_reads_a_file_without_header_as_edited_text():
    mine = "# 一月十五\n我自己写的，没有换行结尾".encode()
    found = parse(mine)
    assert (found.sources, found.provider, found.text) == ((), "", mine.decode())
    assert render_summary(replace(SUMMARY, kept=found.kept)).startswith(mine + b"\n" + MARKER.encode())


def test_render_summary_keeps_fields_that_a_user_added_to_the_header():
    edited = render_summary(SUMMARY).replace(b"provider:", "tags: 家\nprovider:".encode())
    newer = render_summary(replace(SUMMARY, text="## 新", kept=parse(edited).kept))
    assert newer.startswith(edited)


def test_with_text_keeps_the_head_as_a_person_has_it():
    head = render_summary(SUMMARY).decode().replace("\n---\n", "\ntags:\n  - 部署 # 我的\n---\n", 1)
    edited = with_text(head.encode(), "超时是 20 秒。", HERE)
    assert edited.decode().split("\n---\n")[0] == head.split("\n---\n")[0]
    assert (parse(edited).text, parse(edited).sources, parse(edited).zone) == ("超时是 20 秒。", (ONE,), "Asia/Shanghai")


def test_render_summary_keeps_bytes_in_another_encoding():
    mine = "我用记事本写的".encode("gb18030") + b"\n\xff\x00\r\n"
    newer = render_summary(replace(SUMMARY, kept=parse(mine).kept))
    assert newer.startswith(mine)
    assert parse(newer).kept.encode("utf-8", "surrogateescape") == mine


def test_parse_summary_joins_sources_and_takes_other_fields_from_the_last():
    edited = render_summary(SUMMARY).replace("30 秒".encode(), "45 秒".encode())
    newer = render_summary(replace(SUMMARY, text="## 新", sources=(TWO,), kept=parse(edited).kept, provider="另一个"))
    found = parse(newer)
    assert found.sources == (ONE, TWO)
    assert (found.text, found.provider) == ("## 新", "另一个")


def test_parse_summary_drops_sources_of_an_edited_extract_under_model_text():
    edited = render_summary(replace(SUMMARY, extract=True)).replace("30 秒".encode(), "45 秒".encode())
    newer = replace(SUMMARY, text="## 新", sources=(TWO,), kept=parse(edited).kept)
    assert (parse(render_summary(newer)).sources, parse(render_summary(newer)).extract) == ((TWO,), False)
    assert parse(render_summary(replace(newer, extract=True))).sources == (ONE, TWO)


def test_parse_summary_uses_the_newer_digest_of_a_changed_source():
    edited = render_summary(SUMMARY).replace("30 秒".encode(), "45 秒".encode())
    changed = replace(ONE, digest="ffffffffffffffff")
    assert parse(render_summary(replace(SUMMARY, sources=(changed,), kept=parse(edited).kept))).sources == (changed,)


def test_render_summary_replaces_generated_text_below_an_edit():
    edited = render_summary(SUMMARY).replace("30 秒".encode(), "45 秒".encode())
    first = render_summary(replace(SUMMARY, text="## 甲", kept=parse(edited).kept))
    second = render_summary(replace(SUMMARY, text="## 乙", kept=parse(first).kept))
    assert second.startswith(edited)
    assert second.count(MARKER.encode()) == 1
    assert "甲".encode() not in second


def test_render_summary_keeps_an_edit_below_the_marker():
    edited = render_summary(SUMMARY).replace("30 秒".encode(), "45 秒".encode())
    again = render_summary(replace(SUMMARY, text="## 甲", kept=parse(edited).kept)).replace(
        "## 甲".encode(), "## 我的甲".encode()
    )
    third = render_summary(replace(SUMMARY, text="## 乙", kept=parse(again).kept))
    assert third.startswith(again)
    assert third.count(MARKER.encode()) == 2


def test_parse_summary_refuses_a_newer_format():
    with pytest.raises(NewerFormat):
        parse(render_summary(SUMMARY).replace(b"recalld: 1", b"recalld: 2"))


EDITS = st.binary(max_size=60) | st.text(max_size=30).map(str.encode) | st.just(b"---\nrecalld: 1\n---\n")


@given(st.lists(st.tuples(EDITS, st.integers(0, 600)), min_size=1, max_size=4))
def test_render_summary_replaces_only_unedited_generated_text(edits):
    machine = data = render_summary(SUMMARY)
    for n, (edit, place) in enumerate(edits):
        data = data[:place] + edit + data[place:]
        try:
            before = parse(data)
        except NewerFormat:
            return
        newer = replace(SUMMARY, text=f"## 第 {n} 次", sources=before.sources)
        whole = render_summary(replace(newer, kept=before.kept))
        assert whole.startswith(data) or (data.endswith(machine) and whole.startswith(data.removesuffix(machine)))
        machine, data = render_summary(newer), whole


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
    .map(str.strip)
    .filter(lambda text: text and "<!-- recalld" not in text),
    st.sets(
        st.builds(
            Source,
            st.from_regex(r"2026-01-15-[a-z0-9-]{1,32}\.md", fullmatch=True),
            st.from_regex(r"[0-9a-f]{16}", fullmatch=True),
            st.integers(0, 999),
        ),
        max_size=3,
    ),
)
def test_parse_summary_restores_any_text_and_sources(text, sources):
    by_name = {source.name: source for source in sources}
    written = replace(SUMMARY, text=text, sources=tuple(sorted(by_name.values())))
    found = parse(render_summary(written))
    # CRLF is read as a line break: an editor may have saved the file with it
    assert (found.text, found.sources, found.kept) == (text.replace("\r\n", "\n"), written.sources, "")
    assert [source.count for source in found.sources] == [source.count for source in written.sources]
