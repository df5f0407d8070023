"""The commands of a turn and of the index: append, inject, context, search, get, why, index (docs/reference/cli.md)."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recalld.supervisor.interfaces.cli import admin, long_term
from recalld.supervisor.interfaces.cli.app import Folder, Json, Kind, Now, Session, new_app
from recalld.supervisor.interfaces.cli.call import is_served, opened, refuse_other_chats, say, teller
from recalld.supervisor.interfaces.cli.output import as_json, as_text, receipt_text, replay_text, show
from recalld.supervisor.interfaces.search_notes import NOT_ASKED, refs_of, why_no_hits, why_not_whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from recalld.supervisor.index.commit import Inventory
    from recalld.supervisor.index.hit import SearchResult
    from recalld.supervisor.interfaces.api import Memory

Query = Annotated[str | None, typer.Option("--query", help="the input; without it, what waits in inbox.json")]

#: Reasons of the memory block for hits that the reader has anyway.
_SHOWN_ELSEWHERE: Final = frozenset({"in the history", "the question"})
_NOT_ASKED: Final = "nothing was asked; give the question with `--query`, or put it into inbox.json."
_LEFT_OUT: Final = {
    "group": "nothing in memory matches that may be shown in this chat.",
    "known": "what matches in memory is in the conversation already.",
    "size": "what matches in memory does not fit; see the budgets [recall] memory_tokens and max_injected_chars.",
}

_EVERY: Final = 1_000_000_000  # the number of a line behind every other

index = typer.Typer(help="The search index, which can be deleted at any time.", rich_markup_mode=None)


def inject(
    query: Query = None,
    session: Session = "",
    chat: Kind = "",
    known: Annotated[list[str], typer.Option("--known", help="the id of a message that you send yourself; repeatable")] = [],  # noqa: B006 - typer copies it
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Print the memory block for an input, and nothing else."""
    with _memory(workspace, now) as memory:
        _leave_model_to_client(memory)
        made = memory.inject(query, session=session, chat=_kind(chat), known=known)
    if not made.memory:
        say(_why_empty(made.result, {why for _, why in made.left_out}) if made.receipt.question.strip() else _NOT_ASKED, 0)
    if json:
        hits = [_hit(hit) for hit in made.shown]
        show(as_json({"turn": made.id, "text": made.memory, "tokens": made.memory_tokens, "hits": hits}))
    elif made.memory:
        show(made.memory.rstrip("\n"))


