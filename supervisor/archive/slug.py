"""The slug in the name of a dated file: its most telling words, Chinese ones in pinyin (003, 记忆文件命名与 slug 规则)."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from supervisor.protocol.paths import SLUG_CHARS
from supervisor.text.chinese import cut_whole, han_frequency, is_noun, pinyin, to_simplified
from supervisor.text.redact import redacted
from supervisor.text.tokenizer import HAN, latin_words, stem
from supervisor.text.word_frequency import rarity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

_MOST_WORDS: Final = 3
#: Characters of a message that its slug is made from, and how many after them show whether they are a secret.
_SLUG_READS: Final = 20_000
_SLUG_MARGIN: Final = 4_000
_LATIN_WORD: Final = re.compile(r"[a-z][a-z0-9]{2,}(?:-[a-z0-9]+)*")
_HAN_RUN: Final = re.compile(f"[{HAN}]+")
#: Pronouns and particles: a word with one of them is a piece of a sentence, such as 我会 and 哪些地方.
_NO_NOUN: Final = frozenset("我你您他她它这那哪谁是让吗呢吧啊呀")
#: Characters of no name: a word that jieba guessed with one of them is no word, such as 再试 and 想学.
_NO_NAME: Final = frozenset("在会要想把被和与跟对给找的地得了着过很都也就还不没来去说看听再试有")


def slug_of(texts: Sequence[str], length: int = SLUG_CHARS) -> str:
    """
    Return up to three of the most telling words of the messages in kebab-case, "" when there are none.

    A word is more telling the more messages contain it and the rarer it is in its language. Of Chinese, nouns and names count,
    in pinyin. Text that looks like a secret is left out, and so is all but the beginning of a very long message.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        plain = _beginning(text)
        counts.update(dict.fromkeys([*_latin(plain, length // 2), *_han(plain)], 1))
    telling = {word: count**0.5 * _rarity(word) for word, count in counts.items()}  # in the order of the words
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


def _beginning(text: str) -> str:
    """Return the beginning of the text without its secrets, also without one that the limit would cut in two."""
    read = text[: _SLUG_READS + _SLUG_MARGIN]
    shown = redacted(read)
    after = max(0, len(read) - _SLUG_READS)  # a mark is never longer than its secret: not more than this comes from the margin
    return shown[: max(0, len(shown) - after)]


def _latin(text: str, longest: int) -> Iterator[str]:
    for found in latin_words(text):
        word = found.strip("-.").replace(".", "-").replace("_", "-")
        if _LATIN_WORD.fullmatch(word) and len(word) <= longest:
            yield word


def _han(text: str) -> Iterator[str]:
    """Yield the Chinese nouns of the text, and words of no dictionary that may be names."""
    for run in _HAN_RUN.findall(text):
        for word in cut_whole(to_simplified(run)):
            is_name = not (han_frequency(word) or _NO_NAME.intersection(word))
            if len(word) > 1 and (is_name or is_noun(word)) and not _NO_NOUN.intersection(word):
                yield word


def _rarity(word: str) -> float:
    return rarity(stem(word) if word.isascii() else word)
