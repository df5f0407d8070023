"""
Where a summary says the opposite of what was said: "did not book" for "booked", 没订 for 订了, "can drive" for "can't".

A clause of the summary is compared with those clauses of the material that share most of its rare words and numbers, at least
two. It denies them where it alone negates a word that they have; it asserts what they deny where all of them negate a word that
it has.
What ended or changed ("cancelled", 改到) may be told either way, so that it is no denial. Pure.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from recalld.supervisor.summaries.material import Place
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.record import record
from recalld.supervisor.text.tokenizer import HAN, spelled
from recalld.supervisor.text.word_frequency import rarity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CLAUSE: Final = lazy_re(r"(?:[^。！？!?;；，,.\n]|[,.](?=\S))+")
#: Rarity from which on a shared word says that two clauses are about the same, and how many such words or numbers they share.
_RARE: Final = 0.45
_SHARED: Final = 2
#: What is negated: three words behind a "not", four characters behind 不 or 没. 不再 and 不仅 deny nothing that was said,
#: nor do "not only", "not before the 22nd", 别忘了 and 不得不.
_NEGATED: Final = (
    lazy_re(
        r"(?:\b(?:not|never|cannot)\b|n['’]t\b)(?! (?:only|just|merely|simply|forget|fail|miss\w*|wait|hesitate|mind)\b)"
        r"(?!.*\b(?:until|till|before)\b)((?: [\w'’-]+){1,3})",
        re.IGNORECASE,
    ),
    lazy_re(
        rf"(?:(?<![不没]得)(?<![不没][能会可])"
        r"不(?!再|用|好意思|过|少|错|同|[仅但光只止单]|得[不已]|[能会可]不|小心|慎|定|出所料|久|[论管料])"
        rf"|(?<!差点)(?:没|未)(?!想到|料到|多久)|别(?!的|人))"
        rf"(?!有?(?:会|能|要)?忘)(?:有|会|能|要|去|是|想)*([{HAN}]{{1,4}})"
    ),
)
#: What negates, and what says that something ended, came to nothing or is otherwise now.
_TURNS: Final = lazy_re(
    r"\b(?:not|never|no|no longer|cannot|without|nobody|none|neither|nor|cancel\w*|call(?:ed)? off|stop\w*|instead"
    r"|forg[eo]t\w*|fail\w*|refus\w*|reject\w*|declin\w*|unable|avoid\w*|allerg\w*|only|wrong|correction|corrected)\b|n['’]t\b"
    r"|[不没未别无甭忘拒]|取消|停|推[了掉]|放弃|反悔|改|更正|过敏|失败",
    re.IGNORECASE,
)
#: A question that is asked by a negation, which negates nothing: 是不是, 有没有.
_ASKS: Final = lazy_re(r"(.)[不没]\1|有没有|是否|能否")
_WORD_CHARS: Final = (1, 2)  # of a Chinese word that is negated


@record
class _Clause:
    place: Place
    text: str
    words: frozenset[str]
    rare: frozenset[str]
    negated: frozenset[str]
    turns: bool

    def has(self, word: str) -> bool:
        """Return whether the clause has the word, a Chinese one also as a part of another."""
        return word in self.words or (not word.isascii() and word in self.text)


def denials(text: str, material: str) -> list[Place]:
    """
    Return the clauses of the text that say the opposite of what the material says.

    >>> denials("Kwik Fit is not booked for the 22nd.", "booked Kwik Fit for the MOT on the 22nd")
    [Place(start=0, end=35)]
    >>> denials("房东没扣 800 押金。", "房东扣了 800 押金"), denials("保养约在 22 号下午。", "保养没约在 21 号，约在 22 号下午")
    ([Place(start=0, end=11)], [])
    """
    said = list(_clauses(material))
    having = defaultdict[str, list[int]](list)
    for i, clause in enumerate(said):
        for word in clause.rare:
            having[word].append(i)
    shared = ((own, Counter(i for word in own.rare for i in having[word])) for own in _clauses(text))
    return [own.place for own, words in shared if _turns_round(own, said, words)]


def _turns_round(own: _Clause, said: Sequence[_Clause], shared: Counter[int]) -> bool:
    """Return whether the clause says the opposite of those of *said* with which it shares most; *shared*: how many words."""
    most = max(shared.values(), default=0)
    if most < _SHARED:
        return False
    best = [said[i] for i, words in shared.items() if words == most]
    near = [said[i] for i in shared]
    if own.negated:
        denied = {word for word in own.negated if not word[0].isdigit()}  # "not 8:30": it may have been put right
        return not any(one.turns for one in near) and any(one.has(word) for word in denied for one in best)
    if own.turns or not all(one.negated for one in best):
        return False
    negated = frozenset[str]().union(*(one.negated for one in best))
    is_told_both_ways = any(one.has(word) for one in near if not one.turns for word in negated)
    return not is_told_both_ways and any(own.has(word) for word in negated)


def _clauses(text: str) -> Iterator[_Clause]:
    for match in _CLAUSE.finditer(text):
        told = _ASKS.sub(lambda asked: asked[1] or "", match[0])
        words = frozenset(word for _, word in spelled(told))
        rare = frozenset(word for word in words if word[0].isdigit() or rarity(word) >= _RARE)
        negated = {word for form in _NEGATED for found in form.finditer(told) for word in _words(found[1])}
        yield _Clause(Place(match.start(), match.end()), told, words, rare, frozenset(negated), bool(_TURNS.search(told)))


def _words(negated: str) -> Iterator[str]:
    """Yield the words that may be meant by what stands behind a negation."""
    yield from (word for _, word in spelled(negated))
    if not negated.isascii():
        yield from (negated[:chars] for chars in _WORD_CHARS)
