"""In which language commands and tools answer."""

import pytest

from recalld.supervisor.interfaces.wording import setting_at, spoken_language


@pytest.mark.parametrize(
    ("setting", "environ", "language"),
    [
        ("zh", {"LANG": "en_US.UTF-8"}, "zh"),
        ("auto", {"LANG": "zh_CN.UTF-8"}, "zh"),
        ("auto", {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ("auto", {"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        ("auto", {"LANG": "de_DE.UTF-8"}, "en"),
        ("auto", {"LANG": "C.UTF-8"}, "en"),
        ("auto", {}, "en"),
    ],
)
def test_spoken_language_is_the_setting_then_the_locale_then_english(setting, environ, language):
    assert spoken_language(setting, environ) == language


@pytest.mark.parametrize(
    ("toml", "environ", "language"),
    [
        (b'x = 1\nlanguage = "zh"\n[recall]\nmax_hit = 3\n', {}, "zh"),
        (b'language = "zh"\n[recall\n', {}, "auto"),
        (b'[recall]\nlanguage = "zh"\n', {}, "auto"),
        (b'language = "zh"', {"RECALLD_LANGUAGE": "en"}, "en"),
        (b"\xff\x00", {"RECALLD_LANGUAGE": "zh"}, "zh"),
    ],
)
def test_language_of_a_closed_workspace_is_read_from_its_file(tmp_path, toml, environ, language):
    (tmp_path / "recalld.toml").write_bytes(toml)
    assert setting_at(tmp_path, environ) == language


def test_language_without_a_workspace_is_that_of_the_locale(tmp_path):
    assert setting_at(tmp_path / "missing", {}) == "auto"
