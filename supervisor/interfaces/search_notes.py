"""Why a search has no hits, in one sentence: what the command and the tool say alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from supervisor.index.hit import SearchResult

NOT_ASKED: Final = "nothing was asked; give the words to search for."
CANT_SEARCH: Final = "memory could not be searched; the event recall_failed in log.jsonl says why."


def why_no_hits(found: SearchResult) -> str:
    """Return the sentence that says why nothing was found."""
    if found.how == "failed":
        return CANT_SEARCH
    if not found.terms and not found.dates:
        return "this is only small talk, there is nothing to search for."
    match found.unfiled:
        case 0:
            return "nothing in memory matches." if found.files else "nothing in memory matches: it is empty."
        case 1:
            return "nothing in memory matches; 1 message not filed yet is among what was searched."
        case count:
            return f"nothing in memory matches; {count} messages not filed yet are among what was searched."
