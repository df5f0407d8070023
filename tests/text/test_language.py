import pytest

from recalld.supervisor.text.language import language_of


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
