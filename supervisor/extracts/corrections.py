"""
What takes something back that was said before, and what it takes back: "op moved to the 26th" the 19th, 不是 3 类 the grade.

Which words say so is in cues.py; how both are shown is decided in extract.py. Source: docs/reference/protocol.md, 6.8.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

from recalld.supervisor.extracts.candidates import JUST_BEFORE, NOBODY, NOUN
from recalld.supervisor.extracts.cues import amends, takes_back
from recalld.supervisor.extracts.replies import tells_figure
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import HAN, spelled
from recalld.supervisor.text.word_frequency import rarity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recalld.supervisor.extracts.candidates import Line

#: The rarity of the words that two sentences share, from which one may take the other back: one of them is a name or a noun,
#: and a number counts no more than this. A correction that names nothing means what was said just before.
_SHARED: Final = {"change": 1.2, "correction": 0.5}
_DIGITS: Final = 0.4
#: What it adds that a sentence names what it changes ("op moved to the 26th", "not 3,214"), where only one before it has that
#: and a figure; so many of the words are enough.
_NAMED: Final = 0.8
_FEW_WORDS: Final = 2
#: How far back it may lie, and for how many sentences each word is remembered.
_BACK: Final = timedelta(days=31)
_REMEMBERED: Final = 12
#: What two sentences may share and yet tell of different things: a day, a time, an amount, a unit, that something changes.
_NO_LINK: Final = lazy_re(
    r"\W*\w\W*|[a-z]{2}|[零〇一二两三四五六七八九十百千万半几\d.]+[岁个次天年月日号点分秒块元斤米]?|(?:周|星期|礼拜).|[今明后昨][天晚年早日]|[上中下]午|早上|晚上|[上下]周|[这上下本]月"
    r"|[改换减加涨降升退].|取消|推迟|延期|提前|顺延|更正|纠正|上线|下线|不是|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|januari|februari|march|april|june|juli|august|septemb|octob|novemb|decemb|today|tomorrow|tonight|noon|morn|afternoon|even|one|two|three|four|five|six|seven|eight|nine|ten|twelv|hundr|thousand"
    r"|correct|wrong|mistak|sorri|mean|meant|postpon|cancel|(?:re)?schedul|push|move|chang|instead|rather|actual"
)
#: What is moved to another time, and what a change says to be so no longer.
_MOVED: Final = lazy_re(
    rf"(\w+)(?: (?:is|was|got|been|has|have|now))* (?:moved|pushed|postponed|rescheduled|brought forward)\b"
    rf"|\b(?:moved|pushed|postponed|rescheduled) (?:the |my |our |his |her )?(\w+) (?:to|back|forward)\b"
    rf"|([{HAN}]{{2,8}}?)(?:又|也|已经|要)?(?:(?<!后)改[到成期在]|推迟|提前[到了，,]|延期|顺延|挪到)",
    re.IGNORECASE,
)
_DENIED: Final = lazy_re(
    r"\b(?:not|instead of|rather than) [£$€]?(\d[\d,.]{2,}|(?:grade|type|stage|level|size|room|gate|platform) \d+)"
    r"|不是 ?(\d[\d,.]{2,}|\d+ ?[类级型期度楼室栋])",
    re.IGNORECASE,
)
#: What changes only a figure of the same unit: 最后花了 780 the 860, and no 12 号.
_IN_THE_END: Final = lazy_re(rf"(?:提前|最后(?:是|花了?|一共)?) ?\d[\d.,]* ?([{HAN}]?)")
_UNIT: Final = lazy_re(rf"\d ?([{HAN}]?)")
_CLAUSE: Final = lazy_re(r"[，,。.;；：:!！\n]+(?!\d)\s*")


def taken_back(lines: Sequence[Line]) -> dict[int, int]:
    """
    Return by the place of each line that takes something back the place of what it takes back, which is taken back once.

    That is a person's line before it that names the same, and of these the one with which it shares most; a line that says of
    itself that it is a correction, and does not name what it puts right, means what was said just before. Where something was
    changed twice, the last change counts.
    """
    with_word: dict[str, deque[Line]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
    late: dict[int, int] = {}  # by what is taken back
    before: Line | None = None
    for line in lines:
        if not line.weight or line.role not in {"user", *NOBODY}:
            continue
        if not line.asked and (kind := takes_back(line.text)):
            able = _alike(line, kind, lines, with_word)
            best = max(able, key=lambda place: (able[place], place), default=-1)
            if kind == "correction" and before and _means(line, before):
                best = before.place
            if best >= 0:
                first = next((early for early, change in late.items() if change == best), best)
                if first not in able:  # the change before tells of something else
                    late.pop(first, None)
                    first = best
                late[first] = line.place
        for word in line.words:
            with_word[word].append(line)
        before = line
    return {change: early for early, change in late.items()}


def _alike(
    line: Line, kind: Literal["change", "correction"], lines: Sequence[Line], with_word: Mapping[str, Sequence[Line]]
) -> dict[int, float]:
    """Return by place the lines that name what this one takes back, and how rare the words are that they share."""
    names: dict[int, float] = defaultdict(float)
    worth: dict[int, float] = defaultdict(float)
    for word in line.words:
        for one in with_word.get(word, ()):
            if one.message != line.message and line.at - one.at <= _BACK:
                worth[one.place] += _DIGITS if word.isdigit() else rarity(word)
                names[one.place] = max(names[one.place], _naming(word))
    changed = _what_changes(line.text)
    meant = [place for place in worth if changed and _is_meant(lines[place], changed)]
    if len(meant) == 1:
        names[meant[0]] = max(names[meant[0]], NOUN)
        worth[meant[0]] += _NAMED
    far = JUST_BEFORE if amends(line.text) else _BACK
    able = {place for place in worth if names[place] >= NOUN and worth[place] >= _SHARED[kind]}
    if kind == "correction" and tells_figure(line.text):  # a number puts a number right
        able = {place for place in able if tells_figure(lines[place].text)}
    if in_the_end := _IN_THE_END.search(line.text):
        able = {place for place in able if in_the_end[1] in _UNIT.findall(lines[place].text)}
    return {place: worth[place] for place in able if line.at - lines[place].at <= far}


def _what_changes(text: str) -> frozenset[str]:
    """
    Return the words by which a change names what it changes: what is moved, else the number or grade that is so no longer.

    >>> _what_changes("op moved to the 26th"), _what_changes("it's 3,391 not 3,214")
    (frozenset({'op'}), frozenset({'3214'}))
    """
    moved = _MOVED.search(text)
    named = moved or _DENIED.search(text)
    words = {word for _, word in spelled(next(filter(None, named.groups()), ""))} if named else set[str]()
    is_noun = lambda word: not _NO_LINK.fullmatch(word) or (word.isascii() and word.isalpha())  # noqa: E731
    return frozenset(filter(is_noun, words) if moved else words)


def _is_meant(line: Line, words: frozenset[str]) -> bool:
    """Return whether the line says when or how much it is, of all that the *words* name, or of one of many."""
    shared = len(words.intersection(line.words))
    return tells_figure(line.text) and shared >= min(len(words), _FEW_WORDS)


def _naming(word: str) -> float:
    """Return how rare a noun or a name is; 0 where the word is a day, a number, or says that something changes."""
    return 0.0 if _NO_LINK.fullmatch(word) else rarity(word)


def _means(line: Line, before: Line) -> bool:
    """Return whether a correction means the line just *before* it, since what it puts right has no name: "no, it was 281"."""
    clauses = _CLAUSE.split(line.text)
    figure = next((clause for clause in clauses if tells_figure(clause)), "")
    is_named = any(_naming(word) >= NOUN for _, word in spelled(figure or line.text))
    is_alike = not figure or tells_figure(before.text)
    return is_alike and not is_named and line.at - before.at <= JUST_BEFORE
