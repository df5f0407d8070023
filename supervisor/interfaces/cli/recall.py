"""The commands that find memories: inject, context, search, get, why (docs/reference/cli.md). They load what they use."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

from ...storage.texts import Text
from ..output import as_json, receipt_text
from ..wording import NOT_ASKED, SMALL_TALK, beside_hits, refs_of, why_no_hits, why_not_whole
from .call import Call
from .parser import READ, Argument, Option, command

if TYPE_CHECKING:
    from ...context.build import Injection

_NOT_ASKED: Final = Text("nothing was asked; give the question with `--query`, or put it into inbox.json.")

Query = Annotated[str | None, Option("--query", "the input; without it, what waits in inbox.json")]

_EVERY: Final = 1_000_000_000  # more lines than any file has


@command("inject", common=READ)
def inject(
    call: Call,
    query: Query = None,
    known: Annotated[list[str] | None, Option("--known", "the id of a message that you send yourself; repeatable")] = None,
    project: Annotated[str, Option("--project", "the folder in which it is asked")] = "",
) -> None:
    """Print the memory block for an input, and nothing else."""
    injection = call.perform("inject", question=query, known=known or (), project=project)
    if not injection.memory:
        call.say(_why_empty(injection))
    elif not_whole := why_not_whole(injection.result):
        call.say(not_whole)
    if call.json or injection.memory:
        hits = [_hit(hit) for hit in injection.shown]
        fields = {"turn": injection.id, "text": injection.memory, "tokens": injection.memory_tokens, "hits": hits}
        call.answer({**fields, "unsearched": call.render(injection.result.unsearched)}, [injection.memory.rstrip("\n")])


@command("context", common=READ)
def context(
    call: Call,
    query: Query = None,
    system: Annotated[str, Option("--system", "the system prompt, which stays as it is")] = "",
    text: Annotated[bool, Option("--text", "as text, in place of messages as JSON")] = False,
) -> None:
    """Print the whole turn, memory and recent history in their budgets, as chat-completions messages."""
    injection = call.perform("context", question=query, system=system)
    if not_whole := why_not_whole(injection.result):
        call.say(not_whole)
    if text and not call.json:
        call.show("\n\n".join(f"{message['role']}: {message['content']}" for message in injection.messages))
    else:
        call.show(as_json(list(injection.messages)))


@command("search", common=READ)
def search(
    call: Call,
    query: Annotated[str, Argument("words, a sentence, a date")],
    limit: Annotated[int, Option("--limit", "hits at most", least=1)] = 10,
) -> None:
    """Find memories: path, lines, score."""
    result = call.perform("search", query=query, limit=limit)
    if not result.hits:
        call.say(why_no_hits(result) if query.strip() else NOT_ASKED)
    elif note := beside_hits(result):
        call.say(note)
    if call.json:
        refs = refs_of(result.hits, lambda: call.perform("read", start=1, end=_EVERY).lines)
        call.answer([_hit(hit) | ({"ref": ref} if ref else {}) for hit, ref in zip(result.hits, refs, strict=True)])
    for hit in () if call.json else result.hits:
        line = " ".join(hit.unit.text.split())
        score = "" if hit.score is None else f"{hit.score:6.2f}  "
        call.show(f"{score}{hit.unit.citation}  {line[:160]}")


@command("get", common=READ)
def get(
    call: Call,
    path: Annotated[str, Argument("memory/2026-01-28-deploy.md, with or without #L4-L6,L9")],
    start: Annotated[int, Option("--from", "first line, from 1")] = 1,
    lines: Annotated[int | None, Option("--lines", "how many")] = None,
) -> None:
    """Print exact lines of a memory file."""
    result = call.perform("get", path=path, start=start, lines=lines)
    call.answer(asdict(result), [result.text])


@command("why")
def why(
    call: Call,
    turn: Annotated[str | None, Argument("a turn's id; without it, the newest")] = None,
) -> None:
    """Show what was put before the assistant in a turn, what was not, and why."""
    receipt = call.perform("why", turn=turn)
    if call.json:
        call.answer(asdict(receipt))
    else:
        call.show(receipt_text(receipt, call.zone, call.renderer()))


def _hit(hit: Any) -> dict[str, Any]:
    unit = hit.unit
    shown = {"path": unit.path, "startLine": unit.start, "endLine": unit.end, "snippet": unit.text}
    shown |= {"id": unit.message} if unit.message else {}
    return {**shown, "score": None if hit.score is None else round(hit.score, 4), "because": list(hit.because)}


def _why_empty(injection: Injection) -> str:
    result, receipt = injection.result, injection.receipt
    if not receipt.question.strip():
        return _NOT_ASKED
    if receipt.chat != "direct" or "group" in {
        why for _, why in injection.left_out
    }:  # always the same sentence, so that it reveals nothing of private memory
        return Text("nothing in memory matches that may be shown in this chat.")
    if result.hits:
        return Text("what matches in memory was not put before it; `recalld why` says why.")
    return why_no_hits(result) if result.terms or result.dates or result.how == "failed" else SMALL_TALK
