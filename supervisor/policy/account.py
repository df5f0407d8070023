"""The receipt of a turn, from what was asked, found, shown and left out (docs/protocol.md, 7)."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from supervisor.protocol.turn import Candidate, Receipt, turn_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from supervisor.policy.asked import Asked
    from supervisor.policy.budget import Budgets
    from supervisor.policy.found import Found
    from supervisor.policy.hit import Hit
    from supervisor.policy.pack import Block
    from supervisor.policy.window import Window


def receipt_of(
    asked: Asked,
    found: Found,
    memory: Block,
    history: Window,
    messages: Sequence[Mapping[str, str]],
    budgets: Budgets,
    config: Mapping[str, Any],
    now: datetime,
) -> Receipt:
    """Return the receipt; what was shown stands first, then what was not, each by score."""
    candidates = [_candidate(hit, "") for hit in memory.shown] + [_candidate(hit, why) for hit, why in memory.left_out]
    return Receipt(
        id=turn_id(now, asked.question, json.dumps(list(messages)), memory.text),
        at=now,
        question=asked.question,
        chat=asked.chat.kind,
        session=asked.chat.session,
        terms=tuple(found.terms),
        dates=tuple(str(day) for day in found.dates),
        how=str(found.how),
        files=int(found.files),
        ms=_finite(found.ms),
        candidates=tuple(sorted(candidates, key=lambda one: (not one.shown, -one.score))),
        memory=memory.text,
        history=tuple({"id": o.id, "role": o.role, "content": o.text, "whole": o.is_whole} for o in history.said),
        messages=tuple(messages),
        tokens={"memory": memory.tokens, "history": history.tokens},
        budgets={"memory": budgets.memory, "history": budgets.history},
        config=config,
    )


def _candidate(hit: Hit, why: str) -> Candidate:
    unit = hit.unit
    return Candidate(
        path=unit.path,
        start=unit.start,
        end=unit.end,
        score=_finite(hit.score),
        because=tuple(hit.because),
        shown=not why,
        why=why,
    )


def _finite(number: float) -> float:
    """Return the number as JSON can hold it."""
    return round(number, 4) if math.isfinite(number) else 0.0