def context(
    query: Query = None,
    system: Annotated[str, typer.Option("--system", help="the system prompt, which stays as it is")] = "",
    text: Annotated[bool, typer.Option("--text", help="as text, in place of messages as JSON")] = False,
    session: Session = "",
    chat: Kind = "",
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Print the whole turn, memory and recent history in their budgets, as chat-completions messages."""
    with _memory(workspace, now) as memory:
        _leave_model_to_client(memory)
        made = memory.context(query, system, session=session, chat=_kind(chat))
    if text and not json:
        show("\n\n".join(f"{message['role']}: {message['content']}" for message in made.messages))
    else:
        show(as_json(list(made.messages)))


def search(
    query: Annotated[str, typer.Argument(help="words, a sentence, a date")],
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="hits at most")] = 10,
    session: Session = "",
    chat: Kind = "",
) -> None:
    """Find memories: path, lines, score."""
    with _memory(workspace, now) as memory:
        found = memory.find(query, limit, session=session, chat=_kind(chat))
        refs = refs_of(found.hits, lambda: memory.read(1, _EVERY, session=session, chat=chat).lines) if json else []
    if not found.hits:
        say(_why_empty(found) if query.strip() else NOT_ASKED, 0)
    elif not_whole := why_not_whole(found):
        say(not_whole, 0)
    if json:
        show(as_json([_hit(hit) | ({"ref": ref} if ref else {}) for hit, ref in zip(found.hits, refs, strict=True)]))
    for hit in () if json else found.hits:
        line = " ".join(hit.unit.text.split())
        show(f"{hit.score:6.2f}  {hit.unit.citation}  {line[:160]}")


def get(
    path: Annotated[str, typer.Argument(help="memory/2026-01-28-deploy.md, with or without #L4-L6,L9")],
    start: Annotated[int, typer.Option("--from", help="first line, from 1")] = 1,
    lines: Annotated[int | None, typer.Option("--lines", help="how many")] = None,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
    session: Session = "",
    chat: Kind = "",
) -> None:
    """Print exact lines of a memory file."""
    with _memory(workspace, now) as memory:
        found = memory.get(path, start, lines, session=session, chat=_kind(chat))
    show(as_json(asdict(found)) if json else found.text)


def why(
    turn: Annotated[str | None, typer.Argument(help="a turn's id; without it, the newest")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="what would be said now, beside what was")] = False,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> None:
    """Show what was put before the assistant in a turn, what was not, and why."""
    with _memory(workspace, now) as memory:
        again = memory.replay(turn) if replay else None
        receipt = again.receipt if again else memory.why(turn)
    if json:
        show(as_json(asdict(again or receipt)))
    else:
        show(replay_text(again, teller()) if again else receipt_text(receipt, teller()))


def append(
    role: Annotated[str | None, typer.Option("--role", help="user, assistant, system or tool")] = None,
    text: Annotated[str | None, typer.Option("--text", help="the words; - reads standard input")] = None,
    at: Annotated[str | None, typer.Option("--at", help="when it was said, ISO 8601")] = None,
    session: Annotated[str | None, typer.Option("--session")] = None,
    channel: Annotated[str | None, typer.Option("--channel")] = None,
    chat: Annotated[str | None, typer.Option("--chat", help="direct, group or channel")] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="many messages on standard input, a JSON object a line")] = False,
    workspace: Folder = None,
    now: Now = None,
    json: Json = False,
) -> int:
    """Add a message, or many; prints each id once the message is safe."""
    from recalld.supervisor.interfaces.cli.append import append as add

    fields = {"role": role, "text": text, "at": at, "session": session, "channel": channel, "chat": chat}
    return add(**fields, jsonl=jsonl, workspace=workspace, now=now, json=json)


@index.command("status")
def index_status(workspace: Folder = None, now: Now = None, json: Json = False) -> None:
    """Show what the index holds, and whether memory is as it says."""
    with _memory(workspace, now) as memory:
        found = memory.workspace.index.inventory()
    if json:
        show(as_json({**_held(found), "differing": found.differing}))
    else:
        state = f"{found.differing} differing from memory" if found.differing else "up to date"
        show(as_text({**_held(found), "state": state}, teller()))


@index.command("rebuild")
def index_rebuild(workspace: Folder = None, now: Now = None, json: Json = False) -> None:
    """Rebuild the index from the files, and compute the missing vectors; 69 if their server does not answer."""
    from recalld.supervisor.host.background import prepare_backend
    from recalld.supervisor.storage.clock import utc_now

    with _memory(workspace, now) as memory:
        changes = asdict(memory.rebuild())
        _, fault = prepare_backend(memory.workspace, utc_now)
        held = _held(memory.workspace.index.inventory())
    odd = {name: changes[name] for name in ("shared", "unread") if changes[name]}
    show(as_json({**changes, **held}) if json else as_text({**held, **odd}, teller()))
    if fault:
        raise typer.Exit(say(f"no vectors were made: {fault}.", 69))


def _held(found: Inventory) -> dict[str, int]:
    return {"files": found.files, "units": found.units, "bytes": found.size_bytes}


@contextlib.contextmanager
def _memory(workspace: Path | None, now: str | None) -> Iterator[Memory]:
    """Yield the memory as of *now*; a client's command does not update the index, a running supervisor does."""
    from recalld.supervisor.interfaces.api import Memory
    from recalld.supervisor.interfaces.cli.output import progress
    from recalld.supervisor.storage.control import Control

    ws, at = opened(workspace, now)
    with progress() as shown:
        yield Memory(ws, clock=lambda: at, keep_fresh=not is_served(), control=Control(progress=shown))


def _leave_model_to_client(memory: Memory) -> None:
    """Have the client do a turn that asks the model, by a ValueError: no supervisor waits for one."""
    if is_served():
        memory.workspace.asks_model = _refuse_to_wait
        if memory.workspace.config.turns.overflow == "memory":
            _refuse_to_wait()


def _refuse_to_wait() -> None:
    raise ValueError("the client asks the model, for which no supervisor waits")


def _kind(chat: str) -> str:
    """Return what `--chat` gives, "" if it is left to the session's key; BadRequest if it is none of the three kinds."""
    if chat:
        refuse_other_chats(chat)
    return chat


def _hit(hit: Any) -> dict[str, Any]:
    """Return a hit with the fields of the tool `memory_search`, and the reasons for its score."""
    unit = hit.unit
    shown = {"path": unit.path, "startLine": unit.start, "endLine": unit.end, "snippet": unit.text}
    return {**shown, "score": round(hit.score, 4), "because": list(hit.because)}


def _why_empty(found: SearchResult, left_out: Collection[str] = ()) -> str:
    """Return the sentence that says why there is no memory; *left_out* are the reasons why hits are not shown."""
    if found.hits:
        reason = "group" if "group" in left_out else "known" if _SHOWN_ELSEWHERE.issuperset(left_out) else "size"
        return _LEFT_OUT[reason]
    return why_no_hits(found)


def register(app: typer.Typer) -> None:
    """Add the commands of a turn to *app*."""
    for command in (append, inject, context, search, get, why):
        app.command()(command)
    app.add_typer(index, name="index")


@cache
def commands() -> Any:
    """Return the command line with what a running supervisor answers, `SERVED_COMMANDS` and `index`, built once."""
    app = new_app()
    register(app)
    long_term.register(app)
    for command in (admin.status, admin.plan):
        app.command()(command)
    return typer.main.get_command(app)
