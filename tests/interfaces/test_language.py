"""In which language commands and tools answer."""

from __future__ import annotations

import pytest

from recalld.supervisor.interfaces.language import spoken_language


@pytest.mark.parametrize(
    ("setting", "environ", "memory", "language"),
    [
        ("zh", {"LANG": "en_US.UTF-8"}, [], "zh"),
        ("en", {"LANG": "zh_CN.UTF-8"}, ["我对花生过敏"], "en"),
        ("auto", {"LANG": "zh_CN.UTF-8"}, [], "zh"),
        ("auto", {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, [], "en"),
        ("auto", {"LANG": "en_US.UTF-8"}, ["我对花生过敏"], "en"),
        ("auto", {"LANG": "de_DE.UTF-8"}, ["我对花生过敏"], "en"),
        ("auto", {"LC_ALL": "POSIX"}, ["我对花生过敏"], "zh"),
        ("auto", {}, ["我对花生过敏，点外卖要备注"], "zh"),
        ("auto", {"LANG": "C.UTF-8"}, ["I am allergic to peanuts"], "en"),
        ("auto", {}, [], "en"),
    ],
)
def test_spoken_language_is_the_setting_then_the_locale_then_the_memory(setting, environ, memory, language):
    assert spoken_language(setting, environ, memory) == language
