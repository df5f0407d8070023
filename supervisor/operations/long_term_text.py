"""The operations on the long-term file as a whole: its text, another text in its place, and its lines by keywords."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal

from ..longterm.lines import search_text
from ..storage.errors import BadRequest, StaleText
from ..storage.files import digest_of
from ..storage.texts import Text
from ..text.record import record
from .operation import NoArguments, Request, Visible, operation, within

if TYPE_CHECKING:
    from ..longterm.long_term_file import LongTermText

#: The most characters of keywords, and the most lines that a search by them returns.
_MOST_KEYWORDS: Final = 10_000
_MOST_RESULTS: Final = 10_000


@record(kw_only=True)
class ReplaceRequest(Request):
    """
    The whole *content*, in place of the text that had this *etag*.

    Without *etag* it takes the place of whatever is there.
    """

    content: str
    etag: str | None = None

    def __post_init__(self) -> None:
        Request.__post_init__(self)
        if "\0" in self.content:
            raise BadRequest("content", Text("a text must not have the character NUL or half an emoji; leave it out."))


@record(kw_only=True)
class LinesRequest(Request):
    """*keywords* with blanks between them, of which a line has any ("or") or all ("and"); at most *max_results* lines."""

    keywords: str = field(metadata={"schema": {"maxLength": _MOST_KEYWORDS}})
    max_results: int = within(15, 1, _MOST_RESULTS)
    match_mode: Literal["or", "and"] = "or"


@record
class LongTermWhole:
    """The file at *path* with its whole *text*; another text has another *etag*."""

    path: str
    text: str
    etag: str


@record
class Replaced:
    """The file at *path* has a new text now: its *etag*, and how many lines are in it in *total*."""

    path: str
    etag: str
    total: int


@record
class LinesFound:
    """The lines that were found as text, or the sentence that says why there are none; *total* is how many lines there are."""

    results: str
    total: int


@operation("long_term_text", NoArguments, reads=True, owner=True)
def long_term_text(memory: Visible, _request: NoArguments) -> LongTermWhole:
    """Return the whole text of the long-term file, with what distinguishes it from a later one."""
    lines = memory.ws.long_term.read()
    return LongTermWhole(lines.path, lines.text, etag_of(lines))


@operation("replace_long_term", ReplaceRequest, owner=True)
def replace_long_term(memory: Visible, request: ReplaceRequest) -> Replaced:
    """Replace the whole text of the long-term file; the old one is kept. StaleText if it is no longer the one of the etag."""
    file = memory.ws.long_term

    def checked(text: str) -> str:
        if request.etag is not None and request.etag != _etag(text):
            raise StaleText(file.path, _etag(text), text)
        return request.content

    after = file.change(checked, keep_previous=True)
    return Replaced(after.path, etag_of(after), after.total)


@operation("search_lines", LinesRequest, reads=True)
def search_lines(memory: Visible, request: LinesRequest) -> LinesFound:
    """Return the newest lines with the keywords, in the order of the file, each as "[n] text"; never all lines."""
    lines = memory.long_term()
    words, mode = request.keywords.split(), request.match_mode
    return LinesFound(search_text(lines.lines, words, request.max_results, mode, memory.caller.language), lines.total)


def etag_of(text: LongTermText) -> str:
    """Return what distinguishes this text of the file from another."""
    return _etag(text.text)


def _etag(text: str) -> str:
    return digest_of(text.encode("utf-8", "surrogatepass"))[:32]
