"""Search: as you type, each hit with its reasons, kept to days, a session, a speaker or a kind."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from ...index.hit import Hit, SearchResult
from ...operations import history, recall
from ...operations.recall import SearchRequest
from ...storage.errors import BadRequest
from ...storage.texts import Text
from ..search_notes import NOT_ASKED, why_no_hits, why_not_whole
from .views import View

if TYPE_CHECKING:
    from starlette.responses import Response

#: Hits of one page.
_LIMIT: Final = 30
#: Characters of a question that are searched for.
_CHARS: Final = 2_000
KINDS: Final = ("long_term", "dated", "summary", "unfiled", "original")
_SPEAKERS: Final = ("user", "assistant", "system", "tool")
#: The value of a filter that means the messages which name no session; "" is no filter.
_NO_SESSION: Final = "-"


async def search(view: View) -> Response:
    """Show the hits of what is asked for, and the filters."""
    query = view.query("q")[:_CHARS]
    wanted = filters(view)
    result: SearchResult | None = None
    if query.strip():
        result = await view.ask(recall.search, search_request(query, wanted))
    known = await view.ask(history.sessions, history.SessionsRequest(limit=200))
    return await view.show(
        "search.html",
        "search",
        q=query,
        wanted=wanted,
        filtered=any(wanted.values()),
        found=result,
        places=[place(hit) for hit in result.hits] if result else (),
        note=_note(query, result, filtered=any(wanted.values())),
        known=[session.session for session in known.sessions],
        kinds=KINDS,
        speakers=_SPEAKERS,
        no_session=_NO_SESSION,
        limit=_LIMIT,
    )


def filters(view: View) -> dict[str, str]:
    """Return the filters of the address."""
    return {name: view.query(name).strip() for name in ("since", "until", "session", "speaker", "kind")}


def search_request(query: str, wanted: dict[str, str]) -> SearchRequest:
    """Return the request of a search; BadRequest for a filter that is wrong."""
    if wanted["kind"] not in ("", *KINDS):
        raise BadRequest(
            "kind", Text("{value} is not allowed, give {allowed}", value=wanted["kind"][:40], allowed=", ".join(KINDS))
        )
    session = {"": None, _NO_SESSION: ""}.get(wanted["session"], wanted["session"])
    kind: Any = wanted["kind"]
    return recall.SearchRequest(
        query=query,
        limit=_LIMIT,
        since=_date("since", wanted["since"]),
        until=_date("until", wanted["until"]),
        in_session=session,
        speaker=wanted["speaker"],
        kind=kind,
    )


def _date(name: str, text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise BadRequest(name, Text("{label!r} is no day (2026-01-28) and no month (2026-01)", label=text[:40])) from None


def place(hit: Hit) -> str:
    """Return the address of the page that has the words of a hit."""
    passage = hit.unit
    if passage.tier == "long_term":
        return f"/long-term?line={passage.start}#line-{passage.start}"
    if passage.tier == "summary":
        return f"/days/{passage.path.rpartition('/')[2].removesuffix('.md')}"
    return f"/days/{passage.day}?{urlencode({'id': passage.message})}#found" if passage.day else ""


def _note(query: str, result: Any, *, filtered: bool) -> str:
    if result is None:
        return ""
    if result.hits:
        return why_not_whole(result)
    if not query.strip():
        return NOT_ASKED
    return Text("nothing in memory matches with these filters; take one off.") if filtered else why_no_hits(result)
