"""What of a worker's text may become a summary."""

from __future__ import annotations

import pytest

from supervisor.policy.gate import LONGEST, fault, says_nothing


@pytest.mark.parametrize(
    "text", ["无需记录", "无需记录。", "「无需记录」\n", "無需記錄！", "Nothing to record.", "**nothing to record**"]
)
def test_every_spelling_of_nothing_to_record_is_known(text):
    assert says_nothing(text)


@pytest.mark.parametrize("text", ["无需记录的事很多", "今天无需记录密码", "", "花生过敏"])
def test_a_text_that_merely_holds_the_words_is_a_text(text):
    assert not says_nothing(text)


@pytest.mark.parametrize("text", ["", "  \n\t", "---", "**", "。。。", "\u200b"])
def test_a_blank_text_is_no_summary(text):
    assert fault(text) == "empty"


@pytest.mark.parametrize(
    "text",
    [
        "花" * (LONGEST + 1),
        "---\nrecalld: 1\nkind: day\n---\n花生过敏",
        "## 部署\n<!-- recalld: made from -->\n- 2026-01-15-x.md · 1 · 0000000000000000",
        "花生\0过敏",
    ],
)
def test_a_text_that_is_too_long_or_forges_our_marks_is_refused(text):
    assert fault(text) == "refused"


@pytest.mark.parametrize("text", ["花" * LONGEST, "## 饮食\n\n用户对花生过敏。", "对\n\n---\n\n的", "- a"])
def test_an_honest_text_may_stand(text):
    assert fault(text) is None


def test_the_limit_is_the_callers():
    assert fault("花" * 201, 200) == "refused"
