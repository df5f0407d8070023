"""The slug in the name of a dated file: its most telling words, Chinese ones in pinyin (003, 记忆文件命名与 slug 规则)."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Final

from ..protocol.paths import SLUG_CHARS
from ..text.chinese import cut_whole, han_frequency, is_noun, pinyin, to_simplified
from ..text.lazy_re import lazy_re
from ..text.redact import names_secret, redacted
from ..text.secret_labels import SECRET_STEMS
from ..text.tokenizer import HAN, latin_words, stem
from ..text.word_frequency import is_known, rarity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

_MOST_WORDS: Final = 3
#: What a Latin word is worth that occurs once on a day of Chinese: "用 Zoom 上课".
_STRAY: Final = 0.75
_NO_PEOPLE: Final = frozenset({"assistant", "system", "tool"})
#: Characters of a message that its slug is made from, and how many after them show whether they are a secret.
_SLUG_READS: Final = 20_000
_SLUG_MARGIN: Final = 4_000
#: Words that are joined are one, and one with a digit may be a password: plum-otter-1931, falcon9x.
_LATIN_WORD: Final = lazy_re(r"[a-z]{3,}(?:-[a-z]+)*")
#: The mark in the place of a secret; and a word that one may stand beside, though no label of one: "The new code:".
_HIDDEN: Final = "\0"
_LATIN_STEMS, _OTHER_STEMS = ("|".join(word for word in SECRET_STEMS if word.isascii() is latin) for latin in (True, False))
_SECRET: Final = lazy_re(
    rf"(?<![a-z])(?:(?:{_LATIN_STEMS}|combo)(?:s|word|code|phrase)?s?|wi-?fi|wlan)(?![a-z])|{_OTHER_STEMS}|门禁|門禁",
    re.IGNORECASE,
)
#: A sentence with its end, and the ends of one that the next completes: "New password:", "The wifi?"
_SENTENCE: Final = lazy_re(r"\s*\S.*?(?:[\n。！？；!?;]|\.(?=\s)|\Z)", re.DOTALL)
_GOES_ON: Final = (":", "：", "?", "？")
_HAN_RUN: Final = lazy_re(f"[{HAN}]+")
#: Pronouns and particles: a word with one of them is a piece of a sentence, such as 我会 and 哪些地方.
_NO_NOUN: Final = frozenset("我你您他她它这那哪谁是让吗呢吧啊呀")
#: Characters of no name: a word that jieba guessed with one of them is no word, such as 再试 and 想学.
_NO_NAME: Final = frozenset("在会要想把被和与跟对给找的地得了着过很都也就还不没来去说看听再试有")
#: Courtesies, feelings and words for anything: rare enough, and yet no subject of a day.
_NO_SUBJECT: Final = frozenset(
    """
    保持联系 联系 常联系 尝试 试试 感兴趣 兴趣 听起来 明白 收到 陪伴 陪聊 祝福 祝愿 鼓励 支持 期待 理解 努力 注意 事实 实时
    精神状态 心态 心情 情绪 压力 幸福感 新鲜感 方法 方面 方式 机会 能力 地方 时候 时间 持续时间 时间段 短时间 东西 事情 情况
    意思 内容 主题 问题 过程 效果 样子 感受 体验 经历 好办法 好主意 热情 充满热情 认真思考 解决问题 面对现实 朋友 有点 主意
    无法 太棒了 道理 大家 朋友们 早点休息 助手 别忘
    companion goodbye farewell favorite favourite suggestion recommendation recommend advice touch contact stay
    compliment complimented accompany accompanying encounter encountering overcome alleviate relieve relax relaxing relaxed
    calm calming deserve deserves grateful gratitude motivate motivated motivating motivation empowering rewarding
    refreshing inspiring frustrating frustrated boring bored upset unsure worried tired helpless lonely gloomy dislike
    omg yup bother bothering alright persist pursue pursuing profound intriguing shocked stunning homemade
    all-time energetic persistent tough heartwarming adorable kindness assistant handle decide decided consider difficulty
    experience understand encouragement encourage support cheerful enjoy enjoyable curious excellent vivid decent welcome
    nervous mischievous refreshed astonished ate eaten drank drove rode ridden sang sung swam flew flown threw thrown wore worn
    woke woken slept stuck struck hung fought gotten fallen
    try give seem recently lately quite sometimes besides seriously deeply succeed woohoo oops oof woah phew
    """.split()  # noqa: SIM905 - a list to be read, not a literal of quotes
)
#: English words that describe: delicious, grateful, overwhelmed.
_DESCRIBES: Final = lazy_re(
    r"[a-z]{2,}(?:[deimnu]|(?<=[aeul])l|(?<=[aeo])r)ous|[a-z]{3,}ful|[a-z]{5,}(?:[cdgiklnpstuvz]|(?<=e)r|(?<=l)m|(?<=o)w|(?<=is)h)ed"
)
#: They describe if they are words of everyday English (scattered); couscous, Mohammed and watershed are not.
_MAY_DESCRIBE: Final = lazy_re(r"[a-z]{3,}ous|[a-z]{5,}[^e]ed")


def slug_of(messages: Sequence[tuple[str, str]], length: int = SLUG_CHARS) -> str:
    """
    Return up to three of the most telling words of the messages (role, text) in kebab-case, "" when there are none.

    They are those of the people, and the assistant's only where the people have none. A word is more telling the more messages
    contain it and the rarer it is in its language; courtesies are not. Of Chinese, nouns and names count, in pinyin. A sentence
    that may tell a secret is left out, and so is all but the beginning of a very long message.
    """
    plain = list(_without_secrets(messages))
    of_people = [text for role, text in plain if role not in _NO_PEOPLE]
    return _most_telling(of_people, length) or _most_telling([text for role, text in plain if role in _NO_PEOPLE], length)


def slugs_of(days: Sequence[Sequence[tuple[str, str]]], length: int = SLUG_CHARS) -> list[str]:
    """Return the slug of each day."""
    return [slug_of(messages, length) for messages in days]


def _most_telling(texts: Sequence[str], length: int) -> str:
    counts: Counter[str] = Counter()
    for plain in texts:
        counts.update(dict.fromkeys([*_latin(plain, length // 2), *_han(plain)], 1))
    has_han = not all(map(str.isascii, counts))
    stray = {word: _STRAY for word, count in counts.items() if has_han and count == 1 and word.isascii()}
    # in the order of the words
    telling = {word: count**0.5 * _rarity(word) * stray.get(word, 1.0) for word, count in counts.items()}
    slug = ""
    for word in sorted((word for word in counts if telling[word] > 0), key=lambda word: -telling[word])[:_MOST_WORDS]:
        longer = f"{slug}-{word if word.isascii() else pinyin(word)}".strip("-")
        if len(longer) <= length:
            slug = longer
    return slug


def short_id(identity: str) -> str:
    """Return the first 8 letters and digits of an id, in lower case; of an id without any, 8 hex digits of its bytes."""
    plain = re.sub(r"[^a-z0-9]", "", identity.lower())
    return (plain or identity.encode("utf-8", "surrogatepass").hex() or "0")[:8]


def free_name(name_of: Callable[[str], str], slug: str, taken: Collection[str]) -> str:
    """Return the file name for *slug*; when it is taken, with ``-2``, ``-3`` … appended to the slug."""
    n, name = 1, name_of(slug)
    while name in taken:
        n += 1
        tail = f"-{n}"
        name = name_of(slug[: SLUG_CHARS - len(tail)].rstrip("-") + tail)
    return name


def _without_secrets(messages: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the messages without the sentences that may tell a secret: with a word for one, or after one that asks for it."""
    is_answer = False
    for role, text in messages:
        kept = ""
        for sentence in _SENTENCE.findall(_beginning(text)):
            has_word = _HIDDEN in sentence or names_secret(sentence) or _SECRET.search(sentence) is not None
            kept += "" if has_word or is_answer else sentence
            is_answer = has_word and sentence.rstrip().endswith(_GOES_ON)
        yield role, kept


