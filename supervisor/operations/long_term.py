"""The operations on the long-term file: its lines, its whole text, and a session summed up as one of its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import unquote

from ..longterm.lines import DEFAULT_SOURCE, one_line
from ..protocol.marks import without_marks
from ..storage.errors import BadRequest, StaleText
from ..storage.files import digest_of
from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from .operation import Bounds, OfPython, Visible, operation

if TYPE_CHECKING:
    from ..longterm.long_term_file import Deleted, Ended, LongTermLines, Written

#: The most characters of keywords, and the most lines that a search by them returns.
_MOST_KEYWORDS: Final = 10_000
_MOST_RESULTS: Final = 10_000
#: What interfaces put for a source that was not named; in a group it would look like the owner's own line.
_UNNAMED: Final = frozenset({DEFAULT_SOURCE, "cli"})
#: The most characters of a reason.
_MOST_REASON: Final = 500
_LINE: Final = lazy_re(r"\d+(?:@\w*)?")
_SUMMARIES: Final = "memory/summary/"
_NO_TARGET: Final = Text(
    "it names no line, message or line of a summary; give 42@1f3a9c0d, the id of a message, or memory/summary/2026-01-15.md#L7"
)


@operation("write")
def write(memory: Visible, content: str, source: str = DEFAULT_SOURCE, replaces: str = "", item: int | None = None) -> Written:
    """
    Add a line to the long-term file, durably, and return it; if a line has the same words already, return that line.

    Its *source* is a channel, or a session's name. *replaces* is the line that is no longer true with it, as in "42@1f3a9c0d",
    "" for none; of several items in it the one with the number *item*, from 1 on (None: the one that the content is about).
    A mark is the owner's alone to set: a group's line is kept without it, with the session as its source if none was named.
    """
    if not memory.audience.chat.is_direct:
        content = without_marks(content)
        source = source if source not in _UNNAMED else memory.audience.chat.session or source
    now, replaces = memory.caller.clock(), replaces.strip()
    if item is not None and not replaces:
        raise BadRequest("item", Text("it is the number of an item in the line of `replaces`; name that line, too"))
    return memory.ws.long_term.append(source, content, now, memory.seen, replaces, item)


@operation("read")
def read(memory: Visible, start: int | None = None, end: int | None = None, recent: int = 10) -> LongTermLines:
    """
    Return lines of the long-term file with their numbers.

    They are lines *start* to *end* (None: line *start* alone), clamped to the file; without both the *recent* last lines.
    """
    return memory.long_term().select(start, end, recent)


@operation("delete")
def delete(memory: Visible, lines: Sequence[str]) -> Deleted:
    """Delete lines of the long-term file; StaleLine, and nothing is deleted, if one is no longer the line that was seen."""
    return memory.ws.long_term.delete(lines, memory.seen)


@operation("invalidate", owner=True)
def invalidate(memory: Visible, target: str, reason: Annotated[str, Bounds(length=_MOST_REASON)] = "") -> Ended:
    """
    End a line of the long-term file, a message, or a line of a summary: it is shown only where the past is asked for.

    *target* is "42@1f3a9c0d", the id of a message or "history.json#<id>", or "memory/summary/2026-01-15.md#L7". The words
    stay where they are. StaleLine if the line is another one by now, NotFound if there is no such message.
    """
    from ..index.hit import BY_ID
    from ..longterm.long_term_file import Ended
    from ..protocol.marks import Struck
    from ..recall.ended import name_of, read_ended, write_ended

    ws, now, target = memory.ws, memory.caller.clock(), target.strip()
    bare, _, cited = target.partition("#")
    is_summary = bare.startswith(_SUMMARIES)
    if _LINE.fullmatch(target):
        return ws.long_term.end(target, now, reason)
    if not target or (is_summary and not cited) or (not is_summary and ".md" in bare):
        raise BadRequest("target", _NO_TARGET)
    place = target if is_summary or target.startswith(BY_ID) else f"{BY_ID}{target}"
    lines = ws.line_reader.read(place, now)
    if is_summary and (lines.start != lines.end or not lines.text.strip()):
        raise BadRequest("target", _NO_TARGET)
    until = ws.today(now)
    kind, name = ("line", name_of(lines.text)) if is_summary else ("message", unquote(place.removeprefix(BY_ID)))
    with ws.files.lock(ws.paths.history_lock):
        before = read_ended(ws.files, ws.paths)
        if not (struck := (before.lines if is_summary else before.messages).get(name)):
            write_ended(ws.files, ws.paths, kind, name, Struck("", until, one_line(reason)))
    if struck:
        raise BadRequest(place, Text("it has counted as no longer true since {until}, and nothing changes", until=struck.until))
    return Ended(place, lines.text, until)


@operation("stats")
def stats(memory: Visible) -> dict[str, Any]:
    """Return how many long-term lines there are (`total`), how many entries by source (`sources`), and `date_range`."""
    return memory.long_term().stats()


@operation("summarize", owner=True, within_s=120.0)
def summarize(memory: Visible, session: str, again: bool = False, llm: OfPython = None) -> Written | None:
    """
    Write what is new in a session as one long-term line; None if nothing is new or worth a line.

    The session "" is that of the messages that name none. With *again* all of it is taken; *llm* writes (None: the configured
    model).
    """
    from ..host.conversations import session_writer

    ws, clock = memory.ws, memory.caller.clock
    write_line = session_writer(ws, session, llm, "conversation-to-memory", clock, memory.control.deadline)
    return ws.session_lines.summarize(session, write_line, clock(), again=again)


@operation("summarize_overflow", owner=True, within_s=120.0)
def summarize_overflow(
    memory: Visible, session: str = "", since: datetime | None = None, in_turn: bool = False, llm: OfPython = None
) -> Written | None:
    """
    Write messages that newly left the recent history as one long-term line; None if too few, or the model wrote nothing.

    *since* is the time of the oldest message that a turn shows, if the turn shows less than the recent history. With *in_turn*
    a session that has grown too long is summed up, too.
    """
    from ..host.conversations import session_writer, turn_deadline

    ws, clock = memory.ws, memory.caller.clock
    deadline = turn_deadline(ws, memory.control)
    write_line = session_writer(ws, session, llm, "overflow-summary", clock, deadline)
    return ws.session_lines.summarize_overflow(session, write_line, clock(), since=since, in_turn=in_turn)


@dataclass(frozen=True, slots=True)
class LongTermWhole:
    """The file at *path* with its whole *text*; another text has another *etag*."""

    path: str
    text: str
    etag: str


@dataclass(frozen=True, slots=True)
class Replaced:
    """The file at *path* has a new text now: its *etag*, and how many lines are in it in *total*."""

    path: str
    etag: str
    total: int


@dataclass(frozen=True, slots=True)
class LinesFound:
    """The lines that were found as text, or the sentence that says why there are none; *total* is how many lines there are."""

    results: str
    total: int


@operation("long_term_text", owner=True)
def long_term_text(memory: Visible) -> LongTermWhole:
    """Return the whole text of the long-term file, with what distinguishes it from a later one."""
    lines = memory.ws.long_term.read()
    return LongTermWhole(lines.path, lines.text, _etag(lines.text))


@operation("replace_long_term", owner=True)
def replace_long_term(memory: Visible, content: str, etag: str | None = None) -> Replaced:
    """
    Replace the whole text of the long-term file; the old one is kept. StaleText if it is no longer the one of the etag.

    Without *etag* it takes the place of whatever is there.
    """
    if "\0" in content:
        raise BadRequest("content", Text("a text must not have the character NUL or half an emoji; leave it out."))
    file = memory.ws.long_term

    def checked(text: str) -> str:
        if etag is not None and etag != _etag(text):
            raise StaleText(file.path, _etag(text), text)
        return content

    after = file.change(checked, keep_previous=True)
    return Replaced(after.path, _etag(after.text), after.total)


@operation("search_lines")
def search_lines(
    memory: Visible,
    keywords: Annotated[str, Bounds(length=_MOST_KEYWORDS)],
    max_results: Annotated[int, Bounds(least=1, most=_MOST_RESULTS)] = 15,
    match_mode: Annotated[str, Bounds(choices=("or", "and"))] = "or",
) -> LinesFound:
    """
    Return the newest lines with the keywords, in the order of the file, each as "[n] text"; never all lines.

    A line has any ("or") or all ("and") of the *keywords*, which have blanks between them.
    """
    from ..longterm.memory_store import search_text  # here: most commands search no lines by themselves

    lines = memory.long_term()
    text = search_text(lines.lines, keywords.split(), max_results, match_mode, memory.caller.language)
    return LinesFound(text, lines.total)


def _etag(text: str) -> str:
    """Return what distinguishes this text of the file from another."""
    return digest_of(text.encode("utf-8", "surrogatepass"))[:32]
