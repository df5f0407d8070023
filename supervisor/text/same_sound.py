"""
Chinese characters that sound alike, whatever their tone: what people type in place of one another.

data/same_sound.txt has those of common words, one line for each sound, so that a one-shot command need not load pypinyin.
script/same-sound makes it with pypinyin (THIRD_PARTY.md).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path


def sounding_like(char: str) -> str:
    """
    Return the common characters that sound like a Chinese character, without itself.

    >>> "检" in sounding_like("捡"), sounding_like("a")
    (True, '')
    """
    sounds = _sounds()
    at = sounds.find(char)
    return sounds[sounds.rfind("\n", 0, at) + 1 : sounds.find("\n", at)].replace(char, "") if at >= 0 else ""


@cache
def _sounds() -> str:
    return (Path(__file__).parent / "data/same_sound.txt").read_text(encoding="utf-8")
