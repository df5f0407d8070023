"""The commands of the long-term lines: write, read, delete, stats, summarize (docs/reference/cli.md)."""

from __future__ import annotations

from typing import Annotated

from ...storage.errors import BadRequest
from ...storage.texts import Text, msgid
from .call import Call
from .output import by_name, wire
from .parser import READ, Argument, Option, command


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
    from ...operations import long_term

    if replaces is not None and not replaces.strip():  # a variable of a shell that is empty
        raise BadRequest(
            "--replaces",
            Text("{ref!r} names no line, and nothing was changed; give number and digest, as in 42@1f3a9c0d", ref=replaces),
        )
    call.opened_made()
    request = long_term.WriteRequest(content=text, source=source, replaces=replaces or "", item=item)
    entry = call.perform(long_term.write, request)
    if not entry.is_shown:
        from ..tools.definitions import not_shown

        ws, at = call.opened()
        note = not_shown(call.caller(at).audience(ws))
        fields = {"path": entry.path, "total": entry.total, "new": entry.is_new, "note": note}
        call.answer(fields, [Text("written to memory."), note])
        return
    fields = {"path": entry.path, "line": entry.line, "total": entry.total, "digest": entry.digest, "new": entry.is_new}
    fields |= {name: ref for name in ("replaced", "others") if (ref := getattr(entry, name))}
    call.answer(fields | ({"act": call.acts[0]} if call.acts else {}), [entry.sentence(), *entry.sentences_on_replaced()])
    call.tell_undo()


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
    from ...operations import long_term

    if sum((line is not None, (start, end) != (None, None), recent is not None, stats)) > 1:
        raise BadRequest("read", Text("it takes a line, or --start and --end, or --recent, or --stats"))
    if stats:
        counts = call.perform(long_term.stats, None)
        call.answer(counts, wire({**counts, "sources": by_name(counts["sources"]), "date_range": counts["date_range"] or None}))
        return
    first = line if line is not None else start
    request = long_term.ReadRequest(start=first, end=end, recent=10 if recent is None else recent)
    page = call.perform(long_term.read, request)
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
    from ...operations import long_term

    done = call.perform(long_term.delete, long_term.DeleteRequest(lines=lines))
    fields = {"deleted": done.count, "total": done.total}
    call.answer({"path": done.path, **fields}, fields)
    call.tell_undo()


@command("invalidate")
def invalidate(
    call: Call,
    target: Annotated[
        str, Argument("42@1f3a9c0d, the id of a message, or a line of a summary: memory/summary/2026-01-15.md#L7")
    ],
    reason: Annotated[str, Option("--reason", "why it is no longer true")] = "",
) -> None:
    """End what is no longer true; it stays, and is shown only where the past is asked for."""
    from ...operations import long_term

    request = long_term.InvalidateRequest(target=target, reason=reason)
    done = call.perform(long_term.invalidate, request)
    fields = {"place": done.place, "text": done.text, "until": str(done.until)}
    sentence = Text("{place} is no longer true from {until} on; it is shown only where the past is asked for.", **fields)
    call.answer(fields, sentence)
    call.tell_undo()


@command("summarize")
def summarize(
    call: Call,
    session: Annotated[str, Option("--session", 'the session\'s name, as its messages have it; "": those without')],
    again: Annotated[bool, Option("--again", "all of it, not only what is new")] = False,
) -> None:
    """Write a session, or what is new in it, as one line of the long-term memory."""
    from ...operations import long_term

    request = long_term.SummarizeRequest(session=session, again=again)
    entry = call.perform(long_term.summarize, request)
    fields: dict[str, object] = {"session": session, "line": None, "new": False}
    if entry:
        fields |= {"line": entry.line, "new": entry.is_new, "path": entry.path}
        fields |= {"total": entry.total, "digest": entry.digest, "text": entry.text}
        call.answer(fields, entry.sentence(msgid("saved to memory, line {line} ({total} in all)")))
    elif call.json:
        call.answer(fields)
    else:
        call.say(Text("nothing in this session is new and worth a line; `--again` takes all of it."))
