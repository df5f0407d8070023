import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recalld.supervisor.text import word_frequency
from recalld.supervisor.text.tokenizer import tokens


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("我对花生过敏，周棠也是", "花生"),
        ("装的是 Python 3.11，不是 3.12", "3.11"),
        ("这段用 C++ 写，那段用 C#", "C++ 的那段"),
        ("改了 retryBackoff 的默认值", "backoff"),
        ("车开了 58,320 公里", "58320"),
        ("ＮＡＳ　端口２２２２", "nas 2222"),
        ("猫がいます、カメラも", "カメラ"),
        ("Встретимся в Москве, в кафе «Пушкин»", "пушкин"),
        ("we deployed it yesterday 部署好了", "deploying"),
        ("Caroline’s cat 叫 Oliver", "Caroline"),
        ("旧手机 iPhone15 卖了", "iphone 的价钱"),
    ],
)
def test_tokenizer_shares_a_token_between_a_text_and_its_question(said, asked):
    assert set(tokens(asked)) & set(tokens(said))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("这是我的，and it was the one that I've had, don't", "one"),  # without the stop words of both languages
        ("gpt-4o-mini 2026-06-20", "gpt-4o-mini gpt 4o mini 2026-06-20"),  # a compound has parts, a date has none
        ("Wi-Fi 和 gpt-4o-mini", "wi-fi wi fi wifi gpt-4o-mini gpt 4o mini"),  # a short word with a hyphen is also one word
        ("PostgreSQL16 a12 G1375", "postgresql16 postgresql 16 a12 g1375"),  # a name is also without its number
    ],
)
def test_tokenizer_drops_stop_words_and_splits_compounds_and_names(text, found):
    assert tokens(text) == found.split()


@given(st.text())
def test_tokenizer_returns_tokens_without_whitespace_for_any_text(text):
    found = tokens(text)
    assert found == tokens(text)
    assert all(word and word == word.strip() and len(word.split()) == 1 for word in found)


@given(st.text(alphabet="备份过敏花生abcAB 123.-", max_size=30))
def test_tokenizer_ignores_case(text):
    if not any(a.islower() and b.isupper() for a, b in pairwise(text)):  # camelCase has parts
        assert tokens(text.upper()) == tokens(text.lower())


GUESSING = "from recalld.supervisor.text.tokenizer import spelled; print([token for _, token in spelled('小宇备份')])"


def test_jieba_guesses_silently_and_caches_nothing(tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path), "HOME": str(tmp_path), "PYTHONUTF8": "1"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", GUESSING], capture_output=True, text=True, check=True, env=env)
    assert (done.stdout, done.stderr) == ("['小宇', '备份']\n", "")
    assert list(tmp_path.iterdir()) == []


@given(st.text(st.characters(max_codepoint=0x7F)))
@example("C++ and C# don't cost 1,200.5: v3.11, node_modules")
def test_tokens_of_a_text_in_ascii_are_those_beside_another_script(text):
    assert [*tokens(text), "naif"] == tokens(f"{text} naïf")


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("Το συρτάρι", "συρταρι"),
        ("kırmızı", "kirmizi"),
        ("İzmir'de", "izmir"),
        ("أحمد", "احمد"),
        ("كَلْبِي", "كلبي"),
        ("Parkstraße", "parkstrasse"),
        ("सड़क", "सड़क"),
        ("l’oncle", "oncle"),
    ],
)
def test_tokens_are_the_same_with_marks_and_without(said, typed):
    assert {*tokens(typed)} <= {*tokens(said)}


def test_ranks_of_stems_are_those_of_the_lists_of_words():
    table = word_frequency._STEM_RANKS.read_text(encoding="ascii")
    assert table == runpy.run_path(str(Path(__file__).parents[2] / "script/stem-ranks"))["table"]()
