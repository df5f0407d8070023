"""
A page as it is made for one request: its template, the texts in the language of its reader, and what operations answer.

Templates escape everything: texts of the page, and their fields unless these are markup of ours.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ...storage.texts import Text, msgid, render, template
from ...text.foreign_text import printable
from ...text.language import Language
from ..http.site import FORM_HEADER, Site, form_fields
from ..output import because, word
from ..page import wording

if TYPE_CHECKING:
    from starlette.requests import Request

HERE: Final = Path(__file__).parent
#: The pages in the order of the navigation: the code of each, and its address.
PAGES: Final = (
    ("today", "/"),
    ("days", "/days"),
    ("search", "/search"),
    ("memory", "/long-term"),
    ("sessions", "/sessions"),
    ("health", "/health"),
)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        words=printable,
        capitalise=wording.capitalised,
        sentence=wording.sentence_html,
        number="{:,}".format,
        cut=wording.cut,
        marked=wording.marked_html,
        line=wording.line_html,
        excerpt=wording.excerpt_html,
    )
    environment.globals.update(PAGES=PAGES, names=wording.NAMES, msgid=msgid)
    return environment


def texts(language: Language, msgid: str, /, **fields: object) -> Markup:
    """Return a text of the page in a language; its fields are escaped unless they are markup."""
    counted = {name: wording.Counted(value) if type(value) is int else value for name, value in fields.items()}
    return Markup(escape(template(msgid, language))).format(**counted)  # noqa: S704 - it is escaped, so are its fields


class View:
    """One request of the page: who reads it, and in which language."""

    def __init__(self, site: Site, request: Request) -> None:
        self.site, self.request, self.language = site, request, site.language(request)
        self.t = partial(texts, self.language)

    def query(self, name: str) -> str:
        """Return a value of the address, "" where it has none."""
        return self.request.query_params.get(name, "")

    def number(self, name: str, otherwise: int = 0) -> int:
        """Return a number of the address; *otherwise* where it has none that fits a page."""
        text = self.query(name)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise

    async def ask(self, name: str, /, **arguments: Any) -> Any:
        """Return the answer of the operation of this *name*, for the owner."""
        return await self.site.ask(self.request, name, **arguments)

    async def form(self) -> dict[str, str]:
        """Return the fields of the form that was sent; HTTPException (403) without its token."""
        fields = await form_fields(self.request)
        given = self.request.headers.get(FORM_HEADER) or fields.pop("form_token", "")
        if not await self.site.run(self.site.access.is_form_token, given, self.site.cookie(self.request)):
            raise HTTPException(403, Text("this form is no longer valid; load the page again, and send it once more."))
        return fields

    async def show(self, name: str, page: str = "", status: int = 200, **values: Any) -> Response:
        """Return the page that the template *name* makes of the values; *page* is its place in the navigation."""
        return await self.site.run(partial(self.shown, name, page, status, **values))

    def shown(self, name: str, page: str = "", status: int = 200, **values: Any) -> Response:
        """Return what `show` does; it may wait for files, so it is called in a thread."""
        zone, language, url = self.site.workspace.zone, self.language, self.request.url
        html = (
            _environment()
            .get_template(name)
            .render(
                t=self.t,
                zh=language == "zh",
                page=page,
                path=url.path,
                here=url.path + (f"?{url.query}" if url.query else ""),
                form_token=self._form_token() if page else "",
                day=partial(wording.day_text, language=language),
                month=partial(wording.month_text, language=language),
                clock=partial(wording.clock_text, zone=zone),
                moment=partial(wording.moment_text, zone=zone, language=language),
                say=partial(render, language=language),
                name_of=lambda key: render(word(key), language),
                reason=lambda why: render(because(why), language),
                **{"theirs": None, **values},  # the text that an editor shows beside a person's
            )
        )
        return HTMLResponse(html, status)

    def _form_token(self) -> str:
        """Return the token that each form has to carry; "" where the page's scripts keep it."""
        cookie = self.site.cookie(self.request)
        return "" if self.site.access.is_kept(cookie) else self.site.access.form_token(cookie)


def own_address(given: str, otherwise: str = "/") -> str:
    r"""
    Return the address that a form gave if it is one of ours, else *otherwise*.

    >>> own_address("/days?year=2026"), own_address("//evil.example"), own_address("/\t/evil.example", "/days")
    ('/days?year=2026', '/', '/days')
    """
    is_ours = given.startswith("/") and not given.startswith(("//", "/\\")) and given.isprintable()  # a browser drops a tab
    return given if is_ours else otherwise


def go(address: str) -> Response:
    """Return the answer that leads the browser to another page of ours after a change."""
    return RedirectResponse(address, 303)
