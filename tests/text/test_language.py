"""The language of a text is that of most words, and what has nothing but courtesies is small talk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.text.language import GREETINGS, SKIP_CHARS, SKIP_PREFIXES, is_chitchat, is_small_talk, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("用 pnpm install 装依赖就行，别再用 npm 了", "zh"),
        ("ask 方阿姨 about the rent before August", "en"),
        ("猫がいます。東京に行きました。", "en"),
        (
            "看了《となりのトトロ》这部电影，画面特别温柔，配乐也特别好听，推荐给所有喜欢夏天和乡下的朋友，周末带孩子去看最合适不过了，真的，画得太好了，看完整个人都安静下来了，晚上还想再看一遍",
            "zh",
        ),
        ("", "en"),
        ("https://example.org/a/b 打不开", "zh"),
        ("React useEffect dependency array 漏了 userId，改成 useMemo", "zh"),
    ],
)
def test_language_of_returns_the_language_of_most_words(text, language):
    assert language_of(text) == language


@pytest.mark.feature("000.21")
def test_skip_prefixes_contains_the_41_original_entries():
    assert len(SKIP_PREFIXES) == 41
    assert {"好的", "666", "👍", "got it", "确实"} < set(SKIP_PREFIXES)


@pytest.mark.feature("000.22")
@pytest.mark.parametrize(
    "text", ["对花生过敏", "no dairy", "行程改到周五", "行李丢了", "好的，我来帮你分析一下", "好的好的好的好的好的", "虾"]
)
def test_is_chitchat_rejects_text_with_further_content(text):
    assert not is_chitchat(text)


@pytest.mark.feature("000.22")
@given(st.lists(st.sampled_from(SKIP_PREFIXES), min_size=1, max_size=6).map(" ".join))
def test_is_chitchat_accepts_courtesies_up_to_eight_characters_only(text):
    assert is_chitchat(text) == (len(text) <= SKIP_CHARS)


@given(st.lists(st.sampled_from((*GREETINGS, *SKIP_PREFIXES)), min_size=1, max_size=4).map("，".join))
def test_is_small_talk_accepts_several_greetings_and_courtesies(text):
    assert is_small_talk(text)
    assert is_small_talk(f"{text.upper()}！😀")


@pytest.mark.parametrize(
    "text",
    ["早餐吃了什么", "hi-fi 音箱", "你好像说过", "再见面是哪天", "会议几点，谢谢", "继续", "可以吗", "the lot", "666房间"],
)
def test_is_small_talk_rejects_a_question_beside_a_greeting(text):
    assert not is_small_talk(text)
