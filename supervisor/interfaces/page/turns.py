"""Turns: what was put before the assistant, part by part, each passage with its reason, and what a question would get now."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...operations import recall
from ...operations import turns as asked
from ...protocol.paths import day_of_name
from ...storage.texts import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from ...context.build import Replay
    from ...operations.turns import TurnAnswer, TurnHit, TurnPart
    from .views import View

#: The width of the bar, in its own units.
WIDTH: Final = 1_000
_QUESTION: Final = 4_000


class Span(NamedTuple):
    """A part in the bar: where it begins, and how wide it is."""

    part: str
    tokens: int
    most: int
    x: int
    width: int


async def turns(view: View) -> Response:
    """Show the newest turns, and the form to try a question."""
    answer = await view.ask(asked.turns, asked.TurnsRequest(before=view.query("before")[:40]))
    return await view.show(
        "turns.html", "turns", found=answer, question="", of="", tried=None, spans=(), groups=(), place=hit_place
    )


async def tried(view: View) -> Response:
    """Show what a question would get; nothing is written."""
    question, of = view.query("question")[:_QUESTION], view.query("of")[:400]
    answer = await view.ask(asked.turns, asked.TurnsRequest(limit=10))
    made: TurnAnswer | None = None
    if question.strip():
        made = await view.ask(asked.preview, asked.PreviewRequest(question=question, of=of))
    about = {"spans": spans(made.parts), "groups": groups(made.hits)} if made else {"spans": (), "groups": ()}
    return await view.show("turns.html", "turns", found=answer, question=question, of=of, tried=made, place=hit_place, **about)


async def turn(view: View) -> Response:
    """Show one turn; with `now` also what its question would get now, and the difference."""
    wanted = recall.WhyRequest(turn=view.request.path_params["turn"])
    made = await view.ask(asked.turn, wanted)
    again: Replay | None = None
    if view.query("now"):
        again = await view.ask(recall.replay, wanted)
    difference = again.difference[2:] if again else ()
    return await view.show(
        "turn.html",
        "turns",
        made=made,
        receipt=made.receipt,
        place=hit_place,
        spans=spans(made.parts),
        groups=groups(made.hits),
        miss=_miss(made),
        again=again,
        difference=[(line[:1], line[1:]) for line in difference if not line.startswith("@@")],
    )


def spans(parts: Sequence[TurnPart]) -> list[Span]:
    """
    Return the parts as they lie in the bar, whose widths are to the tokens as WIDTH is to all.

    >>> from recalld.supervisor.operations.turns import TurnPart
    >>> [span[3:] for span in spans([TurnPart(part="memory", tokens=300), TurnPart(part="question", tokens=100)])]
    [(0, 750), (750, 250)]
    """
    total = sum(part.tokens for part in parts) or 1
    drawn, x = [], 0.0
    for part in parts:
        width = WIDTH * part.tokens / total
        drawn.append(Span(part.part, part.tokens, part.most, round(x), round(x + width) - round(x)))
        x += width
    return drawn


def groups(hits: Sequence[TurnHit]) -> list[tuple[str, list[TurnHit]]]:
    """Return the hits by why they were left out; those that were shown have "" and come first."""
    ordered = sorted(hits, key=lambda hit: (not hit.shown, hit.why))
    return [(why, list(hits)) for why, hits in groupby(ordered, key=lambda hit: hit.why)]


def hit_place(hit: Any) -> tuple[str, str]:
    """Return the address of the day of a passage, and that day; two "" where it has none."""
    name = hit.path.rpartition("/")[2]
    if hit.path.startswith("memory/summary/"):
        return f"/days/{name.removesuffix('.md')}", name.removesuffix(".md")
    day = day_of_name(name)
    if day:
        return f"/days/{day}", day.isoformat()
    return (f"/long-term?line={hit.start}#line-{hit.start}", "") if name.casefold() == "memory.md" else ("", "")


def _miss(made: TurnAnswer) -> list[str]:
    """Return in sentences why nothing was found."""
    miss = made.receipt.miss
    if not miss:
        return []
    sentences: list[str] = []
    if miss.get("nearest") and miss.get("share"):
        sentences.append(
            Text("nearest is {place}, with {share:.0%} of what it needs", place=miss["nearest"], share=miss["share"])
        )
    if miss.get("lacks"):
        sentences.append(Text("elsewhere in memory: {words}", words=", ".join(miss["lacks"])))
    if miss.get("nowhere"):
        sentences.append(
            Text(
                "nowhere in memory: {words} (words of one language do not find those of another)",
                words=", ".join(miss["nowhere"]),
            )
        )
    return sentences
