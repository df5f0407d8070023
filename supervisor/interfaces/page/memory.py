"""
The memory as a whole: how it is, its long-term file, the sessions that become lines of it, and what is to be forgotten.

Today: whether it is well and what mends it, what came in, what is due, what it cost. Health: every check with its remedy.

The file is shown as lines (MemoryViewer), as text to edit (MemoryEditor), with a search in it (MemorySearch); 000.35. Each
session has the button that keeps its conversation as one line; 000.37.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from ...checks.check import Finding, State
from ...longterm.lines import cut, filled, parse_entry
from ...operations.days import DayCount
from ...operations.history import MOST_SESSIONS
from ...storage.errors import BadRequest, StaleText
from .views import View, go, own_address

if TYPE_CHECKING:
    from starlette.responses import Response

# ── today and health ─────────────────────────────────────────────────────────

_ORDER: Final = ("bad", "odd", "good")
#: Days in the strip of today, and the newest messages that are shown.
_STRIP: Final = 21
_NEWEST: Final = 8


async def today(view: View) -> Response:
    """Show the page."""
    state = await view.ask("status")
    states: tuple[State, State] = ("good", "odd") if state.is_well else ("bad", "bad")
    counted = await view.ask("days")
    present = view.site.workspace.today(view.site.clock())
    last, newest = counted.days[-1] if counted.days else None, None
    if last:
        start = max(0, last.messages - _NEWEST)
        newest = await view.ask("day", day=last.day.isoformat(), start=start, limit=_NEWEST)
    return await view.show(
        "today.html",
        "today",
        verdict=[Finding(states[n > 0], sentence) for n, sentence in enumerate(state.sentences)],
        facts=state.facts,
        counts=next((count for count in counted.days if count.day == present), None),
        strip=_strip(counted.days, present),
        last=last and last.day,
        newest=newest,
        retries=sorted(state.facts["waitingForRetry"].items()),
        queued=sum(state.facts["queue"].values()),
    )


async def file_now(view: View) -> Response:
    """File what waits, and lead back."""
    await view.form()
    await view.ask("archive")
    return go("/")


def _strip(counted: Sequence[DayCount], today: date) -> list[Mapping[str, Any]]:
    """Return the last three weeks, each day with its messages, and the height of its bar in per cent of the highest."""
    messages = {week.day: week.messages for week in counted[-2 * _STRIP :]}
    shown = [today - timedelta(days=back) for back in reversed(range(_STRIP))]
    most = max((messages.get(day, 0) for day in shown), default=0) or 1
    return [{"day": day, "messages": messages.get(day, 0), "height": round(100 * messages.get(day, 0) / most)} for day in shown]


async def health(view: View) -> Response:
    """Show what each check finds, and what mends it; with `all` the slow checks run now."""
    findings = await view.ask("examine", slow=bool(view.query("all")))
    return await view.show(
        "health.html",
        "health",
        findings=sorted(findings, key=lambda finding: _ORDER.index(finding.state)),  # what is wrong comes first
        states={name: sum(finding.state == name for finding in findings) for name in ("good", "odd", "bad")},
        ran_all=bool(view.query("all")),
    )


# ── the long-term file ───────────────────────────────────────────────────────

#: Lines of a page without `all`, the newest.
_FIRST: Final = 200
#: Sessions of a page without `all`.
_FIRST_SESSIONS: Final = 60


async def panel(view: View) -> Response:
    """Show the file, or its editor with `edit`; save what the editor sends."""
    if view.request.method == "POST":
        return await _save(view)
    answer = await view.ask("long_term_text")
    if view.query("edit"):
        return await view.show("memory_edit.html", "memory", file=answer.path, text=answer.text, etag=answer.etag)
    lines = filled(cut(answer.text))
    wanted, older = view.number("line"), lines[:-_FIRST]
    shown = lines if view.query("all") or (older and 0 < wanted <= older[-1].number) else lines[-_FIRST:]
    return await view.show(
        "memory.html",
        "memory",
        file=answer.path,
        lines=[(line, parse_entry(line.text)) for line in reversed(shown)],
        total=len(lines),
        stats=await view.ask("stats"),
        saved=bool(view.query("saved")),
        wanted=wanted,
    )


async def _save(view: View) -> Response:
    form = await view.form()
    text, etag = form.get("content", "").replace("\r\n", "\n"), form.get("etag", "")
    try:
        await view.ask("replace_long_term", content=text, etag=etag or None)
    except StaleText as stale:
        both = {"text": text, "theirs": stale.text, "etag": stale.etag}
        return await view.show("memory_edit.html", "memory", 412, file=str(stale.path), **both)
    return go("/long-term?saved=1")


# ── sessions ─────────────────────────────────────────────────────────────────


async def sessions(view: View) -> Response:
    """Show the sessions; *done* and *session* of the address say what a press without scripts did."""
    answer = await view.ask("sessions", limit=MOST_SESSIONS if view.query("all") else _FIRST_SESSIONS)
    has_model = not view.site.workspace.extracting
    return await view.show(
        "sessions.html", "sessions", found=answer, done=view.query("done"), line=view.number("line"), has_model=has_model
    )


async def summarize(view: View) -> Response:
    """Keep a session as a line, for a browser without scripts."""
    form = await view.form()
    written = await view.ask("summarize", session=form.get("session", ""))
    return go("/sessions?" + urlencode({"done": "kept", "line": written.line} if written else {"done": "nothing"}))


# ── forgetting ───────────────────────────────────────────────────────────────


async def forget(view: View) -> Response:
    """Show what would go; do it where the form says so, and only what it has shown."""
    if view.request.method == "GET":
        return await _preview(view, view.query("by"), view.query("value"), view.query("back"))
    form = await view.form()
    by, value, back = form.get("by", ""), form.get("value", ""), form.get("back", "")
    try:
        done = await view.ask("forget", by=by, value=value, yes=True, shown=form.get("shown", ""))
    except BadRequest as error:
        if error.field != "shown":
            raise
        return await _preview(view, by, value, back, has_changed=True)
    return await view.show("forgotten.html", _place_of(by), done=done, back=own_address(back))


async def _preview(view: View, by: str, value: str, back: str, *, has_changed: bool = False) -> Response:
    shown = await view.ask("forget", by=by, value=value)
    return await view.show(
        "forget.html",
        _place_of(by),
        412 if has_changed else 200,
        by=by,
        value=value,
        back=own_address(back),
        shown=shown,
        has_changed=has_changed,
    )


def _place_of(by: str) -> str:
    return "memory" if by == "line" else "days"
