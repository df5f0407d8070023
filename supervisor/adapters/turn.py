"""The commands around a turn: inject, context, search, get, why, index (docs/cli.md)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supervisor.adapters.opening import Folder, Json, Now, is_served, opened
from supervisor.adapters.show import as_json, as_text
from supervisor.protocol.errors import SupervisorError

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from supervisor.workspace import Workspace

Query = Annotated[str | None, typer.Option("--query", help="the input; without it, what waits in inbox.json")]

index = typer.Typer(help="The search index, which can be deleted at any time.", rich_markup_mode=None)


def inject(query: Query = None, workspace: Folder = None, now: Now = None, json: Json = False) -> None:
    """Print the memory block for an input, and nothing else."""
    from supervisor.inject import gather, record
    from supervisor.inject import inject as decide
    from supervisor.recall import recall

    ws, at = _ready(workspace, now)
    asked = gather(ws, query)
    found = recall(ws, asked.question, at, asked.before)
    made = decide(ws, asked, at, found)
    record(ws, made)
    if json:
        hits = [{**_hit(hit), "because": list(hit.because)} for hit in made.shown]
        print(as_json({"turn": made.id, "text": made.memory, "tokens": made.memory_tokens, "hits": hits}))
    elif made.memory:
        print(made.memory.rstrip("\n"))


def context(
    query: Query = None,
    system: Annotated[str, typer.Option("--system", help="the system prompt, which stays as it is")] = "",
    text: Annotated[bool, typer.Option("--text", help="as text, in place of messages as JSON")] = False,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Print the whole turn, memory and recent history in their budgets, as chat-completions messages."""
    from supervisor.inject import context as decide
    from supervisor.inject import gather, record
    from supervisor.recall import recall

    ws, at = _ready(workspace, now)
    asked = gather(ws, query)
    made = decide(ws, asked, at, recall(ws, asked.question, at, asked.before), system)
    record(ws, made)
    if text and not json:
        print("\n\n".join(f"{message['role']}: {message['content']}" for message in made.messages))
    else:
        print(as_json(list(made.messages)))


def search(
    query: Annotated[str, typer.Argument(help="words, a sentence, a date")],
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="hits at most")] = 10,
) -> None:
    """Find memories: path, lines, score."""
    from supervisor.recall import recall

    ws, at = _ready(workspace, now)
    hits = recall(ws, query, at).hits[:limit]
    if json:
        print(as_json([_hit(hit) for hit in hits]))
    for hit in () if json else hits:
        one = _hit(hit)
        line = " ".join(str(one["snippet"]).split())
        print(f"{one['score']:6.2f}  {one['path']}#L{one['startLine']}-L{one['endLine']}  {line[:160]}")


def get(
    path: Annotated[str, typer.Argument(help="memory/2026-01-28-deploy.md, with or without #L4-L6")],
    start: Annotated[int, typer.Option("--from", help="first line, from 1")] = 1,
    lines: Annotated[int | None, typer.Option("--lines", help="how many")] = None,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Print exact lines of a memory file."""
    from supervisor.lookup import get as look_up

    ws, _ = opened(workspace, now)
    found = look_up(ws, path, start, lines)
    print(as_json(asdict(found)) if json else found.text)


def why(
    turn: Annotated[str | None, typer.Argument(help="a turn's id; without it, the newest")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="what would be said now, beside what was")] = False,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Show what was put before the assistant in a turn, what was not, and why."""
    from supervisor.recall import recall
    from supervisor.why import replay as again
    from supervisor.why import why as receipt_of

    ws, _ = _ready(workspace, now)
    receipt = receipt_of(ws, turn)
    found: dict[str, Any] = asdict(again(ws, receipt, recall) if replay else receipt)
    print(as_json(found) if json else as_text(found))


@index.command("status")
def index_status(workspace: Folder = None, now: Now = None, json: Json = False) -> None:
    """Show how many files the index holds."""
    ws, _ = opened(workspace, now)
    found = {"files": len(ws.index.records())}
    print(as_json(found) if json else as_text(found))


@index.command("rebuild")
def index_rebuild(workspace: Folder = None, now: Now = None, json: Json = False) -> None:
    """Make the index anew from the files, and the vectors that are lacking."""
    from supervisor.adapters.progress import progress
    from supervisor.learning import learn
    from supervisor.recall import refresh

    ws, _ = opened(workspace, now)
    with progress() as ws.progress:
        changes = asdict(refresh(ws, wait_s=10.0, anew=True))
        learn(ws)
    print(as_json(changes) if json else as_text(changes))


def _ready(workspace: Path | None, now: str | None) -> tuple[Workspace, datetime]:
    """
    Return the workspace with its index as the files are now; a turn goes on with an older one.

    A running supervisor keeps it so itself, and the turn does not wait for that; a first index shows on a terminal.
    """
    from supervisor.adapters.progress import progress
    from supervisor.recall import refresh

    ws, at = opened(workspace, now)
    if is_served():
        return ws, at
    try:
        with progress() as ws.progress:
            refresh(ws)
    except (OSError, SupervisorError) as error:
        ws.events.emit("degraded", why=str(error))
    return ws, at


def _hit(hit: Any) -> dict[str, Any]:
    """Return a hit as 001's memory_search shows it."""
    unit = hit.unit
    return {"path": unit.path, "startLine": unit.start, "endLine": unit.end, "snippet": unit.text, "score": round(hit.score, 4)}


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (inject, context, search, get, why):
        app.command()(command)
    app.add_typer(index, name="index")
