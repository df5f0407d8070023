"""What is recognized as a secret, and what is not."""

from __future__ import annotations

import pytest

from supervisor.text.redact import redacted


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("密码是 Hunter2demo 别忘了", "Hunter2demo"),
        ("密码：xiaomao2024", "xiaomao2024"),
        ("password: hunter2-demo", "hunter2-demo"),
        ("api_key = 'abcd1234efgh'", "abcd1234efgh"),
        ("用这个 sk-proj_abcdefghijklmnop12345", "abcdefghijklmnop"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnop"),
        ("https://me:letmein@git.example.com/x.git", "letmein"),
        ("卡号 6222 0212 3456 7890 123", "6222 0212"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl", "eyJzdWIi"),
        ("发到 xiaowang@example.com 吧", "xiaowang"),
    ],
)
def test_redacted_removes_a_secret(text, secret):
    assert secret not in redacted(text)


@pytest.mark.parametrize(
    "text", ["我对花生过敏。", "把 nginx 重启一下", "预算 3,200 元，2026-01-28 前付", "这个词是秘密", "版本 3.11.4"]
)
def test_redacted_keeps_plain_text(text):
    assert redacted(text) == text


def test_redacted_keeps_the_text_around_a_secret():
    assert redacted("登录 password: hunter2-demo 即可", "…") == "登录 … 即可"


def test_redacted_ends_a_secret_at_chinese_punctuation():
    assert redacted("密码是 Hunter2demo，周五改端口 8443。", "…") == "…，周五改端口 8443。"


def test_redacted_removes_matches_of_user_patterns():
    assert redacted("工号 QX-2291 的柜子密码照旧", "[已隐去]", [r"QX-\d+", "x*"]) == "工号 [已隐去] 的柜子密码照旧"


@pytest.mark.parametrize("word", ["字", "a.", "aB+", "eyJ-", "sk-", "密码", "a@", "1 ", "://a:"])
@pytest.mark.timeout(60)
def test_redacted_finds_a_secret_after_a_word_of_300000_characters(word: str) -> None:
    """A quadratic rule takes minutes, as it did for a pasted file; bench/promises.py compares the work for twice the text."""
    found = redacted(word * (300_000 // len(word)) + "\npassword: hunter2-demo 即可", "…")
    assert "hunter2" not in found
    assert found.endswith("… 即可")
