"""How a sentence belongs to the ones before it in a conversation: questions and answers, and what takes something back."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from ..text.comparing import figures, without_figures
from ..text.lazy_re import lazy_re
from ..text.record import record
from ..text.tokenizer import HAN, spelled
from ..text.word_frequency import rarity
from .cues import has_cue, has_figures, takes_back, without_cue

_QUESTION: Final = lazy_re(r"(?:[?？][”\"'）)」]*|(?:吗|[你您]呢)[。.～~]?)$")
#: How people ask without a mark: by the order of words, and with no second verb ("who is on call is Tom").
_ASKS: Final = lazy_re(
    r"(?:(?:and|but|ok|okay|also|btw|hey)[, ]+)*"
    r"(?:(?:so[, ]+)?(?:(?:what|who|where|when|why|how)"
    r"|what (?!(?:i|you|we|he|she|it|they|this|that|mum|mom|dad)\b)(?-i:[a-z]+)"
    r"|how (?:long|much|many|often|far|old|big|late|soon|hot|tall))"
    r"(?:'s| (?:is|are|was|were|do|does|did|can|should|would|will|has|have))\b(?! ?[£$€¥\d])"
    r"|which (?:\w+ )?(?:do|does|did|should|can) (?:i|you|we|he|she|they|the|my|our|(?-i:[A-Z])\w+)\b"
    r"|(?:is|are|was|were|does|can|could|should|shall|will) (?:i|we|he|she|it|they)\b|(?:is|are) there\b"
    r"|do (?:i|you|we|they)\b|did (?:i|you|we|he|she|they)\b|any ideas?\b)"
    r"(?!.*\b(?!(?:i|you|we|he|she|it|they|there|that)\b)\w+ (?:is|are|was|were)\b)[^.!,:]*(?:,[^.!:\d]*)?$"
    r"|(?!.*(?:(?<!请)问|不知道|不清楚|不记得|不管|无论|没[定说想讲]|告诉|忘|看看))"
    r".*(?:什么好|来着|怎么办|咋办|咋样|(?<!不)怎么样|[行好对]不[行好对]|几[点岁]|多大|(?<![没不])多少钱?"
    r"|哪[个家天里儿])[呢啊呀]?$",
    re.IGNORECASE,
)
_REPLY: Final = lazy_re(
    r"(?!对了)(?:有|没有?|是的?|不是?|对|不对|会|不会|能|不能|要|不要|可以|不可以|行|不行|好|嗯|还没有?|已经"
    r"|当然)(?:[，,。.！!；;\s]|的|啊|了|$)"
    r"|(?:yes|yeah|yep|no|nope|not yet|sure|ok|okay|both|neither|of course|true|right|correct)\b"
    r"|i (?:do|did|don't|didn't|have|haven't|am|can|will)(?= *(?:too|not|so)?(?:[,.!;]|$))",
    re.IGNORECASE,
)
#: Characters of an answer that says little without its question.
_SHORT_ANSWER: Final = {"zh": 14, "en": 28}
#: The rarity of a name or a noun; how much of them two sentences share of which one takes the other back; how far back that
#: may lie, for how many sentences a word is remembered, and how soon after it a correction comes that names nothing.
NOUN: Final = 0.45
_SHARED: Final = {"change": 1.2, "correction": 0.5}
_BACK: Final = timedelta(days=31)
_REMEMBERED: Final = 12
_CLAUSE: Final = lazy_re(r"[，,。.;；：:!！]+(?!\d)\s*")
JUST_BEFORE: Final = timedelta(minutes=30)


@record
class Line:
    """What may be quoted as one, with what it is worth to quote it."""

    place: int  # among all lines
    message: int
    at: datetime  # local
    role: str
    who: str  # its speaker's label, with the colon
    text: str
    question: str = ""  # the question that it answers, with the label of who asked
    asked_at: datetime | None = None  # local
    weight: float = 0.0
    cues: float = 0.0
    words: tuple[str, ...] = ()
    opens: bool = True  # no words of its message are before it
    closes: bool = True


def is_question(text: str) -> bool:
    """
    True if the sentence asks, with a mark or without one.

    >>> is_question("how long do I boil eggs"), is_question("年糕几岁来着"), is_question("what a day")
    (True, True, False)
    """
    return bool(_QUESTION.search(text) or _ASKS.match(text))


def is_reply(text: str) -> bool:
    """True if the sentence opens with a yes or no."""
    return bool(_REPLY.match(text))


def needs_question(text: str) -> bool:
    """True if a sentence says little without the question that it answers: it is short, or a yes or no."""
    return is_reply(text) or len(text) <= _SHORT_ANSWER["zh" if re.search(f"[{HAN}]", text) else "en"]


def tells_figure(text: str) -> bool:
    """True if the text has a number, a day or a time, in digits or in words."""
    return has_figures(text) or bool(figures(text))


def taken_back(lines: Sequence[Line]) -> dict[int, int]:
    """
    Return by the place of each line that takes something back the place of what it takes back, which is taken back once.

    That is the line of a person before it that shares most names with it; a correction that names nothing means what was said
    just before. Where something was changed twice, the last change counts.
    """
    by_name: dict[str, deque[Line]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
    late: dict[int, int] = {}  # by what is taken back
    before: Line | None = None
    for line in lines:
        if not line.weight or line.role == "assistant":
            continue
        kind = takes_back(line.text)
        if kind and not line.question:
            shared: dict[int, float] = defaultdict(float)
            named = set[int]()
            names = names_in(_what_is_right(line.text) if kind == "correction" else line.text)
            for name, worth in names.items():
                for earlier in by_name[name]:
                    if line.at - earlier.at <= _BACK and earlier.message != line.message:
                        shared[earlier.place] += worth
                        named |= {earlier.place} if worth >= NOUN else set()
            least = _SHARED[kind if tells_figure(line.text) else "change"]
            able = [place for place in named if shared[place] >= least and _may_take_back(line, lines[place])]
            best = max(able, key=lambda place: (shared[place], place), default=-1)
            is_near = before is not None and line.at - before.at <= JUST_BEFORE and before.message != line.message
            names_nothing = max(names.values(), default=0) < NOUN
            if kind == "correction" and names_nothing and before and is_near and _may_take_back(line, before):
                best = before.place
            if best >= 0:
                late[next((early for early, change in late.items() if change == best), best)] = line.place
        for name in names_in(line.text):
            by_name[name].append(line)
        before = line
    return {change: early for early, change in late.items()}


def _may_take_back(line: Line, earlier: Line) -> bool:
    """True if a figure is put in the place of a figure, or the thing is off."""
    return has_cue(line.text, "off") or tells_figure(earlier.text) == tells_figure(line.text)


def _what_is_right(text: str) -> str:
    """Return the clause of a correction that tells the figure, else all of it."""
    return next((clause for clause in _CLAUSE.split(text) if tells_figure(clause)), text)


def names_in(text: str) -> dict[str, float]:
    """Return the words that name something, with their rarity: no figures, and not the words that say that it changes."""
    bare = text
    for cue in ("change", "off", "correction"):
        bare = without_cue(bare, cue)
    return {word: rare for _, word in spelled(without_figures(bare)) if len(word) > 1 and (rare := rarity(word))}
