"""Long-term: the file as lines (MemoryViewer), as text to edit (MemoryEditor), and a search in it (MemorySearch); 000.35."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from recalld.supervisor.interfaces.page.views import View, go
from recalld.supervisor.longterm.lines import cut, filled
from recalld.supervisor.operations import long_term
from recalld.supervisor.operations.long_term_text import ReplaceRequest, TextRequest, long_term_text, replace_long_term
from recalld.supervisor.storage.errors import StaleText
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from recalld.supervisor.interfaces.http.site import Site
    from recalld.supervisor.longterm.lines import Line

#: Lines of a page without `all`, the newest.
_FIRST: Final = 200
_ENTRY: Final = lazy_re(r"(\d{4}-\d{2}-\d{2})\|([^|]*)\|(.*)")


class Shown(NamedTuple):
    """A line as it is shown: an entry has its parts, a person's own Markdown is all *content*."""

    number: int
    ref: str
    day: str
    source: str
    content: str


async def panel(site: Site, request: Request) -> Response:
    """Show the file, or its editor with `edit`; save what the editor sends."""
    view = await View.of(site, request)
    if request.method == "POST":
        return await _save(view)
    found = await view.ask(long_term_text, TextRequest())
    if view.query("edit"):
        return await _editor(view, found.path, text=found.text, etag=found.etag)
    lines = filled(cut(found.text))
    wanted = view.number("line")
    shown = lines if view.query("all") or (wanted and wanted <= _oldest(lines)) else lines[-_FIRST:]
    return await view.show(
        "memory.html",
        "memory",
        file=found.path,
        lines=[_shown(line) for line in reversed(shown)],
        total=len(lines),
        stats=await view.ask(long_term.stats, long_term.StatsRequest()),
        saved=bool(view.query("saved")),
        wanted=wanted,
    )


def _oldest(lines: tuple[Line, ...]) -> int:
    """Return the number of the last line that a page without `all` does not show."""
    return lines[-_FIRST - 1].number if len(lines) > _FIRST else 0


def _shown(line: Line) -> Shown:
    found = _ENTRY.fullmatch(line.text)
    return Shown(line.number, line.ref, *(found.groups() if found else ("", "", line.text)))


async def _save(view: View) -> Response:
    form = await view.site.form(view.request)
    text, etag = form.get("content", "").replace("\r\n", "\n"), form.get("etag", "")
    try:
        await view.ask(replace_long_term, ReplaceRequest(content=text, etag=etag or None))
    except StaleText as stale:
        return await _editor(view, str(stale.path), 412, text=text, etag=stale.etag, theirs=stale.text)
    return go("/long-term?saved=1")


async def _editor(view: View, path: str, status: int = 200, **values: Any) -> Response:
    return await view.show("memory_edit.html", "memory", status, file=path, **{"theirs": None, **values})
