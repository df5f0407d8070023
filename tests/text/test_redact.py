"""What is recognized as a secret, and what is not."""

from __future__ import annotations

import pytest

from recalld.supervisor.text.redact import redacted


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("密码是 Hunter2demo 别忘了", "Hunter2demo"),
        ("api_key = 'abcd1234efgh'", "abcd1234efgh"),
        ("用这个 sk-proj_abcdefghijklmnop12345", "abcdefghijklmnop"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnop"),
        ("https://me:letmein@git.example.com/x.git", "letmein"),
        ("卡号 6222 0212 3456 7890 123", "6222 0212"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl", "eyJzdWIi"),
        ("发到 xiaowang@example.com 吧", "xiaowang"),
        ("the password for the bank is plum77", "plum77"),
        ("the password is now plum77", "plum77"),
        ('{"password": "two words plum77"}', "plum77"),
        ("密码是「two words plum77」", "plum77"),
        ("口令＝ａｂｃ１２３", "ａｂｃ１２３"),
        ("发到 ｚｈａｎｇ＠ｅｘａｍｐｌｅ．ｃｏｍ", "ｚｈａｎｇ"),
        ("密码改成了 plum77", "plum77"),
        ("wifi 密码我昨天换成 plum77", "plum77"),
        ("パスワードはplum77", "plum77"),
        ("das Passwort ist plum77", "plum77"),
        ("contraseña: plum", "plum"),
        ("PIN: 4821", "4821"),
        ("验证码482913，5 分钟内有效", "482913"),
        ("身份证 11010119900307123X", "11010119900307123"),
        ("卡号6222021234567890123", "6222021234"),
        ("卡号 6222\xa00212\xa03456\xa07890", "6222\xa00212"),
        ("Authorization: Bearer abcdefghijklmnopqrstuv", "abcdefghijklm"),
        ("密\u200b码：plum77", "plum77"),
        ("pass\xadword\u2060: pl\u200bum77 即可", "um77"),
    ],
)
def test_redacted_removes_a_secret(text, secret):
    assert secret not in redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "密码是多少？",
        "忘了密码，改天再说",
        "The tests pass in 3 minutes",
        "I pass by the pinboard",
        "192.168.100.200 到 192.168.100.250",
        "a bearer of news",
        "the secret of good soup is patience",
        "我把密码本放在抽屉里",
        "password managers for the family",
        "a token for each word",
        "👨‍👩‍👧‍👦 می‌خواهم",
    ],
)
def test_redacted_keeps_plain_text(text):
    assert redacted(text) == text


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
        "a.",
        "eyJ-",
        "密码",
        "1 ",
        "://a:",
        "密\u200b码",
        "密码改",
        "password for ",
        "ａ",
        "|password|\n|--|\n",
    ],
)
def test_redacted_finds_a_secret_after_a_word_of_100000_characters(word: str) -> None:
    """A quadratic rule takes minutes, as it did for a pasted file; bench/promises.py compares the work for twice the text."""
    found = redacted(word * (100_000 // len(word)) + "\npassword: hunter2-demo 即可", "…")
    assert "hunter2" not in found
    assert found.endswith("… 即可")
