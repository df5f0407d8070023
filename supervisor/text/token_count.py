"""
An estimate of how many tokens a text has, without a model's tokeniser; it is more often too high than too low.

The weights were fitted to Qwen's tokeniser on Chinese and English conversation and code. For a model with cheaper Chinese
characters, `tokens.cjk_weight` can be lowered by the server's usage figures. Source: recall.md.
"""

from __future__ import annotations

import math
from typing import Final

from .lazy_re import lazy_re
from .tokenizer import HAN, KANA

#: Tokens that the chat template adds to each message.
MESSAGE_TOKENS: Final = 4
#: Letters of a Latin word per token; common words have more, names and slang hardly this many.
_WORD_LETTERS: Final = 5
_KEY_LETTERS: Final = 1.5  # the same for letters next to digits: hex, keys, ids
_ASCII_MARK: Final = 0.8  # a bracket, operator or comma; two of them are often one token
_LINE_BREAK: Final = 1.0  # together with blank lines around it; an indent is one more
_LETTER: Final = 1.0  # of another script
_SIGN: Final = 3.0  # an emoji, a control character: up to one token a byte
_PIECE: Final = lazy_re(
    rf"(?P<cjk>[{HAN}{KANA}\u3000-\u303f\uff00-\uffef\uac00-\ud7a3]+)|(?P<key>(?<=[0-9])[A-Za-z]+|[A-Za-z]+(?=[0-9]))|(?P<word>[A-Za-z]+)|(?P<digits>[0-9]+)"
    # one blank before a word belongs to the word's token; before a digit or a Han character it does not
    r"|(?P<lines>[ \t]*\n\s*)|(?P<blank>[ \t]{2,}|[ \t](?=[^\x21-\x2f\x3a-\x7e]))|(?P<mark>[!-/:-@\[-`{-~]+)"
    r"|(?P<letter>[^\W\d_])|(?P<sign>[^\x00-\x20\x7f])",
)


def estimate_tokens(text: str, cjk_weight: float = 1.0) -> int:
    """Return about how many tokens *text* is; *cjk_weight* is the cost of one Chinese, Japanese or Korean character."""
    return whole_tokens(token_cost(text, cjk_weight))


def whole_tokens(cost: float) -> int:
    """Return the cost rounded up, without rounding up the error of adding floats."""
    return math.ceil(round(cost, 6))


def token_cost(text: str, cjk_weight: float = 1.0) -> float:
    """
    Return the estimate before rounding, so that the costs of parts can be added.

    The cost of a text is the sum of the costs of its parts if each but the first begins with a single blank.

    >>> round(token_cost("Gruyère") + token_cost(" 3 kg") - token_cost("Gruyère 3 kg"), 6)
    0.0
    """
    total = 0.0
    for match in _PIECE.finditer(text):
        length = match.end() - match.start()
        match match.lastgroup:
            case "cjk":
                total += length * cjk_weight
            case "word":
                total += max(1.0, length / _WORD_LETTERS)
            case "key":
                total += max(1.0, length / _KEY_LETTERS)
            case "digits":
                total += length
            case "mark":
                total += max(1.0, length * _ASCII_MARK)
            case "lines":
                total += _LINE_BREAK + match[0].endswith("  ")
            case "blank":
                total += 1
            case "letter":
                total += _LETTER
            case _:
                total += _SIGN
    return total
