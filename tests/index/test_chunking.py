"""How memory files are split: messages, sections, entries of memory.md, list items and paragraphs of a person's notes."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.index.chunking import Chunk, chunk_note, neighbours

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


def _cut(text):
    return [
        (chunk.passage.start, chunk.passage.end, chunk.passage.text, chunk.passage.role, chunk.context)
        for chunk in chunk_note("memory/a.md", text, DAY)
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


def test_chunking_makes_a_heading_without_content_a_chunk():
    assert [text for _, _, text, _, _ in _cut("# 花生过敏\n# 空\n- 一\n# 尾")] == ["花生过敏", "一", "尾"]


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
