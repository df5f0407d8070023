"""The operations on days and months: what memory has of each, a day's words, a summary with its sources, and its edit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Final

from ..archive.coverage import MemoryFile
from ..protocol.dated_file import Block
from ..protocol.paths import Period, read_period
from ..storage.errors import BadRequest, NotFound, StaleText
from ..storage.texts import Text, msgid
from ..workspace import Workspace
from .operation import Bounds, Visible, operation

#: The most messages of one answer.
MOST_MESSAGES: Final = 1_000
#: Hex digits of an etag.
ETAG: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCount:
    """How many *messages* memory has of a day, how many of them no file holds yet (*waiting*), and in how many bytes."""

    day: date
    messages: int = 0
    waiting: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysAnswer:
    """The *days* with messages, oldest first; all *years* of memory; *summaries* are the days and months that have one."""

    days: tuple[DayCount, ...]
    years: tuple[int, ...]
    summaries: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayMessage:
    """One message of a day; *path* is its file, "" while no file holds it."""

    id: str
    at: datetime
    role: str
    speaker: str
    session: str
    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DayAnswer:
    """*messages* from number *start* on, of *total*; the *files* and notes of the day; the days *before* and *after* it."""

    day: str
    start: int
    total: int
    messages: tuple[DayMessage, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...]
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryLine:
    """A line of a summary; *sources* are the messages that it comes from, by number in the day, or the days of a month."""

    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryAnswer:
    """
    A summary, without recalld's marks: *text*, the same as *lines*, who made it, and the dated files that it names.

    *edited*: a person has changed it; *extract*: no model wrote it; *waits*: it stands until the model has answered;
    *refused*: the model whose answers were refused, so that it stands. *etag* names this version for `edit_summary`.
    """

    period: str
    text: str
    lines: tuple[SummaryLine, ...]
    files: tuple[str, ...]
    created: str
    provider: str
    model: str
    extract: bool
    waits: bool
    refused: str
    edited: bool
    etag: str


@operation("days", owner=True)
def days(memory: Visible, year: int | None = None) -> DaysAnswer:
    """Return how many messages memory has of each day, and which days and months have a summary."""
    ws, now = memory.ws, memory.caller.clock()
    counts: defaultdict[date, list[int]] = defaultdict(lambda: [0, 0, 0])
    for file in ws.memory.dated():
        count = counts[file.day]
        count[0] += file.count if file.ours else 1
        count[2] += file.size
    for message in ws.unfiled.messages(now):
        if message.created_at:
            count = counts[ws.today(message.created_at)]
            count[0] += 1
            count[1] += 1
    years = tuple(sorted({day.year for day in counts}))
    wanted = sorted(day for day in counts if year in (None, day.year))
    of_year = "" if year is None else f"{year:04d}-"
    labels = sorted(period.label for period in ws.memory.summaries() if period.label.startswith(of_year))
    return DaysAnswer(
        days=tuple(DayCount(day=day, messages=counts[day][0], waiting=counts[day][1], bytes=counts[day][2]) for day in wanted),
        years=years,
        summaries=tuple(labels),
    )


@operation("day", owner=True)
def day(
    memory: Visible,
    day: str,
    start: int = 0,
    limit: Annotated[int, Bounds(least=1, most=MOST_MESSAGES)] = 200,
    around: str = "",
) -> DayAnswer:
    """
    Return the messages of a day, oldest first, from its files and of those that no file holds yet.

    They are *limit* at most from number *start* on, counted from 0; with the id of a message in *around* those of the page of
    *limit* messages that has it.
    """
    ws, now = memory.ws, memory.caller.clock()
    wanted = date.fromisoformat(period_in("day", day, "day").label)
    files = ws.memory.dated()
    of_day = [file for file in files if file.day == wanted]
    messages = _messages(ws, of_day, now, wanted)
    if not of_day and not messages:
        raise NotFound(f"memory/{day}-….md")
    place = next((n for n, message in enumerate(messages) if message.id == around), None) if around else None
    start = max(0, min(start, len(messages))) if place is None else place // limit * limit
    others = sorted(
        {file.day for file in files}
        | {ws.today(message.created_at) for message in ws.unfiled.messages(now) if message.created_at}
    )
    return DayAnswer(
        day=day,
        start=start,
        total=len(messages),
        messages=tuple(messages[start : start + limit]),
        files=tuple(_path(ws, file) for file in of_day if file.ours and ws.memory.text(file.name)),
        notes=tuple(_path(ws, file) for file in of_day if not file.ours),
        before=max((message.isoformat() for message in others if message < wanted), default=None),
        after=min((message.isoformat() for message in others if message > wanted), default=None),
    )


@operation("summary", owner=True)
def summary(memory: Visible, period: str) -> SummaryAnswer | None:
    """Return the summary of a day or a month, with the words that each line comes from; None if there is none."""
    from ..protocol.summary_file import plain_text
    from ..summaries.reading import sources_of

    ws = memory.ws
    wanted = period_in("period", period)
    version, parsed = ws.memory.read_summary(wanted)
    if version is None or parsed is None:
        return None
    text = plain_text(version.data, ws.paths.summary(wanted))
    lines = [line for line in text.split("\n") if line.strip()]
    names, passages = _passages(ws, wanted, memory.caller.clock())
    traced = sources_of(["" if line.startswith(("#", ">")) else line for line in lines], passages)
    return SummaryAnswer(
        period=wanted.label,
        text=text,
        lines=tuple(
            SummaryLine(text=line, sources=_day_of(line, wanted, names) or tuple(names[n] for n in numbers))
            for line, numbers in zip(lines, traced, strict=True)
        ),
        files=tuple(source.name for source in parsed.sources),
        created=parsed.created,
        provider=parsed.provider,
        model=parsed.model,
        extract=parsed.extract,
        waits=parsed.waits,
        refused=parsed.refused.partition(" ")[0] if parsed.extract else "",
        edited=bool(parsed.kept),
        etag=version.digest[:ETAG],
    )


@operation("edit_summary", owner=True)
def edit_summary(memory: Visible, period: str, text: str, etag: str | None = None) -> SummaryAnswer | None:
    """
    Replace the text of a summary, and return it as it is then; the old version is kept in .recalld/previous/.

    *etag* is that of the version that was edited (None: whatever is there). It is a person's text then: newer text of a model
    is added below it. NotFound if there is no summary, StaleText if it is no longer the version that was edited.
    """
    from ..protocol.summary_file import plain_text

    ws, wanted = memory.ws, period_in("period", period)
    path = ws.paths.relative(ws.paths.summary(wanted))
    with ws.files.lock(ws.paths.history_lock):  # of two people who save at once one is told
        version, _ = ws.memory.read_summary(wanted)
        if version is None:
            raise NotFound(path)
        if etag not in (None, version.digest[:ETAG]):
            raise StaleText(path, version.digest[:ETAG], plain_text(version.data, ws.paths.summary(wanted)))
        if not text.strip():
            raise BadRequest("text", Text("the text is empty; a summary that is not wanted is deleted, not emptied"))
        ws.memory.edit_summary(wanted, text, version)
    return summary.run(memory, period)


def period_in(field: str, label: object, kind: str = "") -> Period:
    """Return the period of *label*, which has to be a day where *kind* says so; BadRequest if it is none."""
    parsed = read_period(str(label))
    if parsed is None or (kind and parsed.kind != kind):
        why = (
            msgid("{label!r} is no day (2026-01-28)")
            if kind == "day"
            else msgid("{label!r} is no day (2026-01-28) and no month (2026-01)")
        )
        raise BadRequest(field, Text(why, label=str(label)[:40]))
    return parsed


def _messages(ws: Workspace, files: Iterable[MemoryFile], now: datetime, wanted: date) -> list[DayMessage]:
    """Return the messages of the day, each once with its last words, in the order of their times."""
    from ..protocol.dated_file import block_of

    messages: dict[tuple[str, str], DayMessage] = {}
    for file in files:
        path = _path(ws, file)
        for block in ws.memory.blocks(file.name):
            messages[block.revision_of or block.id, ""] = _message(block, path)
    for message in ws.unfiled.messages(now):
        if message.created_at and ws.today(message.created_at) == wanted:
            messages[message.id, ""] = _message(block_of(message), "")
    return sorted(messages.values(), key=lambda message: message.at)


def _message(block: Block, path: str) -> DayMessage:
    return DayMessage(
        id=block.revision_of or block.id,
        at=block.created_at,
        role=block.role,
        speaker=block.speaker,
        session=block.session,
        path=path,
        text=block.shown,
    )


def _day_of(line: str, period: Period, days: Sequence[str]) -> tuple[str, ...]:
    """Return the day of a month that a line of its summary begins with, as each line of an extract does."""
    day = f"{period.label[:4]}-{line.removeprefix('- ')[:5]}"
    return (day,) if day in days else ()


def _passages(ws: Workspace, period: Period, now: datetime) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names and the texts of what a summary may come from: the messages of a day by number, the days of a month."""
    files = [file for file in ws.memory.dated() if period.holds(file.day)]
    if period.kind == "day":
        messages = _messages(ws, files, now, date.fromisoformat(period.label))
        return [str(number) for number in range(len(messages))], [message.text for message in messages]
    texts: defaultdict[str, list[str]] = defaultdict(list)
    summaries = ws.memory.summaries()
    for file in files:
        label = file.day.isoformat()
        of_day = summaries.get(Period(label))
        texts[label] += [of_day.text] if of_day and not texts[label] else ws.memory.message_texts(file.name)
    return list(texts), ["\n".join(message) for message in texts.values()]


def _path(ws: Workspace, file: MemoryFile) -> str:
    return ws.paths.relative(ws.paths.original(file.name) if file.original else ws.paths.dated(file.name))
