"""
What is being asked, and who hears it: the inputs that wait, and the conversation that they belong to (003, 关键词提取).

What may stand before this turn at all: nothing told in confidence elsewhere, nothing that it already holds (001; 003).

In a group the user's own memory is not only left uncited, it is not said: a group sees what was said in it, and what is
marked as shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from supervisor.protocol.inbox import DIRECT, Chat, chat_of
from supervisor.protocol.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from supervisor.index.hit import Hit, Passage
    from supervisor.protocol.message import History


@dataclass(frozen=True, slots=True)
class Asked:
    """The question, "" where none waits; where it was asked; what user and assistant said before it, oldest first."""

    question: str
    chat: Chat = DIRECT
    inputs: tuple[Message, ...] = ()
    before: tuple[Message, ...] = ()


def resolve_input(question: str | None, inbox: Sequence[Message], history: History, chat: Chat = DIRECT) -> Asked:
    """
    Return what is asked: *question*, heard in *chat*, else the inputs of *inbox* that nobody has answered yet.

    Inputs of more than one conversation are never mixed: that of the newest counts, since what the one may read may be hidden
    from the other. All direct talk is one conversation (003); a group's is its session's.
    """
    talk = [one for one in history if isinstance(one, Message) and one.role in {"user", "assistant"} and one.text.strip()]
    if question is not None:
        waiting: tuple[Message, ...] = ()
    else:
        open_inputs = [one for one in inbox if not _is_answered(one, talk)]
        chat = chat_of(open_inputs[-1].raw) if open_inputs else DIRECT
        waiting = tuple(one for one in open_inputs if is_same(chat, chat_of(one.raw)))
        question = "\n".join(one.text for one in waiting)
    before = [m for m in talk if is_same(chat, chat_of(m.raw)) and not any(_is(one, m) for one in waiting)]
    if before and before[-1].role == "user" and before[-1].text.strip() == question.strip():
        before.pop()  # A27: the input was appended to history before it was asked
    return Asked(question, chat, waiting, tuple(before))


def is_same(chat: Chat, other: Chat) -> bool:
    """Tell whether two belong to one conversation; a group without a session is nobody's but its own."""
    if chat.is_direct or other.is_direct:
        return chat.is_direct and other.is_direct
    return bool(chat.session) and chat.session == other.session


def _is(one: Message, other: Message) -> bool:
    """Tell whether the input *one* is the message *other* (A27: an input is also appended to history)."""
    if one.id and one.id == other.id:
        return True
    return one.created_at is not None and (one.created_at, one.text) == (other.created_at, other.text)


def _is_answered(one: Message, talk: Sequence[Message]) -> bool:
    """Tell whether the input stands in history with an answer of the assistant somewhere after it in its conversation."""
    place = next((i for i, message in enumerate(talk) if _is(one, message)), None)
    if place is None:
        return False
    chat = chat_of(one.raw)
    return any(m.role == "assistant" and is_same(chat, chat_of(m.raw)) for m in talk[place + 1 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Who hears the turn, and what is already in it: ids of messages that stand there whole, and the questions' words."""

    chat: Chat
    in_groups: Literal["own", "all", "none"] = "own"
    messages: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()


def admit(hits: Iterable[Hit], sight: Audience) -> tuple[list[Hit], list[tuple[Hit, str]]]:
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


def _why_not(unit: Passage, sight: Audience) -> str:
    if not sight.chat.is_direct and not _may_hear(unit, sight):
        return "group"
    if unit.message and unit.message in sight.messages:
        return "in the history"
    return "the question" if unit.text.strip() in sight.questions else ""


def _may_hear(unit: Passage, sight: Audience) -> bool:
    match sight.in_groups:
        case "all":
            return True
        case "none":
            return False
        case "own":
            is_own = unit.chat != "direct" and bool(unit.session) and unit.session == sight.chat.session
            return unit.shared or is_own
