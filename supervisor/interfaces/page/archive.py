"""
What was said: the years as a calendar, a day with its words beside its summary, a month, and the search in it.

A search is shown as you type, each hit with its reasons.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from ...index.hit import Hit, SearchResult
from ...operations.days import DayCount, SummaryAnswer, period_in
from ...storage.errors import NotFound, StaleText
from ..wording import beside_hits, why_no_hits
from .views import View, go

if TYPE_CHECKING:
    from starlette.responses import Response

# ── days and months ──────────────────────────────────────────────────────────

#: Messages of one page of a day.
_PAGE: Final = 100
#: The depths of the colours, and the fewest messages of a day that has the deepest.
_LEVELS: Final = 4
_LEAST_BUSY: Final = 8


async def calendar(view: View) -> Response:
    """Show a year: the newest, or the one that is asked for."""
    answer = await view.ask("days")
    today = view.site.workspace.today(view.site.clock())
    year = view.number("year", max(answer.years, default=today.year))
    if year not in (*answer.years, today.year):
        raise NotFound(f"memory/{year:04d}-….md")
    return await view.show(
        "days.html",
        "days",
        year=year,
        years=answer.years,
        months=_months(answer.days, answer.summaries, year, today) if answer.years else (),
        today=today,
        messages=sum(day.messages for day in answer.days if day.day.year == year),
        count=sum(day.day.year == year for day in answer.days),
    )


async def period(view: View) -> Response:
    """Show a day or a month."""
    label = view.request.path_params["label"]
    shown = period_in("day", label)
    summary = await view.ask("summary", period=label)
    return await (_day if shown.kind == "day" else _month)(view, label, summary)


async def _day(view: View, label: str, summary: SummaryAnswer | None) -> Response:
    line = view.number("line", -1)
    chosen = summary.lines[line].sources if summary and 0 <= line < len(summary.lines) else ()
    wanted = view.number("whole", int(chosen[0]) if chosen else view.number("start"))
    identity = view.query("id")[:400]
    answer = await view.ask("day", day=label, start=wanted // _PAGE * _PAGE, limit=_PAGE, around=identity)
    if identity:
        chosen = tuple(str(answer.start + n) for n, message in enumerate(answer.messages) if message.id == identity)
    of_year = () if summary else (await view.ask("days", year=int(label[:4]))).summaries
    return await view.show(
        "day.html",
        "days",
        label=label,
        found=answer,
        has_month=label[:7] in of_year,
        page_size=_PAGE,
        summary=summary,
        lines=_shown_lines(summary),
        line=line,
        chosen=chosen,
        whole=view.number("whole", -1),
    )


async def _month(view: View, label: str, summary: SummaryAnswer | None) -> Response:
    answer = await view.ask("days", year=int(label[:4]))
    of_month = [day for day in answer.days if day.day.isoformat().startswith(label)]
    if not of_month and summary is None:
        raise NotFound(f"memory/summary/{label}.md")
    return await view.show(
        "month.html",
        "days",
        label=label,
        summary=summary,
        lines=_shown_lines(summary),
        counted=of_month,
        summaries=frozenset(answer.summaries),
        most=max((day.messages for day in of_month), default=1),
    )


async def edit(view: View) -> Response:
    """Show the editor of a summary, or save it; a summary that has changed meanwhile is shown beside the text."""
    label = view.request.path_params["label"]
    period_in("period", label)
    if view.request.method == "GET":
        summary = await view.ask("summary", period=label)
        if summary is None:
            raise NotFound(f"memory/summary/{label}.md")
        return await view.show("summary_edit.html", "days", label=label, text=summary.text, etag=summary.etag)
    form = await view.form()
    text, etag = form.get("text", ""), form.get("etag", "")
    try:
        await view.ask("edit_summary", period=label, text=text, etag=etag or None)
    except StaleText as stale:
        both = {"text": text, "theirs": stale.text, "etag": stale.etag}
        return await view.show("summary_edit.html", "days", 412, label=label, **both)
    return go(f"/days/{label}")


def _months(days: Sequence[DayCount], summaries: Sequence[str], year: int, today: date) -> list[Mapping[str, Any]]:
    """Return the months of the year from the first to the last that has days, or to that of *today*, as a calendar has them."""
    messages = {day.day: day.messages for day in days if day.day.year == year}
    last = max([*(day.month for day in messages), *([today.month] if today.year == year else [])], default=12)
    first = min((day.month for day in messages), default=1)
    busy = max([_LEAST_BUSY, *messages.values()])
    months = {f"{year:04d}-{month:02d}": date(year, month, 1) for month in range(last, first - 1, -1)}
    return [
        {"label": label, "cells": _cells(month, messages, busy), "has_summary": label in summaries}
        for label, month in months.items()
    ]


def _cells(month: date, messages: Mapping[date, int], busy: int) -> Iterator[Mapping[str, Any]]:
    """Yield the days: how deep the colour of each is (0 to 4), and the column of the first, 0 for others."""
    for number in range(1, monthrange(month.year, month.month)[1] + 1):
        day = month.replace(day=number)
        count = messages.get(day, 0)
        level = -(-_LEVELS * count // busy)
        yield {"day": day, "messages": count, "level": level, "column": day.isoweekday() if number == 1 else 0}


def _shown_lines(summary: SummaryAnswer | None) -> list[Mapping[str, Any]]:
    """Return the lines of a summary without the marks of headings, quotations and items; *sources* are as in the answer."""
    lines: list[Mapping[str, Any]] = []
    for number, line in enumerate(summary.lines if summary else ()):
        text = line.text.strip()
        if text.startswith("#"):
            kind, text = "heading", text.lstrip("#")
        elif text.startswith(">"):
            kind, text = "note", text.lstrip(">")
        elif text.startswith(("- ", "* ", "+ ", "• ")):
            kind, text = "item", text[2:]
        else:
            kind = "text"
        lines.append({"kind": kind, "text": text.strip(), "sources": line.sources, "number": number})
    return lines


# ── search ───────────────────────────────────────────────────────────────────

#: Hits of one page.
_LIMIT: Final = 30
#: Characters of a question that are searched for.
_CHARS: Final = 2_000


async def search(view: View) -> Response:
    """Show the hits of what is asked for."""
    query = view.query("q")[:_CHARS]
    result: SearchResult | None = None
    if query.strip():
        result = await view.ask("search", query=query, limit=_LIMIT)
    return await view.show(
        "search.html",
        "search",
        q=query,
        found=result,
        places=[_place(hit) for hit in result.hits] if result else (),
        note=(beside_hits(result) if result.hits else why_no_hits(result)) if result else "",
    )


def _place(hit: Hit) -> str:
    """Return the address of the page that has the words of a hit."""
    passage = hit.unit
    if passage.tier == "long_term":
        return f"/long-term?line={passage.start}#line-{passage.start}"
    if passage.tier == "summary":
        return f"/days/{passage.path.rpartition('/')[2].removesuffix('.md')}"
    return f"/days/{passage.day}?{urlencode({'id': passage.message})}#found" if passage.day else ""
