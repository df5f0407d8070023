"""
Recall canaries: questions about messages that were archived, asked again from time to time, to see that they are still found.

A question is the most telling words of its message, as written there. It is kept as long as its message is there with these
words; what a person deletes or rewrites is no longer asked for. Source: design of recall; issue "the right memory before
every turn".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from supervisor.text.chitchat import is_chitchat
from supervisor.text.rarity import rarity
from supervisor.text.words import spelled, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import datetime

    from supervisor.policy.hit import Hit

T = TypeVar("T")
#: Canaries from one archive run, words of one, all that are kept.
A_RUN: Final = 3
WORDS: Final = 4
KEPT: Final = 200
#: A word below this is everyday talk (text.rarity); one that stands in more messages than this tells them apart no more.
_TELLING: Final = 0.5
_WIDE: Final = 20
_LEAST: Final = 2
_MOST_CHARS: Final = 4_000
EVERY: Final = timedelta(days=1)
#: Below this rate something is wrong; one canary alone may be bad luck.
SOUND: Final = 0.95
_CHANCE: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A question about the message *id* in the dated file *file*; when it was last asked, and whether its answer was found."""

    file: str
    id: str
    words: tuple[str, ...]
    asked: datetime | None = None
    found: bool = False

    @property
    def question(self) -> str:
        """What is asked."""
        return " ".join(self.words)


@dataclass(frozen=True, slots=True)
class Rate:
    """How many canaries are kept, how many of them were asked, and how many of those found."""

    kept: int
    asked: int
    found: int

    @property
    def value(self) -> float:
        """The share that was found, 1.0 where none was asked."""
        return self.found / self.asked if self.asked else 1.0


def question_of(text: str, frequency: Callable[[str], int]) -> tuple[str, ...]:
    """
    Return the most telling words of a message in their order, none where it says little.

    *frequency* tells in how many messages a token stands, 0 where that is not known.
    """
    if is_chitchat(text):
        return ()
    weight: dict[str, tuple[float, str]] = {}
    for word, token in spelled(text[:_MOST_CHARS]):
        # what the index knows is looked up in parts: a word of which no part is common
        known = [frequency(part) for part in tokens(word)]
        if rarity(token) >= _TELLING and known and max(known) <= _WIDE:
            weight.setdefault(token, (rarity(token) / (1 + max(known)), word))
    best = sorted(weight, key=lambda token: -weight[token][0])[:WORDS]
    return tuple(weight[token][1] for token in weight if token in best) if len(best) >= _LEAST else ()


def choose(file: str, messages: Iterable[tuple[str, str]], frequency: Callable[[str], int]) -> Canary | None:
    """Return the canary of a dated file, about the message (id, text) whose words are the rarest; None where none says much."""
    found = [(identity, question_of(text, frequency)) for identity, text in messages]
    telling = [(identity, words) for identity, words in found if words]
    if not telling:
        return None

    def tells(one: tuple[str, tuple[str, ...]]) -> float:
        return sum(1 / (1 + max(map(frequency, tokens(word)))) for word in one[1])

    identity, words = max(telling, key=tells)
    return Canary(file=file, id=identity, words=words)


def sample(of: Sequence[T], most: int = A_RUN) -> list[T]:
    """
    Return at most *most*, spread over all, first and last among them.

    >>> sample(["1日", "2日", "3日", "4日", "5日"])
    ['1日', '3日', '5日']
    """
    if len(of) <= most:
        return list(of)
    return [of[n * (len(of) - 1) // (most - 1)] for n in range(most)]


def stands(canary: Canary, messages: Iterable[tuple[str, str]]) -> bool:
    """Tell whether the message is still there among those (id, text) of its file, with the words that are asked for."""
    text = next((text for identity, text in messages if identity == canary.id), "")
    return bool(text) and set(tokens(canary.question)) <= set(tokens(text))


def is_found(canary: Canary, hits: Iterable[Hit], covering: Collection[str]) -> bool:
    """Tell whether the message is among the *hits*, or one of the files *covering* its own (paths from the workspace)."""
    return any(hit.unit.message == canary.id or hit.unit.path in covering for hit in hits)


def due(canaries: Sequence[Canary], now: datetime, most: int) -> list[Canary]:
    """Return at most *most* that have not been asked for a day, those that wait longest first; a clock set back asks again."""
    waiting = [one for one in canaries if one.asked is None or abs(now - one.asked) >= EVERY]
    return sorted(waiting, key=lambda one: (one.asked is not None, one.asked or now))[:most]


def rate(canaries: Sequence[Canary]) -> Rate:
    """Return how many were found when they were last asked."""
    asked = [one for one in canaries if one.asked]
    return Rate(len(canaries), len(asked), sum(one.found for one in asked))


def answered(canary: Canary, now: datetime, *, found: bool) -> Canary:
    """Return the canary, asked *now*."""
    return replace(canary, asked=now, found=found)


def level(before: float, now: Rate) -> tuple[float, bool]:
    """
    Return the rate that further ones are held against, and whether it has fallen.

    It has, where less than 95 in a hundred are found and more than one canary is missing against *before*: one alone may be
    bad luck. A fall is told once, since what it fell to is what counts from then on; until then the best rate counts, so that
    it can't go down unseen one by one.

    >>> level(1.0, Rate(40, 40, 37)), level(1.0, Rate(40, 40, 38)), level(0.5, Rate(4, 4, 3)), level(1.0, Rate(8, 8, 7))
    ((0.925, True), (1.0, False), (0.75, False), (1.0, False))
    """
    has_fallen = now.value < SOUND and before * now.asked - now.found > _CHANCE
    return (now.value if has_fallen else max(before, now.value)), has_fallen
