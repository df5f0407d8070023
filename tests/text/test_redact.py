"""What is recognized as a secret however it is written; which forms are known is in test_secret_forms."""

from __future__ import annotations

import pytest

from recalld.supervisor.text.redact import redacted


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("口令＝ａｂｃ１２３", "ａｂｃ１２３"),
        ("发到 ｚｈａｎｇ＠ｅｘａｍｐｌｅ．ｃｏｍ", "ｚｈａｎｇ"),
        ("卡号6222021234567890123", "6222021234"),
        ("卡号 6222\xa00212\xa03456\xa07890", "6222\xa00212"),
        ("密\u200b码：plum77", "plum77"),
        ("pass\xadword\u2060: pl\u200bum77 即可", "um77"),
    ],
)
def test_redacted_removes_a_secret(text, secret):
    assert secret not in redacted(text)


def test_redacted_ends_a_secret_at_chinese_punctuation():
    assert redacted("密码是 Hunter2demo，周五改端口 8443。", "…") == "密码是 …，周五改端口 8443。"


def test_redacted_keeps_what_stands_around_a_secret_without_width():
    assert (
        redacted("\u200b登\u200b录 密\u200b码：plum\ufeff77，\u200b即可", "…") == "\u200b登\u200b录 密\u200b码：…，\u200b即可"
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "word",
    [
        "字",
        "eyJ-",
        "密码",
        "://a:",
        "密\u200b码",
        "password for ",
        "|password|\n|--|\n",
    ],
)
def test_redacted_finds_a_secret_after_a_word_of_100000_characters(word: str) -> None:
    """A quadratic rule takes minutes, as it did for a pasted file; bench/promises.py compares the work for twice the text."""
    found = redacted(word * (100_000 // len(word)) + "\npassword: hunter2-demo 即可", "…")
    assert "hunter2" not in found
    assert found.endswith("… 即可")
