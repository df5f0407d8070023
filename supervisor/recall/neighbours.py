"""
What is said next to what: neighbours of an answer, those needed to understand it, and the talk that goes on. Pure.

A passage is also found by the words of the messages around it, so that "the second one" is found by its question. A hit without
any word of the question is only a neighbour. It is needed if it answers a hit that asks, if it is the answer of a tool, or if
the hit after it points back to it; otherwise it comes after the hits with words.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from recalld.supervisor.extracts.replies import is_question
from recalld.supervisor.index.chunking import PAUSE_S
from recalld.supervisor.query.parse import refers_back
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.tokenizer import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from recalld.supervisor.index.hit import Hit, Passage
    from recalld.supervisor.protocol.message import Message

#: The reason of a hit that has no word of the question, nor a related one.
WINDOW: Final = "window"
#: How the reason begins of one that is of a day that is asked for.
DAY: Final = "day "
#: Lines from the end of one message to the start of the next, at most: blank, comment, time, blank, fence.
NEXT_MESSAGE: Final = 6
_NEXT_SECTION: Final = 2
#: The most time between a message that no file holds yet and the next one of the same conversation.
_SOON: Final = timedelta(minutes=5)
#: Characters of a message that may point back to the one before it.
_SHORT: Final = 200
#: Words of Chinese that ask wherever they are: 红油怎么炼.
_WONDERS: Final = lazy_re("怎[么样]|什么|多少|[哪谁啥咋]")
#: What an assistant says that it was not told, and asks for; not where it goes on: "…, but the shop opens".
_ASKS_TO_TELL: Final = lazy_re(
    r"\btell me (?!if\b|more\b)"
    r"|(?:\byou (?:haven't|have not|didn't|did not) (?:told|tell|said|say|mention\w*)"
    r"|\bI don't know(?! exactly| the exact))(?!.*\bbut\b)"
    r"|^(?!.*(?:随时|如果|需要|(?:之前|上次|刚才|刚刚|已经)告诉)).*告诉我(?![的过])"
    r"|(?:[你您](?:之前|还|也)*没有?(?:告诉|跟我|提|说(?![错对得]))|我不(?:知道|清楚))(?!.*(?:但|不过|可是))",
    re.IGNORECASE,
)


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
    return is_asking(text) or (at is not None and (now - at).total_seconds() <= PAUSE_S)


def is_asking(text: str) -> bool:
    """Return whether a message asks something, or asks to be told."""
    return is_question(text) or bool(_ASKS_TO_TELL.search(text)) or bool(_WONDERS.search(text))


def are_neighbours(one: Passage, other: Passage) -> bool:
    """
    Return whether no other message, section or line is between two passages of a file, of which *one* is the first.

    Messages that no file holds yet have no lines; for them the time decides.
    """
    if one.tier == other.tier == "unfiled" and one.at and other.at:
        return one.session == other.session and timedelta() <= other.at - one.at <= _SOON
    between = other.start - one.end
    if between < 0:
        return False
    if one.message and other.message:
        return between <= NEXT_MESSAGE
    return between <= (_NEXT_SECTION if one.tier == other.tier == "summary" else 1)


def is_answer(one: Passage, other: Passage) -> bool:
    """Return whether the passage is the assistant's answer to the other one, a question of the user's right before it."""
    return other.asks and other.role == "user" and one.role == "assistant" and are_neighbours(other, one)


def only_neighbours(hits: Sequence[Hit]) -> frozenset[Hit]:
    """Return those of the hits that are only neighbours of others, and not needed to understand them; none if all are."""
    of_file: dict[str, list[Passage]] = {}
    for hit in hits:
        if not is_neighbour(hit):
            of_file.setdefault(hit.unit.file, []).append(hit.unit)
    if not of_file:
        return frozenset()
    return frozenset(hit for hit in hits if is_neighbour(hit) and not _is_needed(hit.unit, of_file.get(hit.unit.file, ())))


def is_neighbour(hit: Hit) -> bool:
    """Return whether the hit was found only by the words around it, or by its day."""
    return bool(hit.because) and (hit.because[0] == WINDOW or hit.because[0].startswith(DAY))


def _is_needed(unit: Passage, others: Iterable[Passage]) -> bool:
    return any(
        (are_neighbours(other, unit) and (unit.role == "tool" or other.asks))
        or (are_neighbours(unit, other) and _points_back(other.text))
        for other in others
    )


def _points_back(text: str) -> bool:
    return len(text) <= _SHORT and refers_back(text, len(tokens(text)))
