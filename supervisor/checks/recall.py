"""The check of recall: what was filed is found by its own rarest words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..query.parse import Query
from ..recall.ended import read_ended
from ..storage.clock import within
from ..text.tokenizer import tokens
from ..text.word_frequency import rarity_asked
from .check import Look, bad
from .machine import writable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..protocol.dated_file import Block
    from ..workspace import Workspace
    from .check import Faults

#: Words of the question; a message with fewer than two is no question.
_WORDS: Final = 4
#: A word below this rarity is an everyday word; one in more passages than this identifies none.
_RARE: Final = 0.5
_MOST_PASSAGES: Final = 20
#: Files in which a message is looked for, messages of a file, and characters of a message.
_MOST_FILES: Final = 20
_MOST_MESSAGES: Final = 100
_MOST_CHARS: Final = 4_000
#: Hits among which the message has to be, and the longest search, in seconds.
_HITS: Final = 100
_PATIENCE_S: Final = 10.0


def found_again(look: Look) -> Faults:
    """
    Yield the dated file of a message, another each day, that the index does not find by the message's own rarest words.

    An index that is not up to date is not asked: a search brings it up to date.
    """
    ws = look.ws
    if ws.files.disk.is_read_only(ws.paths.root) or any(writable(look)):
        return  # as in `memory.index`
    held = ws.index.inventory()
    files = [file.name for file in look.files if file.ours]
    if held.damage or held.differing or not held.files or not files:
        return
    first = look.now.toordinal() % len(files)
    for name in (files[first:] + files[:first])[:_MOST_FILES]:
        if chosen := _telling(ws, name):
            if not _is_found(ws, *chosen):
                yield bad(
                    "a message of {file} is not found by its own rarest words; `recalld index rebuild` makes the index again.",
                    file=name,
                )
            return


def _telling(ws: Workspace, name: str) -> tuple[Block, list[str]] | None:
    """Return the message of the file with the rarest words, and these; None if no message has enough."""
    ended = read_ended(ws.files, ws.paths).messages
    blocks = [block for block in ws.memory.blocks(name)[:_MOST_MESSAGES] if block.id not in ended]
    rarest = [(block, rarest_words(block.words, ws.index.frequency)) for block in blocks]
    telling = [pair for pair in rarest if len(pair[1]) > 1]
    return min(telling, key=lambda pair: sum(map(ws.index.frequency, pair[1])) / len(pair[1]), default=None)


def rarest_words(text: str, frequency: Callable[[str], int]) -> list[str]:
    """Return the tokens of *text* that are no everyday words and in the fewest passages by *frequency*, rarest first."""
    rare = {token for token in tokens(text[:_MOST_CHARS]) if rarity_asked(token) >= _RARE}
    counts = {token: count for token in sorted(rare) if (count := frequency(token)) <= _MOST_PASSAGES}
    return sorted(counts, key=counts.__getitem__)[:_WORDS]


def _is_found(ws: Workspace, block: Block, words: list[str]) -> bool:
    """Return whether the message is a hit, or another that has all of the words."""
    query = Query(dict.fromkeys(words, 1.0), text=" ".join(words))
    hits = ws.index.search(query, _HITS, deadline=within(_PATIENCE_S)).hits
    return any(hit.unit.message == block.id or {*words} <= {*tokens(hit.unit.text)} for hit in hits)
