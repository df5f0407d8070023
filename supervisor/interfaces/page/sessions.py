"""Sessions, each with the button that keeps its conversation as one line of the long-term file (000.37)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from recalld.supervisor.interfaces.page.views import View, go
from recalld.supervisor.operations import long_term
from recalld.supervisor.operations import sessions as asked

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from recalld.supervisor.interfaces.http.site import Site

#: Sessions of a page without `all`.
_FIRST: Final = 60


async def sessions(site: Site, request: Request) -> Response:
    """Show the sessions; *done* and *session* of the address say what a press without scripts did."""
    view = await View.of(site, request)
    limit = asked.MOST_SESSIONS if view.query("all") else _FIRST
    found = await view.ask(asked.sessions, asked.SessionsRequest(limit=limit))
    has_model = not site.workspace.extracting
    return await view.show(
        "sessions.html", "sessions", found=found, done=view.query("done"), line=view.number("line"), has_model=has_model
    )


async def summarize(site: Site, request: Request) -> Response:
    """Keep a session as a line, for a browser without scripts."""
    view = await View.of(site, request)
    form = await site.form(request)
    made = await view.ask(long_term.summarize, long_term.SummarizeRequest(session=form.get("session", "")))
    return go("/sessions?" + urlencode({"done": "kept", "line": made.line} if made else {"done": "nothing"}))
