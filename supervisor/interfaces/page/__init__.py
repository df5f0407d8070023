"""
The page: what a memory holds, and how it is, in a browser.

`routes` returns its addresses for the application of `interfaces/http`, `problem` the page of an error. Every page is whole
without scripts; htmx and two scripts of our own make it live. Nothing comes from the network, and no stored word is markup.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ..http.gate import STATIC
from ..http.site import Site
from . import archive, memory
from .views import HERE, View

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

_TABLE: Final[tuple[tuple[str, Callable[[View], Awaitable[Response]], tuple[str, ...]], ...]] = (
    ("/", memory.today, ("GET",)),
    ("/file-now", memory.file_now, ("POST",)),
    ("/days", archive.calendar, ("GET",)),
    ("/days/{label}", archive.period, ("GET",)),
    ("/days/{label}/edit", archive.edit, ("GET", "POST")),
    ("/search", archive.search, ("GET",)),
    ("/long-term", memory.panel, ("GET", "POST")),
    ("/sessions", memory.sessions, ("GET",)),
    ("/sessions/summarize", memory.summarize, ("POST",)),
    ("/forget", memory.forget, ("GET", "POST")),
    ("/health", memory.health, ("GET",)),
)


def routes(site: Site) -> list[BaseRoute]:
    """Return the routes of the page."""

    async def answer(show: Callable[[View], Awaitable[Response]], request: Request) -> Response:
        return await show(View(site, request))

    pages: list[BaseRoute] = [Route(path, partial(answer, show), methods=[*methods]) for path, show, methods in _TABLE]
    return [*pages, Mount(STATIC.rstrip("/"), StaticFiles(directory=HERE / "static"))]


def problem(site: Site, request: Request, status: int, sentence: str) -> Response:
    """Return the page of an error; that of 401 says how to get in, and shows nothing of memory. It is called in a thread."""
    view = View(site, request)
    name = "gate.html" if status == 401 else "problem.html"
    # a token that was sent by hand, without scripts, was wrong
    return view.shown(name, status=status, sentence=sentence, status_code=status, was_wrong=request.url.path == "/session")
