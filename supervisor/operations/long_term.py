"""The operations on the long-term file: its lines, its whole text, and a session summed up as one of its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import unquote

from ..longterm.lines import DEFAULT_SOURCE, one_line
from ..storage.errors import BadRequest, StaleText
from ..storage.files import digest_of
from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from ..text.record import record
from .operation import NoArguments, Request, Visible, operation, within

if TYPE_CHECKING:
    from ..longterm.long_term_file import Deleted, Ended, LongTermLines, Written

#: The most characters of keywords, and the most lines that a search by them returns.
_MOST_KEYWORDS: Final = 10_000
_MOST_RESULTS: Final = 10_000
#: The most characters of a reason.
_MOST_REASON: Final = 500
_LINE: Final = lazy_re(r"\d+(?:@\w*)?")
_SUMMARIES: Final = "memory/summary/"
_NO_TARGET: Final = Text(
    "it names no line, message or line of a summary; give 42@1f3a9c0d, the id of a message, or memory/summary/2026-01-15.md#L7"
)


@record(kw_only=True)
class WriteRequest(Request):
    """
    The *content* of an entry, and the *source* that its line names: a channel, or a session's name.

    *replaces* is the line that is no longer true with it, as in "42@1f3a9c0d", "" for none; of several items in it the one with
    the number *item*, from 1 on (None: the one that the content is about).
    """

    content: str
    source: str = DEFAULT_SOURCE
    replaces: str = ""
    item: int | None = None

    def __post_init__(self) -> None:
        Request.__post_init__(self)
        if self.item is not None and not self.replaces.strip():
            raise BadRequest("item", Text("it is the number of an item in the line of `replaces`; name that line, too"))


@record(kw_only=True)
class ReadRequest(Request):
    """Lines *start* to *end* (None: line *start* alone), clamped to the file; without both the *recent* last lines."""

    start: int | None = None
    end: int | None = None
    recent: int = 10


@record(kw_only=True)
class DeleteRequest(Request):
    """The *lines* to delete, each with its digest as in "42@1f3a9c0d"."""

    lines: Sequence[str]


@record(kw_only=True)
class InvalidateRequest(Request):
    """
    What is no longer true, and the *reason*.

    *target* is a line of the long-term file ("42@1f3a9c0d"), a message (its id, or "history.json#<id>"), or a line of a summary
    ("memory/summary/2026-01-15.md#L7").
    """

    target: str
    reason: str = field(default="", metadata={"schema": {"maxLength": _MOST_REASON}})


@record(kw_only=True)
class SummarizeRequest(Request):
    """A *session* ("": the messages that name none); *again*: all of it. *llm* writes it (None: the configured model)."""

    session: str
    again: bool = False
    llm: Any = field(default=None, metadata={"json": False})


@record(kw_only=True)
class OverflowRequest(Request):
    """
    A *session* whose messages left the recent history; *llm* as in `SummarizeRequest`.

    *since* is the time of the oldest message that a turn shows, if the turn shows less than the recent history. With *in_turn*
    a session that has grown too long is summed up, too.
    """

    session: str = ""
    since: datetime | None = None
    in_turn: bool = False
    llm: Any = field(default=None, metadata={"json": False})


@operation("write", WriteRequest, changes=True)
def write(memory: Visible, request: WriteRequest) -> Written:
    """Add a line to the long-term file, durably, and return it; if a line has the same words already, return that line."""
    now, replaces = memory.caller.clock(), request.replaces.strip()
    return memory.ws.long_term.append(request.source, request.content, now, memory.seen, replaces, request.item)


@operation("read", ReadRequest)
def read(memory: Visible, request: ReadRequest) -> LongTermLines:
    """Return lines of the long-term file with their numbers."""
    return memory.long_term().select(request.start, request.end, request.recent)


@operation("delete", DeleteRequest, changes=True)
def delete(memory: Visible, request: DeleteRequest) -> Deleted:
    """Delete lines of the long-term file; StaleLine, and nothing is deleted, if one is no longer the line that was seen."""
    return memory.ws.long_term.delete(request.lines, memory.seen)


@operation("invalidate", InvalidateRequest, changes=True, owner=True)
def invalidate(memory: Visible, request: InvalidateRequest) -> Ended:
    """
    End a line of the long-term file, a message, or a line of a summary: it is shown only where the past is asked for.

    The words stay where they are. StaleLine if the line is another one by now, NotFound if there is no such message.
    """
    from ..index.hit import BY_ID
    from ..longterm.long_term_file import Ended
    from ..protocol.marks import Struck
    from ..recall.ended import name_of, read_ended, write_ended

    ws, now, target = memory.ws, memory.caller.clock(), request.target.strip()
    bare, _, cited = target.partition("#")
    is_summary = bare.startswith(_SUMMARIES)
    if _LINE.fullmatch(target):
        return ws.long_term.end(target, now, request.reason)
    if not target or (is_summary and not cited) or (not is_summary and ".md" in bare):
        raise BadRequest("target", _NO_TARGET)
    place = target if is_summary or target.startswith(BY_ID) else f"{BY_ID}{target}"
    lines = ws.line_reader.read(place, now)
    if is_summary and (lines.start != lines.end or not lines.text.strip()):
        raise BadRequest("target", _NO_TARGET)
    until = ws.today(now)
    kind, name = ("line", name_of(lines.text)) if is_summary else ("message", unquote(place.removeprefix(BY_ID)))
    before = read_ended(ws.files, ws.paths)
    if digest := (before.lines if is_summary else before.messages).get(name):
        raise BadRequest(place, Text("it has counted as no longer true since {until}, and nothing changes", until=digest.until))
    write_ended(ws.files, ws.paths, kind, name, Struck("", until, one_line(request.reason)))
    return Ended(place, lines.text, until)


@operation("stats", NoArguments)
def stats(memory: Visible, _request: NoArguments) -> dict[str, Any]:
    """Return how many long-term lines there are (`total`), how many entries by source (`sources`), and `date_range`."""
    return memory.long_term().stats()


@operation("summarize", SummarizeRequest, owner=True, within_s=120.0)
def summarize(memory: Visible, request: SummarizeRequest) -> Written | None:
    """Write what is new in a session as one long-term line; None if nothing is new or worth a line."""
    from ..host.conversations import session_writer

    ws, clock = memory.ws, memory.caller.clock
    prompt = "conversation-to-memory"
    write_line = session_writer(ws, request.session, request.llm, prompt, clock, memory.control.deadline)
    return ws.session_lines.summarize(request.session, write_line, clock(), again=request.again)


@operation("summarize_overflow", OverflowRequest, owner=True, within_s=120.0)
def summarize_overflow(memory: Visible, request: OverflowRequest) -> Written | None:
    """Write messages that newly left the recent history as one long-term line; None if too few, or the model wrote nothing."""
    from ..host.conversations import session_writer, turn_deadline

    ws, clock = memory.ws, memory.caller.clock
    deadline = turn_deadline(ws, memory.control)
    write_line = session_writer(ws, request.session, request.llm, "overflow-summary", clock, deadline)
    return ws.session_lines.summarize_overflow(
        request.session, write_line, clock(), since=request.since, in_turn=request.in_turn
    )


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


@operation("long_term_text", NoArguments, owner=True)
def long_term_text(memory: Visible, _request: NoArguments) -> LongTermWhole:
    """Return the whole text of the long-term file, with what distinguishes it from a later one."""
    lines = memory.ws.long_term.read()
    return LongTermWhole(lines.path, lines.text, _etag(lines.text))


@operation("replace_long_term", ReplaceRequest, changes=True, owner=True)
def replace_long_term(memory: Visible, request: ReplaceRequest) -> Replaced:
    """Replace the whole text of the long-term file; the old one is kept. StaleText if it is no longer the one of the etag."""
    file = memory.ws.long_term

    def checked(text: str) -> str:
        if request.etag is not None and request.etag != _etag(text):
            raise StaleText(file.path, _etag(text), text)
        return request.content

    after = file.change(checked, keep_previous=True)
    return Replaced(after.path, _etag(after.text), after.total)


@operation("search_lines", LinesRequest)
def search_lines(memory: Visible, request: LinesRequest) -> LinesFound:
    """Return the newest lines with the keywords, in the order of the file, each as "[n] text"; never all lines."""
    from ..longterm.memory_store import search_text  # here: most commands search no lines by themselves

    lines = memory.long_term()
    words, mode = request.keywords.split(), request.match_mode
    return LinesFound(search_text(lines.lines, words, request.max_results, mode, memory.caller.language), lines.total)


def _etag(text: str) -> str:
    """Return what distinguishes this text of the file from another."""
    return digest_of(text.encode("utf-8", "surrogatepass"))[:32]
