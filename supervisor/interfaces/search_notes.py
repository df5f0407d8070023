"""Sentences about a search that command and tool share: why it has no hits, and why it did not cover all of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ..storage.texts import Text

if TYPE_CHECKING:
    from ..index.hit import Hit, SearchResult
    from ..longterm.lines import Line

NOT_ASKED: Final = Text("nothing was asked; give the words to search for.")
THE_QUESTION: Final = Text("nothing else in memory matches: the message that has these words is the question itself.")


def refs_of(hits: Sequence[Hit], lines: Callable[[], Iterable[Line]]) -> list[str]:
    """
    Return for each hit the name by which it is deleted, "42@1f3a9c0d"; "" if it is not exactly one long-term line.

    *lines* returns the lines of the long-term file; it is called only if a hit is from that file.
    """
    is_line = [hit.unit.tier == "long_term" and hit.unit.start == hit.unit.end for hit in hits]
    refs = {line.number: line.ref for line in lines()} if any(is_line) else {}
    return [refs.get(hit.unit.start, "") if is_of_line else "" for hit, is_of_line in zip(hits, is_line, strict=True)]


def why_not_whole(result: SearchResult) -> str:
    """Return why not all of memory was searched, as a sentence; "" if it was, or if nothing was asked."""
    is_asked = result.terms or result.dates or result.how == "failed"
    return Text("not all of memory could be searched: {why}.", why=result.unsearched) if result.unsearched and is_asked else ""


def why_no_hits(result: SearchResult) -> str:
    """Return why nothing was found, as a sentence."""
    if not_whole := why_not_whole(result):
        return not_whole
    if not result.terms and not result.dates:
        return Text("this is only small talk, there is nothing to search for.")
    if result.skipped:
        return THE_QUESTION
    subject = result.subject if result.miss else ()  # a group is told of nothing that came near
    if subject and result.miss and result.miss.nearest and result.miss.has:
        near, place = result.miss.has, result.miss.nearest.unit.citation
        if set(result.subject) <= set(result.miss.has):
            return Text(
                "{subject} alone is too common to search for, add another word; {place} has it.", subject=subject, place=place
            )
        return Text(
            "nothing in memory about {subject}; the nearest is {place}, about {near}.", subject=subject, near=near, place=place
        )
    if subject and result.files and not result.unfiled:
        return Text("nothing in memory about {subject}.", subject=subject)
    match result.unfiled:
        case 0:
            return Text("nothing in memory matches.") if result.files else Text("nothing in memory matches: it is empty.")
        case 1:
            return Text("nothing in memory matches; 1 message not filed yet is among what was searched.")
        case count:
            return Text("nothing in memory matches; {count} messages not filed yet are among what was searched.", count=count)
