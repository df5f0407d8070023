"""
What may stand before this turn at all: nothing told in confidence elsewhere, nothing that it already holds (001; 003).

In a group the user's own memory is not only left uncited, it is not said: a group sees what was said in it, and what is
marked as shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.policy.hit import Hit, Unit
    from supervisor.protocol.inbox import Chat


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """Who hears the turn, and what is already in it: ids of messages that stand there whole, and the questions' words."""

    chat: Chat
    in_groups: Literal["own", "all", "none"] = "own"
    messages: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()


def admit(hits: Iterable[Hit], sight: Sight) -> tuple[list[Hit], list[tuple[Hit, str]]]:
    """Return the hits that may be shown, and the others with the reason: "group", "in the history", "the question"."""
    kept: list[Hit] = []
    left: list[tuple[Hit, str]] = []
    for hit in hits:
        why = _why_not(hit.unit, sight)
        if why:
            left.append((hit, why))
        else:
            kept.append(hit)
    return kept, left


def _why_not(unit: Unit, sight: Sight) -> str:
    if not sight.chat.is_direct and not _may_hear(unit, sight):
        return "group"
    if unit.message and unit.message in sight.messages:
        return "in the history"
    return "the question" if unit.text.strip() in sight.questions else ""


def _may_hear(unit: Unit, sight: Sight) -> bool:
    match sight.in_groups:
        case "all":
            return True
        case "none":
            return False
        case "own":
            is_own = unit.chat != "direct" and bool(unit.session) and unit.session == sight.chat.session
            return unit.shared or is_own
