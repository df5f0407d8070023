"""The commands that write memory and take it back: write, read, delete, …, forget, undo, prune (docs/reference/cli.md)."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

from ...storage.errors import BadRequest
from ...storage.texts import Text, msgid
from ...text.foreign_text import printable_line, shortened
from ..output import by_name, wire, word
from .call import Call
from .parser import READ, Argument, Option, command

if TYPE_CHECKING:
    from ...operations.forget import Forgotten


@command("write", common=READ)
def write(
    call: Call,
    text: Annotated[str, Argument("what to remember; several things are separated by ；")],
    source: Annotated[str, Option("--source", "where it comes from: a channel, or a session's name")] = "cli",
    replaces: Annotated[
        str | None, Option("--replaces", "the line that is no longer true with it, as in 42@1f3a9c0d; `read` shows it")
    ] = None,
    item: Annotated[int | None, Option("--item", "which item of that line ends, if it has several: 1 is the first")] = None,
) -> None:
    """Add a line to the long-term memory; it is safe when the command returns."""
    if replaces is not None and not replaces.strip():  # a variable of a shell that is empty
        raise BadRequest(
            "--replaces",
            Text("{ref!r} names no line, and nothing was changed; give number and digest, as in 42@1f3a9c0d", ref=replaces),
        )
    entry = call.perform("write", content=text, source=source, replaces=replaces or "", item=item)
    if not entry.is_shown:
        from ..tools.definitions import NOT_SHOWN

        note = Text(NOT_SHOWN)
        fields = {"path": entry.path, "total": entry.total, "new": entry.is_new, "note": note}
        call.answer(fields, [Text("written to memory."), note])
        return
    fields = {"path": entry.path, "line": entry.line, "total": entry.total, "digest": entry.digest, "new": entry.is_new}
    fields |= {name: ref for name in ("replaced", "others") if (ref := getattr(entry, name))}
    call.answer(fields | ({"act": call.acts[0]} if call.acts else {}), [entry.sentence(), *entry.sentences_on_replaced()])


@command("read", common=READ)
def read(
    call: Call,
    line: Annotated[int | None, Argument("one line, by its number")] = None,
    start: Annotated[int | None, Option("--start", "the first line")] = None,
    end: Annotated[int | None, Option("--end", "the last line")] = None,
    recent: Annotated[int | None, Option("--recent", "how many of the last lines (10)")] = None,
    stats: Annotated[bool, Option("--stats", "count the lines by source instead, with the first and the last day")] = False,
) -> None:
    """Print lines of the long-term memory, numbered as `delete` takes them; without any option the last ten."""
    if sum((line is not None, (start, end) != (None, None), recent is not None, stats)) > 1:
        raise BadRequest("read", Text("it takes a line, or --start and --end, or --recent, or --stats"))
    if stats:
        counts = call.perform("stats")
        call.answer(counts, wire({**counts, "sources": by_name(counts["sources"]), "date_range": counts["date_range"] or None}))
        return
    first = line if line is not None else start
    page = call.perform("read", start=first, end=end, recent=10 if recent is None else recent)
    if line is not None and page.total and not any(shown.number == line for shown in page.lines):
        raise BadRequest("read", Text("there is no line {line}; without a number the last ones are shown", line=line))
    if not (call.json or page.total):
        call.say(Text("the long-term memory is empty."))
    elif call.json or page.lines:
        lines = [{"line": line.number, "text": line.text, "digest": line.digest} for line in page.lines]
        numbered = [f"[{line.number}@{line.digest}] {line.text}" for line in page.lines]
        call.answer({"path": page.path, "total": page.total, "lines": lines}, numbered)


@command("delete", common=READ)
def delete(
    call: Call, lines: Annotated[list[str], Argument("number and digest, as in 42@1f3a9c0d; `read` shows them")]
) -> None:
    """Delete lines of the long-term memory; none of them if one has changed."""
    done = call.perform("delete", lines=lines)
    fields = {"deleted": done.count, "total": done.total}
    call.answer({"path": done.path, **fields}, fields)


@command("invalidate")
def invalidate(
    call: Call,
    target: Annotated[
        str, Argument("42@1f3a9c0d, the id of a message, or a line of a summary: memory/summary/2026-01-15.md#L7")
    ],
    reason: Annotated[str, Option("--reason", "why it is no longer true")] = "",
) -> None:
    """End what is no longer true; it stays, and is shown only where the past is asked for."""
    done = call.perform("invalidate", target=target, reason=reason)
    fields = {"place": done.place, "text": done.text, "until": str(done.until)}
    words = shortened(done.text)
    sentence = Text(
        '"{words}" ({place}) is no longer true from {until} on; it is shown only where the past is asked for.',
        words=words,
        **fields,
    )
    call.answer(fields, sentence)


@command("summarize")
def summarize(
    call: Call,
    session: Annotated[str, Option("--session", 'the session\'s name, as its messages have it; "": those without')],
    again: Annotated[bool, Option("--again", "all of it, not only what is new")] = False,
) -> None:
    """Write a session, or what is new in it, as one line of the long-term memory."""
    entry = call.perform("summarize", session=session, again=again)
    fields: dict[str, object] = {"session": session, "line": None, "new": False}
    if entry:
        fields |= {"line": entry.line, "new": entry.is_new, "path": entry.path}
        fields |= {"total": entry.total, "digest": entry.digest, "text": entry.text}
        call.answer(fields, entry.sentence(msgid("saved to memory, line {line} (entries: {total})")))
    elif call.json:
        call.answer(fields)
    else:
        call.say(Text("nothing in this session is new and worth a line; `--again` takes all of it."))


# ── taken back ───────────────────────────────────────────────────────────────


@command("forget")
def forget(
    call: Call,
    message: Annotated[str | None, Option("--message", "one message, by its id")] = None,
    line: Annotated[str | None, Option("--line", "a line of the long-term memory, as in 42@1f3a9c0d")] = None,
    match: Annotated[str | None, Option("--match", "all messages and lines in which these words stand")] = None,
    session: Annotated[str | None, Option("--session", "all messages of a session")] = None,
    day: Annotated[str | None, Option("--day", "all messages of a day, as in 2026-01-28")] = None,
    file: Annotated[str | None, Option("--file", "a dated file, a note or a picture, by its name")] = None,
    removed: Annotated[bool, Option("--removed", "what you deleted by hand, where it still stands")] = False,
    yes: Annotated[bool, Option("--yes", "without asking")] = False,
) -> None:
    """Delete words from every place of the workspace, for good; shows first what would go, and asks."""
    named = {"message": message, "line": line, "match": match, "session": session, "day": day, "file": file}
    given = {by: value for by, value in named.items() if value is not None} | ({"removed": ""} if removed else {})
    if len(given) != 1:
        raise BadRequest(
            "forget", Text("give exactly one of --message, --line, --match, --session, --day, --file and --removed")
        )
    by, value = next(iter(given.items()))
    ask = partial(call.perform, "forget", by=by, value=value)
    shown = ask()
    # before a line is printed: nobody may read the output to its end
    done = ask(yes=True, shown=shown.digest) if yes and not shown.is_empty else None
    call.answer(asdict(done or shown), _shown(call, shown, by, value))
    if call.json or shown.is_empty:
        return
    if not done and sys.stdin and sys.stdin.isatty() and call.confirm(Text("Forget this for good? It can't be undone.")):
        done = ask(yes=True, shown=shown.digest)
    if not done:
        call.say(Text("nothing was forgotten; --yes forgets it without a question."))
    else:
        waits = Text("it is written down, and the supervisor goes on with it; `recalld status` says when it is done.")
        call.show(call.render(Text("forgotten: {amounts}", amounts=done.amounts) if done.done else waits))


def _shown(call: Call, shown: Forgotten, by: str, value: str) -> list[str]:
    left = [Text("the same words stand in {path}, which is yours: take them out there.", path=path) for path in shown.left]
    if shown.is_empty:
        none = Text("nothing to forget: nothing in memory matches {option}.", option=f"--{by} {value}".rstrip())
        return [none, *left]
    lines: list[str] = [Text("to be forgotten: {amounts}", amounts=shown.amounts)]
    items = ((item.ref, item.day, call.render(word(item.role)), item.text) for item in (*shown.messages, *shown.lines))
    lines += [f"  {printable_line(row)}" for row in (*("  ".join(filter(None, item)) for item in items), *shown.files)]
    lines += ["", *(f"- {call.render(spot.sentence)}" for spot in shown.places)]
    lines += ["", *left] if left else []
    return [*lines, "", Text("What recalld can't reach:"), *(f"- {call.render(place)}" for place in shown.outside)]


@command("undo")
def undo(
    call: Call,
    act: Annotated[str, Argument("an id in CHANGES.md, such as w-3f9a2c11")],
) -> None:
    """Undo a change of memory, as long as no later change depends on it."""
    done = call.perform("undo", id=act)
    lines = [Text("undone: {what}", what=done.what) if done.done else Text("it was undone already; nothing changes.")]
    lines += [Text("  taken away: {text}", text=shortened(item)) for item in done.taken]
    lines += [Text("  there again: {text}", text=shortened(item)) for item in done.back]
    call.answer(asdict(done), lines)


@command("prune")
def prune(
    call: Call,
    summary_days: Annotated[
        int, Option("--summary-days", "move files older than so many days, if a model's summary covers them")
    ] = 180,
    recent_days: Annotated[int, Option("--recent-days", "keep the files of the last so many days in any case")] = 5,
    keep_longterm: Annotated[bool, Option("--keep-longterm", "keep the long-term file, as always")] = True,
    dry_run: Annotated[bool, Option("--dry-run", "list the files, and move none")] = False,
) -> None:
    """Move old dated files that a model's summary covers to trash/, where `undo` finds them; nothing does it by itself."""
    limits = {"summary_days": summary_days, "recent_days": recent_days, "keep_longterm": keep_longterm}
    done = call.perform("prune", **limits, dry_run=dry_run)
    moved = msgid("no file went to trash/.")
    if dry_run:
        moved = msgid("files that would go to trash/: {count} ({bytes} bytes)")
    elif done.files:
        moved = msgid(
            "files that went to trash/: {count} ({bytes} bytes); `recalld undo` with the id in CHANGES.md brings them back"
        )
    lines = [Text(moved, count=len(done.files), bytes=done.bytes), *(f"  {name}" for name in done.files)]
    if done.uncovered:
        sentence = msgid("files as old as these that stay, since no summary of a model covers them as they are: {count}")
        lines.append(Text(sentence, count=done.uncovered))
    call.answer(wire(asdict(done)), lines)
