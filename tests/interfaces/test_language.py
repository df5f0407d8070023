"""In which language commands and tools answer."""

import pytest

from recalld.supervisor.host.lock import supervisor_lock
from recalld.supervisor.interfaces.wording import keep_language, setting_at, spoken_language
from tests.world import message

CHINESE = ("我对花生过敏", "周五修锅炉", "Rex is at the vet", "明天几点？")


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


@pytest.fixture
def old(world):
    """A workspace in which a supervisor has run; its recalld.toml has no language, and its memory is Chinese."""
    world.write([message(f"{n}", f"2026-01-3{n % 2}T09:00", text) for n, text in enumerate(CHINESE)])
    world.put("recalld.toml", "# 我的设置\n[recall]\nmax_hits = 3\n")
    with supervisor_lock(world.ws):
        pass
    world.reopen(world.paths.config.read_text(encoding="utf-8"))
    return world


def written(world) -> str:
    return world.paths.config.read_text(encoding="utf-8")


def test_keep_language_writes_chinese_once_where_no_locale_names_one(old):
    before = written(old)
    assert not keep_language(old.ws, {"LANG": "en_US.UTF-8"})
    assert written(old) == before
    assert keep_language(old.ws, {"LANG": "C.UTF-8"})
    assert written(old).endswith(f'language = "zh"\n\n{before}')
    old.put("recalld.toml", before)  # a person takes it out again
    old.reopen(before)
    assert not keep_language(old.ws, {"LANG": "C.UTF-8"})
    assert written(old) == before


def test_keep_language_leaves_an_english_memory_alone(old):
    old.write([message("a", "2026-01-31T09:00", "The boiler is serviced on Friday.")])
    before = written(old)
    assert not keep_language(old.ws, {})
    assert written(old) == before
