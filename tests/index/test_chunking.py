"""How memory files are split: messages, sections, entries of memory.md, list items and paragraphs of a person's notes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.index.chunking import Chunk, chunk_note, chunk_summary, marked_lines, neighbours
from recalld.supervisor.index.hit import Passage
from recalld.supervisor.text.decoding import decoded

DAY = date(2026, 1, 28)
NOTE = """---
tags: 花生
---
# 家里

- 我对花生过敏
- [x] **09:15** user: 交了房租
- assistant: 记下了

猫的疫苗九月打，
要带本子。

## 空的

| 日期 | 事情 |
|------|------|
| 周三 | 瑜伽 |

```
# 代码里的井号
```
<!-- 看不见 -->
"""


def _cut(text, tier="dated"):
    return [
        (chunk.passage.start, chunk.passage.end, chunk.passage.text, chunk.passage.role, chunk.context)
        for chunk in chunk_note("memory/a.md", text, DAY, tier)
    ]


def test_chunking_splits_a_note_into_items_paragraphs_rows_and_code():
    assert _cut(NOTE) == [
        (6, 6, "我对花生过敏", "", "家里"),
        (7, 7, "交了房租", "user", "家里"),
        (8, 8, "记下了", "assistant", "家里"),
        (10, 11, "猫的疫苗九月打，\n要带本子。", "", "家里"),
        (15, 15, "| 日期 | 事情 |", "", "家里 空的"),
        (17, 17, "| 周三 | 瑜伽 |", "", "家里 空的"),
        (20, 20, "# 代码里的井号", "", "家里 空的"),
    ]


def test_chunking_keeps_words_that_stand_in_the_line_of_a_fence():
    text = "```\nrm -rf /\n```花生过敏\n```sh\nls"
    assert _cut(f"- {text}\n```") == [(1, 5, text, "", "")]


def test_chunking_gives_a_memory_md_line_its_day_and_no_neighbours():
    cuts = chunk_note(
        "memory.md", "2026-01-20|web-chat|我对花生过敏；不吃香菜\n2026-99-99|user|坏日子\n自由的一行 #共享", None, "long_term"
    )
    assert [(chunk.passage.day, chunk.passage.text, chunk.passage.marked) for chunk in cuts] == [
        (date(2026, 1, 20), "我对花生过敏；不吃香菜", ()),
        (None, "坏日子", ()),
        (None, "自由的一行 #共享", ((3, "自由的一行 #共享"),)),
    ]
    assert [len(talk) for talk in neighbours(cuts)] == [1, 1, 1]


def test_chunking_applies_day_and_sharing_only_to_their_own_line():
    cuts = chunk_note("memory.md", "2026-01-20|user|门锁密码 4071\n周末 #共享 的菜单", None, "long_term")
    assert [(chunk.passage.day, bool(chunk.passage.marked)) for chunk in cuts] == [(date(2026, 1, 20), False), (None, True)]


def test_chunking_marks_the_lines_of_a_paragraph_and_not_all_of_it():
    (chunk,) = chunk_note("memory.md", "- 护照号码是 E123\n  钥匙在信箱里 #shared\n  对青霉素过敏", None, "long_term")
    assert chunk.passage.marked == ((2, "钥匙在信箱里 #shared"),)
    (line,) = marked_lines(chunk.passage)
    assert (line.start, line.end, line.text, line.shared) == (2, 2, "钥匙在信箱里 #shared", True)


@pytest.mark.parametrize("around", ["{}", "一\n{}\n三", "# 药\n{}", "```\n{}\n```", "- 一\n  {}", "用户：一\n{}"])
@pytest.mark.parametrize("line", ["用户：钥匙 #shared", "- 钥匙 #shared", "2026-01-20|qq|钥匙 #shared", "钥匙 #shared"])
def test_chunking_marks_a_line_alike_whatever_stands_around_it(around, line):
    def marked(text):
        cuts = chunk_note("memory.md", text, None, "long_term")
        return [replace(one, start=1, end=1) for cut in cuts for one in marked_lines(cut.passage)]

    assert marked(around.format(line)) == marked(line) != []
    assert marked(around.format(f"# {line}")) == []


def test_chunking_shares_nothing_of_a_summary():
    for text in ("## 花生 #shared\n\n- 花生 #shared", f"## 花生\n\n{'- 花生 #shared' * 99}"):
        cuts = chunk_summary("memory/summary/2026-01-05.md", text, date(2026, 1, 5), Path("2026-01-05.md"))
        assert [one.passage.marked for one in cuts if one.passage.shared or one.passage.marked] == []


def test_chunking_makes_a_heading_without_content_a_chunk():
    assert [text for _, _, text, _, _ in _cut("# 花生过敏\n# 空\n- 一\n# 尾")] == ["花生过敏", "一", "尾"]


def test_chunking_splits_a_summary_at_its_headings():
    text = "---\nrecalld: '1'\n---\n\n## 部署\n\n超时改成 30 秒。\n\n## 家里\n\n交了房租。\n"
    cuts = chunk_summary("memory/summary/2026-01-15.md", text, DAY, Path("memory/summary/2026-01-15.md"))
    assert [(chunk.passage.start, chunk.passage.end, chunk.passage.tier) for chunk in cuts] == [
        (5, 7, "summary"),
        (9, 11, "summary"),
    ]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("花生\r\n过敏\r".encode(), "花生\n过敏\n"),
        ("花生".encode("utf-8-sig"), "花生"),
        ("我对花生过敏".encode("gb18030"), "我对花生过敏"),
        (b"caf\xe9 au lait", "caf\ufffd au lait"),
        ("信用卡丢了\r\n".encode("utf-16"), "信用卡丢了\n"),
        (b"\xff\xfe\xff", "\ufffd\ufffd\ufffd"),
        (b"", ""),
    ],
)
def test_decoded_reads_utf8_utf16_gb18030_and_invalid_bytes(data, text):
    assert decoded(data) == text


LINES = st.lists(
    st.one_of(
        st.sampled_from(["# 标题", "- 花生", "```", "---", "", "2026-01-20|user|过敏", "| 表 |", "user: 好"]),
        st.text(max_size=12),
    )
)


@given(LINES.map("\n".join))
def test_chunking_returns_ordered_chunks_without_overlap(text):
    lines = text.split("\n")
    last = 0
    for chunk in chunk_note("memory/a.md", text, DAY):
        assert isinstance(chunk, Chunk)
        assert last < chunk.passage.start <= chunk.passage.end <= len(lines)
        last = chunk.passage.end


def test_neighbours_are_not_parted_by_a_pause_of_more_than_half_an_hour():
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    chunks = [
        Chunk(
            Passage(path=str(n), start=1, end=1, text="嗯", tier="dated", at=noon + timedelta(minutes=at), message=str(n)),
            talk="",
        )
        for n, at in enumerate((0, 30, 61, 62))
    ]
    assert [[chunk.passage.message for chunk in talk] for talk in neighbours(chunks)] == [["0", "1"], ["2", "3"]]
