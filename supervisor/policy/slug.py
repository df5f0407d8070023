"""The words in a dated file's name (003, 记忆文件命名与 slug 规则)."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from supervisor.text.rarity import rarity
from supervisor.text.redact import redacted
from supervisor.text.words import latin_words, stem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

LENGTH: Final = 32  # characters; 003
_WORDS: Final = 3
_WORD: Final = re.compile(r"[a-z][a-z0-9]{2,}(?:-[a-z0-9]+)*")


def slug_of(texts: Sequence[str], length: int = LENGTH) -> str:
    """
    Return up to three of the most telling Latin words of the messages in kebab-case, "" where there are none.

    A word tells more the more messages hold it and the rarer it is in the language; what looks like a secret is left out.
    """
    counts: Counter[str] = Counter()
    first: dict[str, int] = {}
    for n, text in enumerate(texts):
        for word in {w.strip("-.").replace(".", "-").replace("_", "-") for w in latin_words(redacted(text))}:
            if _WORD.fullmatch(word) and len(word) <= length // 2:
                counts[word] += 1
                first.setdefault(word, n)
    telling = {word: count**0.5 * rarity(stem(word)) for word, count in counts.items()}
    best = sorted((word for word in counts if telling[word] > 0), key=lambda word: (-telling[word], first[word], word))
    slug = ""
    for word in best[:_WORDS]:
        longer = f"{slug}-{word}".strip("-")
        if len(longer) <= length:
            slug = longer
    return slug


def short_id(identity: str) -> str:
    """Return the first 8 letters and digits of an id, in lower case; of one that has none, those of its code points."""
    plain = re.sub(r"[^a-z0-9]", "", identity.lower())
    return (plain or identity.encode("utf-8", "surrogatepass").hex() or "0")[:8]


def unique(name_of: Callable[[str], str], slug: str, taken: Collection[str]) -> str:
    """Return the name for *slug*, with ``-2``, ``-3`` … behind it where that day already has the name."""
    n, name = 1, name_of(slug)
    while name in taken:
        n += 1
        tail = f"-{n}"
        name = name_of(slug[: LENGTH - len(tail)].rstrip("-") + tail)
    return name
