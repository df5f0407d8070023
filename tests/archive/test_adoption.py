"""Whether a file that another program wrote already contains a message."""

from __future__ import annotations

import pytest

from recalld.supervisor.archive.intake import contains_message

WORDS = "我对花生过敏"


@pytest.mark.parametrize(
    "text",
    [
        WORDS,
        f"# 一月二十八日\n\n{WORDS}\n\n好的，记住了。",
        f"- 09:02 user: {WORDS}\n",
        f"[2026-01-28T09:02:00.000Z] user: {WORDS}\n",
        f"**用户**：{WORDS}\n",
        f"> {WORDS}",
        f"前面\n{WORDS}  \r\n后面",
    ],
)
def test_contains_message_finds_whole_text_after_a_label(text):
    assert contains_message(WORDS, text)


@pytest.mark.parametrize("text", ["", "我对花生过敏吗", "他说我对花生过敏", f"{WORDS}，还有芒果", "我对花生\n过敏"])
def test_contains_message_ignores_text_inside_other_text(text):
    assert not contains_message(WORDS, text)


@pytest.mark.parametrize("words", ["", "  \n"])
def test_contains_message_returns_false_for_an_empty_message(words):
    assert not contains_message(words, "什么都有\n\n")
