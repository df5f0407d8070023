"""In which language commands and tools answer."""

from __future__ import annotations

import pytest

from recalld.supervisor.interfaces.wording import language_key, spoken_language


@pytest.mark.parametrize(
    ("setting", "environ", "language"),
    [
        ("zh", {"LANG": "en_US.UTF-8"}, "zh"),
        ("en", {"LANG": "zh_CN.UTF-8"}, "en"),
        ("auto", {"LANG": "zh_CN.UTF-8"}, "zh"),
        ("auto", {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ("auto", {"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        ("auto", {"LANG": "de_DE.UTF-8"}, "en"),
        ("auto", {"LC_ALL": "POSIX"}, "en"),
        ("auto", {"LANG": "C.UTF-8"}, "en"),
        ("auto", {}, "en"),
    ],
)
def test_spoken_language_is_the_setting_then_the_locale_then_english(setting, environ, language):
    assert spoken_language(setting, environ) == language


@pytest.mark.parametrize(
    ("toml", "environ", "language"),
    [
        (b'language = "zh"', {}, "zh"),
        ("# 注释\n\n  language='zh'  # 中文\n[recall\n".encode(), {}, "zh"),
        (b'x = 1\nlanguage = "zh"\n[recall]\nmax_hit = 3\n', {}, "zh"),
        (b'[recall]\nlanguage = "zh"\n', {}, "auto"),
        (b'language = "zh"', {"RECALLD_LANGUAGE": "en"}, "en"),
        (b"\xff\x00", {}, "auto"),
        (None, {"RECALLD_LANGUAGE": "zh"}, "zh"),
        (None, {}, "auto"),
    ],
)
def test_language_key_is_read_from_a_wrong_configuration(toml, environ, language):
    assert language_key(toml, environ) == language
