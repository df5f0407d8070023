"""The commands that take back: `forget` shows what would go, asks, and does it; `undo`, `prune`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from ...storage.errors import BadRequest
from ...storage.texts import Text, msgid
from ...text.foreign_text import shortened
from .call import Call
from .output import wire, word
from .parser import Argument, Option, command

if TYPE_CHECKING:
    from ...operations.forget import Forgotten, ToForget

Yes = Annotated[bool, Option("--yes", "without asking")]


@command("forget")
def forget(
    call: Call,
    message: Annotated[str | None, Option("--message", "one message, by its id")] = None,
    line: Annotated[str | None, Option("--line", "a line of the long-term memory, as in 42@1f3a9c0d")] = None,
    match: Annotated[str | None, Option("--match", "all messages and lines in which these words stand")] = None,
    session: Annotated[str | None, Option("--session", "all messages of a session")] = None,
    day: Annotated[str | None, Option("--day", "all messages of a day, as in 2026-01-28")] = None,
    file: Annotated[str | None, Option("--file", "a dated file, a note or a picture, by its name")] = None,
    removed: Annotated[bool, Option("--removed", "what you deleted or changed by hand, where it still stands")] = False,
    yes: Yes = False,
) -> None:
    """Delete words from every place of the workspace, for good; shows first what would go, and asks."""
    from ...operations import forget as operations

    named = {"message": message, "line": line, "match": match, "session": session, "day": day, "file": file}
    given = {by: value for by, value in named.items() if value is not None} | ({"removed": ""} if removed else {})
    if len(given) != 1:
        raise BadRequest(
            "forget", Text("give exactly one of --message, --line, --match, --session, --day, --file and --removed")
        )
    by, value = next(iter(given.items()))

    def ask(**more: Any) -> Forgotten:
        return call.perform(operations.forget, operations.ForgetRequest(by=by, value=value, **more))

    shown = ask()
    # before a line is printed: nobody may read the output to its end
    done = ask(yes=True, shown=shown.digest) if yes and not shown.is_empty else None
    lines = _shown(call, shown, by, value)
    call.answer(asdict(done or shown), lines)
    if call.json or shown.is_empty:
        return
    if not done and sys.stdin and sys.stdin.isatty() and call.confirm(Text("Forget this for good? It can't be undone.")):
        done = ask(yes=True, shown=shown.digest)
    if not done:
        call.say(Text("nothing was forgotten; --yes forgets it without a question."))
    elif done.done:
        call.tell(Text("forgotten: {amounts}", amounts=done.amounts))
    else:
        call.tell(Text("it is written down, and the supervisor goes on with it; `recalld status` says when it is done."))


def _shown(call: Call, shown: Forgotten, by: str, value: str) -> list[str]:
    left = [Text("the same words stand in {path}, which is yours: take them out there.", path=path) for path in shown.left]
    if shown.is_empty:
        none = Text("nothing to forget: nothing in memory matches {option}.", option=f"--{by} {value}".rstrip())
        return [none, *left]
    lines: list[str] = [Text("to be forgotten: {amounts}", amounts=shown.amounts)]
    lines += [_line(call, item) for item in (*shown.messages, *shown.lines)]
    lines += [f"  {name}" for name in shown.files]
    lines += ["", *(f"- {call.render(spot.sentence)}" for spot in shown.places)]
    lines += ["", *left] if left else []
    return [*lines, "", Text("What recalld can't reach:"), *(f"- {call.render(place)}" for place in shown.outside)]


def _line(call: Call, item: ToForget) -> str:
    ref = call.render(Text("kept for undo")) if item.is_undone else item.ref
    return "  " + "  ".join(filter(None, (ref, item.day, call.render(word(item.role)), item.text)))


@command("undo")
def undo(
    call: Call,
    act: Annotated[str, Argument("an id in CHANGES.md, such as w-3f9a2c11; without it, the newest is shown")] = "",
) -> None:
    """Undo a change of memory, as long as no later change depends on it."""
    from ...operations import undo as operations

    done = call.perform(operations.undo, operations.UndoRequest(id=act))
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
    from ...operations import prune as operations

    request = operations.PruneRequest(
        summary_days=summary_days, recent_days=recent_days, keep_longterm=keep_longterm, dry_run=dry_run
    )
    done = call.perform(operations.prune, request)
    moved = (
        msgid("files that went to trash/: {count} ({bytes} bytes); `recalld undo` with the id in CHANGES.md brings them back")
        if done.files
        else msgid("no file went to trash/.")
    )
    if dry_run:
        moved = msgid("files that would go to trash/: {count} ({bytes} bytes)")
    lines = [Text(moved, count=len(done.files), bytes=done.bytes), *(f"  {name}" for name in done.files)]
    if done.uncovered:
        lines.append(
            Text(
                "files as old as these that stay, since no summary of a model covers them as they are: {count}",
                count=done.uncovered,
            )
        )
    call.answer(wire(asdict(done)), lines)
    call.tell_undo()
