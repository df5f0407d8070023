"""
Which sentences an extract quotes: those that carry facts, then those that say what the others have not said yet.

A sentence is worth the words it adds, each by how rare it is in the language at large and how much the day speaks of it, and
what it looks like: numbers, paths, names, a decision, something to do, a like or dislike. The choice is greedy with a heap:
worth only falls as more is chosen, so that a sentence is weighed again only when it comes up (n log n, nothing pairwise).
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from supervisor.text.small_talk import is_chitchat
from supervisor.text.tokenizer import spelled
from supervisor.text.word_frequency import rarity
from worker.providers.sentences import columns, cue_worth, substance

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from worker.providers.talk import Line

#: How much the worth of a word grows with the lines that have it; how much length counts against a sentence.
_CENTRAL: Final = 0.35
_LENGTH: Final = 0.8
#: Columns added to every sentence's length: its bullet, its time, and the trouble of reading one more.
_EACH: Final = 40
#: Worth of a sentence's words and cues below which it says nothing: "Wow, that's great!"
_SAYS_SOMETHING: Final = 0.9
#: What an item of a list is worth beside its words: somebody wrote it down to find it again.
_ITEM: Final = 0.9
#: How much rarity counts.
_POWER: Final = 1.5
#: A new number counts like a rare word, a lone digit hardly.
_LONE_DIGIT: Final = 0.3
_QUESTION: Final = 0.4
#: By role: what the person said, what was said to the person, what a machine or a system prompt said.
_ROLES: Final = {"user": 1.0, "note": 1.0, "summary": 1.0, "assistant": 0.6}
_OTHER_ROLE: Final = 0.35


@dataclass(frozen=True, slots=True)
class Weighed:
    """A line with the words that count in it, the worth of each, and the worth of its cues."""

    line: Line
    words: tuple[str, ...]
    cues: float
    role: float

    def worth(self, word_worth: Callable[[str], float], said: Collection[str]) -> float:
        """Return what the line adds to what is *said* already, for its length."""
        own = sum(map(word_worth, self.words))
        new = sum(word_worth(word) for word in self.words if word not in said)
        if own + self.cues < _SAYS_SOMETHING or not own:
            return 0.0
        return self.role * (new + self.cues * new / own) / math.pow(columns(self.line.text) + _EACH, _LENGTH)


def weigh(lines: Sequence[Line]) -> tuple[list[Weighed], Callable[[str], float]]:
    """
    Return the lines weighed, in their order, and the worth of a word on this material.

    Where the speakers are named, both sides are people: neither counts less, and calling each other by name says nothing.
    """
    meant = [lines[line.lead].text if line.lead is not None and is_chitchat(line.text) else line.text for line in lines]
    found = [tuple(dict.fromkeys(token for _, token in spelled(text))) for text in meant]
    lines_with = Counter(word for words in found for word in words)
    speakers = {line.who for line in lines if line.who}
    called = {token for name in speakers for _, token in spelled(name)}

    def worth_of(word: str) -> float:
        if word in called or (word.isalpha() and any(name.startswith(word) for name in called)):
            return 0.0
        if word.isdigit():
            return _LONE_DIGIT if len(word) == 1 else 1.0
        return math.pow(rarity(word), _POWER) * (1 + _CENTRAL * math.log(lines_with[word]))

    worths = {word: worth_of(word) for word in lines_with}
    weighed = []
    for line, text, words in zip(lines, meant, found, strict=True):
        role = 1.0 if speakers and line.role in {"user", "assistant"} else _ROLES.get(line.role, _OTHER_ROLE)
        role *= substance(text) * (_QUESTION if line.question else 1.0)
        weighed.append(Weighed(line, words, cue_worth(text) + _ITEM * line.item, role))
    return weighed, worths.__getitem__


def most_telling(weighed: Sequence[Weighed], word_worth: Callable[[str], float]) -> list[Line]:
    """Return the one line that says most, where none is worth quoting: of courtesies the one with the rarest words."""

    def worth(one: Weighed) -> tuple[float, float, int]:
        return one.worth(word_worth, ()), sum(map(word_worth, one.words)) + one.cues, -one.line.place

    return [max(weighed, key=worth).line] if weighed else []


def choose(
    weighed: Sequence[Weighed],
    word_worth: Callable[[str], float],
    budget: int,
    least: float,
    days_share: float = 0.0,
) -> list[Line]:
    """
    Return the lines worth quoting, in their order, of at most *budget* characters in all; none is worth less than *least*.

    With *days_share*, every day has its best line first, if one is more than a courtesy, and a day that was quoted often gives
    way: each line of it makes its next worth less by this share.
    """
    said: set[str] = set()
    taken: list[int] = []
    quoted: Counter[object] = Counter()
    by_place = {one.line.place: one for one in weighed}
    left = budget

    def worth(i: int) -> float:
        return weighed[i].worth(word_worth, said) / (1 + days_share * quoted[weighed[i].line.day])

    def take(i: int) -> None:
        nonlocal left
        taken.append(i)
        said.update(weighed[i].words)
        lead = weighed[i].line.lead
        said.update(by_place[lead].words if lead is not None else ())
        quoted[weighed[i].line.day] += 1
        left -= weighed[i].line.cost

    if days_share:
        for i in _best_of_days(weighed, word_worth, budget):
            take(i)
    first = set(taken)
    heap = [(-worth(i), i) for i in range(len(weighed)) if i not in first]
    heapq.heapify(heap)
    while heap and left > 0:
        _, i = heapq.heappop(heap)
        now = worth(i)
        if heap and now < -heap[0][0]:
            heapq.heappush(heap, (-now, i))
        elif now < least:
            break
        elif weighed[i].line.cost <= left:
            take(i)
    return [weighed[i].line for i in sorted(taken)]


def _best_of_days(weighed: Sequence[Weighed], word_worth: Callable[[str], float], budget: int) -> list[int]:
    """Return for each day its best line that leaves room for those of the other days; the shortest where none does."""
    days: dict[object, list[int]] = {}
    for i, one in enumerate(weighed):
        if one.role:
            days.setdefault(one.line.day, []).append(i)
    room = budget // max(1, len(days))
    best = []
    for places in days.values():
        fitting = [i for i in places if weighed[i].line.cost <= room] or [min(places, key=lambda i: weighed[i].line.cost)]
        best.append(max(fitting, key=lambda i: (weighed[i].worth(word_worth, ()), -i)))
    return best
