import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.text.chinese import is_noun
from supervisor.text.tokenizer import latin_words, spelled, tokens
from supervisor.text.word_frequency import rarity


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("我对花生过敏，周棠也是", "花生"),
        ("我对花生过敏，周棠也是", "周棠是谁"),
        ("家里有一只猫", "猫"),
        ("装的是 Python 3.11，不是 3.12", "3.11"),
        ("这段用 C++ 写，那段用 C#", "C++ 的那段"),
        ("模型换成 gpt-4o-mini 了", "GPT-4o-mini"),
        ("周末去了 Café Müller", "cafe"),
        ("周末去了 Cafe Muller", "CAFÉ MÜLLER"),
        ("备份脚本在 /srv/backup/nightly.sh", "nightly 脚本"),
        ("改了 retryBackoff 的默认值", "backoff"),
        ("车开了 58,320 公里", "58320"),
        ("ＮＡＳ　端口２２２２", "nas 2222"),
        ("升级到 v0.3.1", "0.3.1"),
        ("猫がいます、カメラも", "カメラ"),
        ("다음 주에 서울에서 만나요", "서울"),
        ("Встретимся в Москве, в кафе «Пушкин»", "пушкин"),
        ("we deployed it yesterday 部署好了", "deploying"),
        ("Caroline’s cat 叫 Oliver", "Caroline"),
        ("家里Wi-Fi密码改了", "wifi"),
        ("家里wifi密码改了", "Wi-Fi"),
        ("the e-mail of 方阿姨", "email"),
        ("旧手机 iPhone15 卖了", "iphone 的价钱"),
        ("旧手机 iPhone 15 卖了", "iphone"),
        ("升级到 PostgreSQL 16 了", "PostgreSQL16"),
    ],
)
def test_what_was_said_is_found_by_the_words_it_is_asked_for(said, asked):
    assert set(tokens(asked)) & set(tokens(said))


def test_every_word_of_a_name_the_dictionary_lacks_meets_itself_in_another_sentence():
    assert set(tokens("秦朵")) <= set(tokens("老秦的女儿秦朵每天来喂猫"))


def test_stop_words_of_both_languages_are_dropped():
    assert tokens("这是我的，and it was the one that I've had, don't") == ["one"]


def test_words_come_in_order_with_their_duplicates():
    assert tokens("花生 rsync 花生") == ["花生", "rsync", "花生"]


def test_a_compound_is_found_whole_and_by_its_parts_a_date_only_whole():
    assert tokens("gpt-4o-mini 2026-06-20") == ["gpt-4o-mini", "gpt", "4o", "mini", "2026-06-20"]


def test_what_is_written_with_a_hyphen_by_some_is_a_word_of_one_piece_too():
    assert tokens("Wi-Fi 和 gpt-4o-mini") == ["wi-fi", "wi", "fi", "wifi", "gpt-4o-mini", "gpt", "4o", "mini"]


def test_a_name_with_its_number_is_found_in_two_pieces_too():
    assert tokens("PostgreSQL16 a12 G1375") == ["postgresql16", "postgresql", "16", "a12", "g1375"]


def test_latin_words_for_slugs_are_ascii_lower_case_and_unstemmed():
    assert latin_words("把 Café 部署到 the Cloudflare Workers, 3.11 的 Москва") == ["cafe", "cloudflare", "workers"]


def test_words_for_showing_keep_their_spelling_and_names_stay_whole():
    assert list(spelled("NAS 备份，better-sqlite3")) == [
        ("NAS", "nas"),
        ("备份", "备份"),
        ("better-sqlite3", "better-sqlite3"),
    ]


@given(st.text())
def test_any_text_has_words_without_blanks_and_the_same_twice(text):
    found = tokens(text)
    assert found == tokens(text)
    assert all(word and word == word.strip() and len(word.split()) == 1 for word in found)


@given(st.text(alphabet="备份过敏花生abcAB 123.-", max_size=30))
def test_folding_is_the_same_for_upper_and_lower_case(text):
    if not any(a.islower() and b.isupper() for a, b in pairwise(text)):  # camelCase has parts
        assert tokens(text.upper()) == tokens(text.lower())


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        (
            "from supervisor.text.tokenizer import latin_words; latin_words('部署 Cloudflare Workers')",
            {"jieba", "rjieba", "opencc", "Stemmer"},
        ),
        ("from supervisor.text.tokenizer import tokens; tokens('deployed, no Han here')", {"jieba", "rjieba", "opencc"}),
        ("from supervisor.text.small_talk import is_chitchat; is_chitchat('好的')", {"jieba", "rjieba", "opencc", "Stemmer"}),
        (
            "from supervisor.text.token_count import estimate; estimate('部署 Workers')",
            {"jieba", "rjieba", "opencc", "Stemmer"},
        ),
        (
            "from supervisor.text.language import language_of; language_of('部署 Workers')",
            {"jieba", "rjieba", "opencc", "Stemmer"},
        ),
    ],
)
def test_jieba_and_the_stemmer_are_loaded_only_where_they_are_needed(code, absent):
    probe = f"import sys; {code}; print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.split())
    assert not absent & loaded


def test_jieba_is_silent_and_keeps_its_cache_in_the_users_own_folder(tmp_path):
    probe = "from supervisor.text.tokenizer import spelled; print([token for _, token in spelled('备份脚本')])"
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path), "HOME": str(tmp_path), "PYTHONUTF8": "1"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", probe], capture_output=True, text=True, check=True, env=env)
    assert (done.stdout, done.stderr) == ("['备份', '脚本']\n", "")
    assert [path.relative_to(tmp_path).parts[:2] for path in tmp_path.rglob("jieba.cache")] == [("cache", "recalld")]


def test_without_a_cache_folder_the_words_are_the_same(tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    probe = "from supervisor.text.tokenizer import spelled; print([token for _, token in spelled('备份脚本')])"
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path), "HOME": str(tmp_path), "PYTHONUTF8": "1"}
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, env=env)
    assert (done.stdout, done.stderr) == ("['备份', '脚本']\n", "")
    assert list(tmp_path.iterdir()) == [tmp_path / "cache"]


def test_names_and_terms_are_rarer_than_things_and_those_than_courtesies():
    assert rarity("谢谢") < rarity("电影") < rarity("尿酸")
    assert rarity("thank") < rarity("backup") < rarity("rsync")


def test_a_noun_is_told_from_a_wrong_guess():
    assert [is_noun(word) for word in ("备份", "洗衣机", "得算")] == [True, True, False]
