"""Whether a file that another program wrote already contains a message."""

from __future__ import annotations

import pytest

from recalld.supervisor.archive.intake import contains_message

WORDS = "我对花生过敏"


@pytest.mark.parametrize("text", ["", "我对花生过敏吗", "他说我对花生过敏", f"{WORDS}，还有芒果", "我对花生\n过敏"])
def test_contains_message_ignores_text_inside_other_text(text):
    assert not contains_message(WORDS, text)


@pytest.mark.parametrize("words", ["", "  \n"])
def test_contains_message_returns_false_for_an_empty_message(words):
    assert not contains_message(words, "什么都有\n\n")
