"""Whether words stand in a file that another program kept."""

from __future__ import annotations

import pytest

from supervisor.archive.identity import standing_in

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
def test_words_that_stand_whole_behind_a_label_are_found(text):
    assert standing_in(WORDS, text)


@pytest.mark.parametrize("text", ["", "我对花生过敏吗", "他说我对花生过敏", f"{WORDS}，还有芒果", "我对花生\n过敏"])
def test_words_inside_other_words_are_not(text):
    assert not standing_in(WORDS, text)


def test_words_of_several_lines_are_found_whole_only():
    words = "第一行\n\n第二行"
    assert standing_in(words, f"user: {words}\n")
    assert standing_in(words.replace("\n", "\r\n"), words)
    assert not standing_in(words, "第一行\n第二行")


@pytest.mark.parametrize("words", ["", "  \n"])
def test_no_words_stand_nowhere(words):
    assert not standing_in(words, "什么都有\n\n")
