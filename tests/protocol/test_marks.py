"""The marks `#shared` and `#pin`: what has them, and that a machine's change sets none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.marks import is_shared, only_pinned, with_marks_of

LINES = st.lists(st.text(st.sampled_from("#共享置顶sharedpinSHARED ſ\t周六|爬山"), max_size=20), max_size=6)


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        ("钥匙在信箱里 #shared", True),
        ("钥匙在信箱里。#共享", True),
        ("- 2026-01-28|web-chat|#Shared keys", True),
        ("#sharedkeys", False),
        ("a#shared", False),
        ("# shared", False),
        ("2026-01-28|#shared|欠小周四十块", False),
        ("2026-01-28|irc:#shared|2026-01-29|x|#shared", True),
    ],
)
def test_is_shared_reads_the_words_of_a_line_and_not_its_source(line, marked):
    assert is_shared(line) is marked


@given(LINES, LINES)
def test_with_marks_of_keeps_a_mark_only_where_the_line_was_there(before, after):
    made = with_marks_of("\n".join(before), "\n".join(after)).split("\n")
    assert all(line in before for line in made if is_shared(line))
    assert len(made) == max(1, len(after))


@pytest.mark.parametrize(
    ("text", "pinned"),
    [
        ("# Always\ncall me Lin\n\n- no nuts\n# Other\npassport in the safe", ["call me Lin", "- no nuts"]),
        ("## 始终\n叫我小林\n### 吃的\n不吃花生\n## 别的\n护照在保险柜里", ["叫我小林", "不吃花生"]),
        ("护照在保险柜里 #pin\n花生 #置顶\n钥匙#pin\n密码是 #pinned", ["护照在保险柜里 #pin", "花生 #置顶"]),
        (
            "# Always\n2026-01-28|web-chat|a machine's line\n2026-01-28|cli|the owner's #pin",
            ["2026-01-28|cli|the owner's #pin"],
        ),
        ("2026-01-28|irc:#pin|I owe Mara", []),
        ("# Always\n```\n# no heading\nls\n```\n# End\nx", ["```", "# no heading", "ls", "```"]),
        ("```\n# Always\n```\nx", []),
        ("# Always open\nx\nAlways\ny", []),
        ("# ALWAYS #\r\nx\r\n", ["x\r"]),
    ],
)
def test_only_pinned_keeps_what_the_owner_pinned_in_its_place(text, pinned):
    lines = only_pinned(text).split("\n")
    assert [line for line in lines if line] == pinned
    assert all(line in ("", there) for line, there in zip(lines, text.split("\n"), strict=False))
