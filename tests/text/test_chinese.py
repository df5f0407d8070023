"""Chinese words: those of jieba, and the same from traditional and simplified characters."""

import re
from functools import cache

import jieba
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.text import chinese
from recalld.supervisor.text.chinese import MappedDictionary, cut_for_search, han_frequency, to_simplified
from recalld.supervisor.text.language import HAN
from recalld.supervisor.text.tokenizer import spelled, tokens

#: What people write, and what cuts badly: names, ambiguous runs, words of one character, rare characters.
WRITTEN = (
    "我对花生过敏", "备份脚本上传失败", "微信读书的书架和阅读偏好", "张伟和欧阳娜娜", "南京市长江大桥", "研究生命起源",
    "乒乓球拍卖完了", "结婚的和尚未结婚的", "他说的确实在理", "猫", "中华人民共和国", "䶮𠮷㗎", "々〇", "备份备份备份",
    "人人人人", "一二三四五六七八九十",
)  # fmt: skip


@cache
def by_jieba() -> jieba.Tokenizer:
    jieba.setLogLevel(60)
    tokenizer = jieba.Tokenizer()
    tokenizer.initialize()
    return tokenizer


def jieba_cut_for_search(run: str) -> list[str]:
    return by_jieba().lcut_for_search(run, HMM=False)


@pytest.fixture(scope="module")
def mapped() -> MappedDictionary:
    return chinese._mapped()


def test_mapped_dictionary_has_the_frequency_of_the_han_words_of_jieba(mapped):
    known = {word: often for word, often in by_jieba().FREQ.items() if re.fullmatch("[\u4e00-\u9fd5]+", word)}
    assert len(known) > 400_000
    assert [word for word in [*known][::20] if mapped.frequency(word) != known[word]] == []
    assert by_jieba().total == chinese._TOTAL


@pytest.mark.parametrize("run", WRITTEN)
def test_jieba_and_the_mapped_dictionary_cut_written_text_alike(run, mapped):
    assert mapped.cut_for_search(run) == jieba_cut_for_search(run)


@given(st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1, max_size=12))
def test_cut_for_search_covers_the_run_and_agrees_with_jieba(run):
    assert set("".join(cut_for_search(run))) == set(run)
    assert sorted(cut_for_search(run)) == sorted(jieba_cut_for_search(run) if len(run) > 1 else [run])


@pytest.mark.parametrize(
    ("traditional", "plain"),
    [
        ("我對花生過敏", "我对花生过敏"),
        ("這個軟體裝不起來", "这个软件装不起来"),
        ("網路斷線，印表機也壞了", "网络断线，打印机也坏了"),
        ("臺灣的計程車", "台湾的出租车"),
    ],
)
def test_tokenizer_gives_traditional_and_simplified_text_equal_tokens(traditional, plain):
    assert tokens(traditional) == tokens(plain)


@pytest.mark.parametrize("text", ["备份软件上传失败", "皇后在后院晒干", "以后只有干面", "台风云里雾里", "猫がいます、東京へ"])
def test_to_simplified_keeps_simplified_text_unchanged(text):
    kept = "".join(re.findall(f"[{HAN}]", text)).replace("東", "东")
    assert "".join(map(to_simplified, re.findall(f"[{HAN}]+", text))) == kept


@given(st.text(alphabet="備份備软軟體件網路硬碟里裡裏後后乾干发發髮，a ", max_size=20))
def test_to_simplified_is_idempotent(text):
    once = [to_simplified(run) for run in re.findall(f"[{HAN}]+", text)]
    assert [to_simplified(run) for run in once] == once


def test_spelled_returns_the_written_word_with_its_simplified_token():
    assert list(spelled("備份腳本，备份脚本")) == [*(("備份", "备份"), ("腳本", "脚本")), *(("备份", "备份"), ("脚本", "脚本"))]
    assert han_frequency("备份") > 0


def test_to_simplified_leaves_lone_surrogates_as_they_are():
    assert to_simplified("備份\ud800軟體\udfff") == "备份\ud800软件\udfff"
