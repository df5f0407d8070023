"""In which language commands and tools answer."""

from __future__ import annotations

import pytest

from recalld.supervisor.interfaces.language import newest_words, spoken_language
from tests.world import message


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
        ("auto", {}, ["an English article, pasted: " + "word " * 500, "明天几点？", "好的"], "zh"),
        ("auto", {}, [], "en"),
    ],
)
def test_spoken_language_is_the_setting_then_the_locale_then_the_memory(setting, environ, memory, language):
    assert spoken_language(setting, environ, memory) == language


def test_language_of_a_memory_is_that_of_most_of_its_newest_days(world):
    """While history.json is empty, one Chinese day turned the sentences of an English memory Chinese."""
    for day in range(20, 28):
        text = "Rex the dog is at the vet, and the boiler is serviced on Friday."
        world.add(message(f"{day}", f"2026-01-{day}T09:00", text if day < 27 else "雷克斯在看兽医，星期五修锅炉。"))
        world.settle()
    assert spoken_language("auto", {}, newest_words(world.ws)) == "en"
    world.write([])
    assert spoken_language("auto", {}, newest_words(world.ws)) == "en"
    world.write([message("x", "2026-01-30T09:00", "星期五修锅炉，记得在家。")])
    assert spoken_language("auto", {}, newest_words(world.ws)) == "zh"
