"""
What is said next to what: neighbours of an answer, those needed to understand it, and the talk that goes on. Pure.

A passage is also found by the words of the messages around it, so that "the second one" is found by its question. A hit without
any word of the question is only a neighbour. What one of the best hits is not understood without, or may be corrected by, comes
with it; this is told by who speaks, how long it is and whether it asks. Other neighbours come after the hits with words.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from ..extracts.replies import is_question
from ..index.chunking import PAUSE_S
from ..index.hit import Hit, Passage
from ..protocol.message import Message
from ..text.lazy_re import lazy_re

#: The reason of a hit that has no word of the question, nor a related one.
WINDOW: Final = "window"
#: How the reason begins of one that is of a day that is asked for.
DAY: Final = "day "
#: Lines from the end of one message to the start of the next, at most: blank, comment, time, blank, fence.
NEXT_MESSAGE: Final = 6
_NEXT_SECTION: Final = 2
#: The most time between a message that no file holds yet and the next one of the same conversation.
_SOON: Final = timedelta(minutes=5)
#: Bytes of a message of a few words, which says little without the one before it, and of one that comes before such a message:
#: a Han character has three.
_FEW_BYTES: Final = 40
_BEFORE_BYTES: Final = 60
#: Words of Chinese that ask wherever they are: 红油怎么炼.
_WONDERS: Final = lazy_re("怎[么样]|什么|多少|[哪谁啥咋]")


def going_on(messages: Sequence[Message], now: datetime) -> Sequence[Message]:
    """
    Return the messages of the talk that goes on at *now*, of all *messages*, oldest first; none after a long pause.

    A message without a time, or of a clock that was ahead, was said together with the one after it.
    """
    after = now
    for n in range(len(messages), 0, -1):
        at = min(messages[n - 1].created_at or after, after)
        if (after - at).total_seconds() > PAUSE_S:
            return messages[n:]
        after = at
    return messages


def is_asked_again(text: str, at: datetime | None, now: datetime) -> bool:
    """
    Return whether a message of memory with the words of the question, said *at*, is nothing but the question.

    It is if it asks, or if it was said in the talk that goes on; what was told before that may be what is looked for.
    """
    is_asking = is_question(text) or bool(_WONDERS.search(text))
    return is_asking or (at is not None and (now - at).total_seconds() <= PAUSE_S)


def are_neighbours(passage: Passage, other: Passage) -> bool:
    """
    Return whether no other message, section or line is between two passages of a file, of which *passage* is the first.

    Messages that no file holds yet have no lines; for them the time decides.
    """
    if passage.tier == other.tier == "unfiled" and passage.at and other.at:
        return passage.session == other.session and timedelta() <= other.at - passage.at <= _SOON
    between = other.start - passage.end
    if between < 0:
        return False
    if passage.message and other.message:
        return between <= NEXT_MESSAGE
    return between <= (_NEXT_SECTION if passage.tier == other.tier == "summary" else 1)


def stretches(units: Iterable[Passage]) -> tuple[tuple[int, int], ...]:
    """Return the lines of these passages of a file, from first to last; those of neighbours as one stretch."""
    stretches: list[tuple[int, int]] = []
    before: Passage | None = None
    for unit in sorted(units, key=line_order):
        if before and (unit.start <= stretches[-1][1] or are_neighbours(before, unit)):
            stretches[-1] = stretches[-1][0], max(stretches[-1][1], unit.end)
        else:
            stretches.append((unit.start, unit.end))
        before = unit
    return tuple(stretches)


def line_order(unit: Passage) -> tuple[float, int, int]:
    """Return the sort key of the passages of a file: their lines; for messages that no file holds yet, their time."""
    return (unit.moment[1] if unit.tier == "unfiled" else 0.0, unit.start, unit.end)


def follows(passage: Passage, other: Passage) -> bool:
    """True if the *other* passage is what was said next in the talk of *passage*."""
    if passage is other or (passage.file, passage.session) != (other.file, other.session) or not are_neighbours(passage, other):
        return False
    return passage.at is None or other.at is None or (other.at - passage.at).total_seconds() <= PAUSE_S


def company(best: Iterable[Hit], hits: Sequence[Hit]) -> dict[Hit, Hit]:
    """Return those of the *hits* that are needed beside the *best* ones, each with the hit that needs it."""
    needed: dict[Hit, Hit] = {}
    for hit in best:
        for other in (_needed_before(hit, hits), _needed_after(hit, hits)):
            if other:
                needed.setdefault(other, hit)
    return needed


def only_neighbours(hits: Sequence[Hit]) -> frozenset[Hit]:
    """Return the hits that are only neighbours of others, or of a day of which others have words, and not needed by these."""
    others = [hit for hit in hits if not is_neighbour(hit)]
    of_days = [hit for hit in hits if any(why.startswith(DAY) for why in hit.because)]
    kept = company(others, hits).keys() | (of_days if all(map(is_neighbour, of_days)) else ())
    return frozenset(hit for hit in hits if others and is_neighbour(hit) and hit not in kept)


def _needed_before(hit: Hit, hits: Sequence[Hit]) -> Hit | None:
    """
    Return what the hit is not understood without: the question of an answer, and what a few words go on from.

    An answer of the assistant's that asks nothing is passed over: the user goes on with their own words.
    """
    unit = hit.unit
    if unit.role != "assistant" and _bytes(unit) > _FEW_BYTES:
        return None
    before = next((hit for hit in hits if follows(hit.unit, unit)), None)
    if before and unit.role == "user" and before.unit.role == "assistant" and not before.unit.asks:
        before = next((hit for hit in hits if follows(hit.unit, before.unit)), None)
    return before if before and _bytes(before.unit) <= _BEFORE_BYTES else None


def _needed_after(hit: Hit, hits: Sequence[Hit]) -> Hit | None:
    """Return the answer to a question or of a tool, or the few words that the user says next, which may correct the hit."""
    unit = hit.unit
    after = next((hit for hit in hits if follows(unit, hit.unit)), None)
    if after and (unit.asks or after.unit.role == "tool"):
        return after
    if after and after.unit.role == "assistant":
        after = next((hit for hit in hits if follows(after.unit, hit.unit)), None)
    is_told = after and after.unit.role == "user" and not after.unit.asks
    return after if after and is_told and _bytes(after.unit) <= _FEW_BYTES else None


def is_neighbour(hit: Hit) -> bool:
    """Return whether the hit was found only by the words around it, or by its day."""
    return bool(hit.because) and (hit.because[0] == WINDOW or hit.because[0].startswith(DAY))


def _bytes(unit: Passage) -> int:
    return len(unit.text.encode("utf-8", "surrogatepass"))
