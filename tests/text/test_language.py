import pytest

from recalld.supervisor.text.language import language_of, language_of_sentences


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("用 pnpm install 装依赖就行，别再用 npm 了", "zh"),
        ("ask 方阿姨 about the rent before August", "en"),
        ("The gateway demo is due on Friday.", "en"),
        ("猫がいます。東京に行きました。", "en"),
        (
            "看了《となりのトトロ》这部电影，画面特别温柔，配乐也特别好听，推荐给所有喜欢夏天和乡下的朋友，周末带孩子去看最合适不过了，真的，画得太好了，看完整个人都安静下来了，晚上还想再看一遍",
            "zh",
        ),
        ("", "en"),
        ("好", "zh"),
        ("https://example.org/a/b 打不开", "zh"),
        ("ask bob@example.org 在哪", "en"),
    ],
)
def test_language_of_returns_the_language_of_most_words(text, language):
    assert language_of(text) == language


CODE = "def restore(path):\n    data = open(path).read()\n    return data.splitlines()\n" * 9


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (["备份脚本写好了，你看看。", f"```python\n{CODE}```"], "zh"),
        ([f"跑一下 `{'rsync --archive --delete ' * 9}`，然后告诉我结果"], "zh"),
        (["恢复失败了：\n\n    Traceback (most recent call last):\n      OSError: no space left on device"], "zh"),
        (["Thanks. It works. 明天体检。", "See you."], "en"),
        (["我今天去爬山了。累坏了。", "An English paragraph of many more words than that, about a mountain and a hut"], "zh"),
        (["the spare key is at Priya's", "一万二千八"], "en"),
        ([f"```\n{CODE}```"], "en"),
        ([], "en"),
    ],
)
def test_language_of_sentences_is_that_of_most_of_them_code_aside(texts, language):
    assert language_of_sentences(texts) == language