def _beginning(text: str) -> str:
    """Return the beginning of the text with marks for its secrets, also for one that the limit would cut in two."""
    read = text[: _SLUG_READS + _SLUG_MARGIN]
    shown = redacted(read, _HIDDEN)
    after = max(0, len(read) - _SLUG_READS)  # a mark is never longer than its secret: not more than this comes from the margin
    return shown[: max(0, len(shown) - after)]


def _latin(text: str, longest: int) -> Iterator[str]:
    for found in latin_words(text):
        word = found.strip("-.").replace(".", "-").replace("_", "-")
        is_word = _LATIN_WORD.fullmatch(word) and len(word) <= longest
        if is_word and stem(word) not in _subjectless() and not _describes(word):
            yield word


def _describes(word: str) -> bool:
    return bool(_DESCRIBES.fullmatch(word) or (_MAY_DESCRIBE.fullmatch(word) and is_known(stem(word))))


def _han(text: str) -> Iterator[str]:
    """Yield the Chinese nouns of the text, and words of no dictionary that may be names."""
    for run in _HAN_RUN.findall(text):
        for word in cut_whole(to_simplified(run)):
            is_name = not (han_frequency(word) or _NO_NAME.intersection(word))
            is_telling = (is_name or is_noun(word)) and word not in _NO_SUBJECT
            if len(word) > 1 and is_telling and not _NO_NOUN.intersection(word):
                yield word


@cache
def _subjectless() -> frozenset[str]:
    """Return the stems of the English words that are no subject."""
    return frozenset(stem(word) for word in _NO_SUBJECT if word.isascii())


def _rarity(word: str) -> float:
    return rarity(stem(word) if word.isascii() else word)
