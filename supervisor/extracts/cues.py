"""
What a sentence tells, by its words: one table for both languages, of what changes a life, money, health, decisions, changes.

The table is data/cues.tsv. Numbers, dates, names and code are known by their shape. Which sentences an extract quotes is
decided in extract.py.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import Final, Literal

from ..text.language import HAN
from ..text.lazy_re import lazy_re, lines_of

Cue = Literal[
    "event", "decision", "change", "off", "amendment", "health", "money", "plan", "deed", "request", "result",
]  # fmt: skip

_WEEKDAY: Final = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_TABLE: Final = Path(__file__).parent / "data/cues.tsv"


def _cues() -> dict[str, tuple[re.Pattern[str], float]]:
    """Return the pattern of each cue, and what it adds to a sentence."""
    patterns, worth = defaultdict[str, list[str]](list), dict[str, float]()
    for cue, adds, pattern in (line.split("\t") for line in lines_of(_TABLE)):
        patterns[cue].append(pattern)
        worth[cue] = float(adds)
    return {cue: (lazy_re("|".join(patterns[cue]), re.IGNORECASE), worth[cue]) for cue in patterns}


_CUES: Final = _cues()
#: Code and addresses, and what else is data by its shape: titles, days, times and amounts in words, names.
_DATA: Final = lazy_re(
    r"\d|`[^`]+`|https?://|(?<!\w)[~.]?/\w+/|《[^》]+》|「[^」]+」|[\"“][^\"”]+[\"”]|周[一二三四五六日]|[一二三四五六七八九十][月号日点]"
    r"|[两三四五六七八九十百千万半]{2,}|[一两三四五六七八九十百千万半](?:个(?:半|月|小时|星期)|[天周年块元斤岁]|小时|分钟)"
    rf"|\b(?i:{_WEEKDAY}|(?:janu|febru)ary|april|june|july|august|(?:septem|octo|novem|decem)ber)\b"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|half an?|an?) (?:hour|day|week|month|year)s?\b"
    rf"|[{HAN}] ?(?!AI)[A-Za-z]{{2}}|(?<![A-Za-z])(?!AI)[A-Za-z]{{2,}} ?[{HAN}]|(?<=\w )(?!AI)[A-Z]\w*[a-z]\w*"
)
_DATA_WORTH: Final = 0.8
_SELF: Final = lazy_re(
    r"\b(?:I|me|my|mine|we|our|us|[Dd]ad|[Mm]u?m|[Gg]rand(?:ma|pa)|[Mm]other|[Ff]ather)\b"
    r"|[我咱]|自己|爸|妈|老[婆公伴]|儿子|女儿|闺女|孙[子女]"
)


def has_cue(text: str, *cues: Cue) -> bool:
    """True if the sentence has one of the cues."""
    return any(_CUES[cue][0].search(text) for cue in cues)


def cue_worth(text: str) -> float:
    """Return what the cues of a sentence add to its words, in words of the rarest kind."""
    return _DATA_WORTH * has_data(text) + sum(worth for cue, worth in _CUES.values() if worth and cue.search(text))


def has_data(text: str) -> bool:
    """True if the sentence has a number, a date, a name, a title or code."""
    return bool(_DATA.search(text))


def is_of_self(text: str) -> bool:
    """True if the sentence is about its speaker."""
    return bool(_SELF.search(text))
