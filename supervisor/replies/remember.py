"""
What an answer may remember: the user's own words of this turn, and only where the user asks for it in them (003). Pure.

The model says that there is something to remember; what is written is not its words. So no text that memory brought in, and no
text that a model was talked into, becomes a line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..text.lazy_re import lazy_re
from ..text.llm_output import own_words

if TYPE_CHECKING:
    from collections.abc import Iterable

#: How a sentence begins in which a user asks to remember what follows.
_ASKS: Final = lazy_re(
    r"(?:and |also |then )?(?:please |pls |could you |can you |will you |i want you to )*"
    r"(?:remember|note(?: down)?|make a note|keep in mind|don['’]?t forget|write down|bear in mind)\b"
    r"(?:[ ,]+(?:please|this|the following))*[ ]*(?:[:：,][ ]*)?(?:that[ ]+)?(?P<en>.*)"
    r"|(?:(?:请|麻烦|那就|那|你|帮我|替我|给我|顺便|要|一定要|务必)[，,]?)*"
    r"(?:记住|记下来?|记一下|记好|记着|记牢|记得|别忘了?|不要忘了?|备忘)(?:一下|了|这个|这件事|这点)?[：:，, ]*(?P<zh>.*)",
    re.IGNORECASE | re.DOTALL,
)
_SENTENCE: Final = lazy_re(r"[^。！？!?\n]+?(?:[。！？!?]|[.](?=\s|\Z)|\n|\Z)", re.DOTALL)
_LEAST_CHARS: Final = 2


def asked_to_remember(texts: Iterable[str]) -> str:
    """
    Return what the user asks to remember in these words of the turn, "" where nothing.

    A sentence that only mentions it asks for nothing, nor does one in code or behind a sign of quotation.

    >>> asked_to_remember(["记住，我对花生过敏。明天几点开会？"]), asked_to_remember(["Do you remember the port?"])
    ('我对花生过敏', '')
    """
    found: list[str] = []
    for text in texts:
        for line in own_words(text):
            if line.lstrip().startswith((">", "》")):
                continue
            found += [_wanted(sentence.strip()) for sentence in _SENTENCE.findall(line)]
    return "；".join(filter(None, found))


def _wanted(sentence: str) -> str:
    match = None if sentence.endswith(("?", "？")) else _ASKS.match(sentence)
    words = (match["en"] or match["zh"] or "").strip(" .。!！,，:：") if match else ""
    return words if len(words) >= _LEAST_CHARS else ""
