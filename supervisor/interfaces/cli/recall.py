"""`recalld inject`, `context` and `search` (docs/reference/cli.md). They load no more than they use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...operations import recall
from ...storage.texts import Text
from ..search_notes import NOT_ASKED, refs_of, why_no_hits, why_not_whole
from .output import as_json

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from ...index.hit import SearchResult
    from ...longterm.lines import Line
    from .call import Call

#: The reasons for which hits are left out that the reader has anyway.
_SHOWN_ELSEWHERE: Final = frozenset({"in the history", "the question"})
_NOT_ASKED: Final = Text("nothing was asked; give the question with `--query`, or put it into inbox.json.")
_LEFT_OUT: Final = {
    "group": Text("nothing in memory matches that may be shown in this chat."),
    "known": Text("what matches in memory is in the conversation already."),
    "size": Text("what matches in memory does not fit; see the budgets [recall] memory_tokens and max_injected_chars."),
}

_EVERY: Final = 1_000_000_000  # more lines than any file has


def inject(
    call: Call,
    *,
    query: str | None = None,
    session: str = "",
    chat: str = "",
    known: Sequence[str] = (),
    project: str = "",
    workspace: Path | None = None,
    now: str | None = None,
    json: bool = False,
) -> int:
    """Print the memory block for an input, and nothing else, and return the exit code."""
    request = recall.InjectRequest(question=query, known=known, project=project)
    made = call.perform(recall.inject, request, workspace, now, session, chat)
    if not made.memory:
        left_out = {why for _, why in made.left_out} | ({"group"} if made.receipt.chat != "direct" else set())
        call.say(_why_empty(made.result, left_out) if made.receipt.question.strip() else _NOT_ASKED, 0)
    elif not_whole := why_not_whole(made.result):
        call.say(not_whole, 0)
    if json:
        hits = [_hit(hit) for hit in made.shown]
        fields = {"turn": made.id, "text": made.memory, "tokens": made.memory_tokens, "hits": hits}
        call.show(as_json({**fields, "unsearched": call.render(made.result.unsearched)}))
    elif made.memory:
        call.show(made.memory.rstrip("\n"))
    return 0


def context(
    call: Call,
    *,
    query: str | None = None,
    system: str = "",
    text: bool = False,
    session: str = "",
    chat: str = "",
    workspace: Path | None = None,
    now: str | None = None,
    json: bool = False,
) -> int:
    """Print the whole turn as chat-completions messages, or as *text*, and return the exit code."""
    made = call.perform(recall.context, recall.ContextRequest(question=query, system=system), workspace, now, session, chat)
    if not_whole := why_not_whole(made.result):
        call.say(not_whole, 0)
    if text and not json:
        call.show("\n\n".join(f"{message['role']}: {message['content']}" for message in made.messages))
    else:
        call.show(as_json(list(made.messages)))
    return 0


def search(
    call: Call,
    query: str,
    *,
    workspace: Path | None = None,
    now: str | None = None,
    json: bool = False,
    limit: int = 10,
    session: str = "",
    chat: str = "",
) -> int:
    """Print the hits, each with its place and its score, and return the exit code."""
    where = workspace, now, session, chat
    found = call.perform(recall.search, recall.SearchRequest(query=query, limit=limit), *where)
    if not found.hits:
        call.say(_why_empty(found) if query.strip() else NOT_ASKED, 0)
    elif not_whole := why_not_whole(found):
        call.say(not_whole, 0)
    if json:
        refs = refs_of(found.hits, lambda: _long_term_lines(call, *where))
        call.show(as_json([_hit(hit) | ({"ref": ref} if ref else {}) for hit, ref in zip(found.hits, refs, strict=True)]))
    for hit in () if json else found.hits:
        line = " ".join(hit.unit.text.split())
        score = "" if hit.score is None else f"{hit.score:6.2f}  "
        call.show(f"{score}{hit.unit.citation}  {line[:160]}")
    return 0


def _long_term_lines(call: Call, *where: Any) -> Sequence[Line]:
    from ...operations import long_term

    return call.perform(long_term.read, long_term.ReadRequest(start=1, end=_EVERY), *where).lines


def _hit(hit: Any) -> dict[str, Any]:
    """Return a hit with the fields of the tool `memory_search`, and the reasons for its score."""
    unit = hit.unit
    shown = {"path": unit.path, "startLine": unit.start, "endLine": unit.end, "snippet": unit.text}
    shown |= {"id": unit.message} if unit.message else {}
    return {**shown, "score": None if hit.score is None else round(hit.score, 4), "because": list(hit.because)}


def _why_empty(found: SearchResult, left_out: Collection[str] = ()) -> str:
    """Return why there is no memory, as a sentence; *left_out* are the reasons why hits are not shown."""
    if "group" in left_out:  # always the same sentence, so that it reveals nothing of private memory
        return _LEFT_OUT["group"]
    if found.hits:
        return _LEFT_OUT["known" if _SHOWN_ELSEWHERE.issuperset(left_out) else "size"]
    return why_no_hits(found)
