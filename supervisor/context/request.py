"""
The input of a turn, and which hits its audience may see (001; 003, 关键词提取).

`resolve_input` decides what is asked: which inputs are open, which conversation they belong to, and which messages are before
them. `with_summary` puts the running summary in place of the messages that it covers. `admit` removes hits that the audience
must not see (`recall/audience`), and hits that the turn already contains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from ..index.hit import Hit, Passage
from ..protocol.inbox import DIRECT, Chat, chat_of
from ..protocol.message import UNSAID, History, Message
from ..recall.audience import Audience
from ..recall.neighbours import is_asked_again
from ..text.comparing import same_words, sentences_in

if TYPE_CHECKING:
    from ..conversation.sessions import RunningSummary

#: What the score of a message of another project counts for, so that it is shown only where it answers much better.
ELSEWHERE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Asked:
    """
    The question ("" if there is none), its chat, and the messages of user and assistant *before* it, oldest first.

    *known* are the ids of the messages that the client itself puts before the assistant. *summary* is the running summary of
    the messages of the session that are older than *before*, "" without one. *project* is the folder in which it is asked,
    *client* the program whose hook asks, "" without one.
    """

    question: str
    chat: Chat = DIRECT
    inputs: tuple[Message, ...] = ()
    before: tuple[Message, ...] = ()
    known: frozenset[str] = frozenset()
    summary: str = ""
    project: str = ""
    client: str = ""


def resolve_input(question: str | None, inbox: Sequence[Message], history: History, chat: Chat = DIRECT) -> Asked:
    """
    Return what is asked: *question*, asked in *chat*, or (None) the inputs of *inbox* that have no answer yet.

    Inputs of several conversations are never mixed, since one audience may not see what the other may: the conversation of the
    newest input counts. All direct chats are one conversation (003), but if a *question* is asked in a session, only messages
    of that session are before it; a group's conversation is its session.
    """
    messages = _spoken_messages(history)
    session = chat.session if question is not None else ""
    if question is not None:
        waiting: tuple[Message, ...] = ()
    else:
        open_inputs = [message for message in inbox if not _is_answered(message, messages)]
        chat = chat_of(open_inputs[-1].raw) if open_inputs else DIRECT
        waiting = tuple(message for message in open_inputs if is_same_conversation(chat, chat_of(message.raw)))
        question = "\n".join(message.text for message in waiting)
    before = _of_conversation(messages, chat, session, waiting)
    if before and before[-1].role == "user" and before[-1].text.strip() == question.strip():
        before.pop()  # the input itself, which was appended to history already
    return Asked(question, chat, waiting, tuple(before))


def resolve_waiting(inputs: Sequence[Message], history: History, chat: Chat) -> Asked:
    """Return the *inputs* of one conversation as one question; of a session only its own messages are before it."""
    messages = _spoken_messages(history)
    before = _of_conversation(messages, chat, chat.session, inputs)
    return Asked("\n".join(message.text for message in inputs), chat, tuple(inputs), tuple(before))


def _spoken_messages(history: History) -> list[Message]:
    return [
        message
        for message in history
        if isinstance(message, Message) and message.role not in UNSAID and _says_something(message)
    ]


def as_sent(summary: str) -> str:
    """Return the running summary as it is sent, "" for none."""
    if not summary:
        return ""
    from ..conversation.running import summary_block  # few questions come with a summary

    return summary_block(summary)


def with_summary(request: Asked, kept: RunningSummary) -> Asked:
    """Return the input with the running summary of its session in place of the messages that it covers, if it may be seen."""
    session = request.chat.session
    if not kept.text or kept.marker is None or (kept.is_private and not request.chat.is_direct):
        return request
    marker = kept.marker

    def is_covered(message: Message) -> bool:
        at = message.created_at
        return chat_of(message.raw).session == session and at is not None and marker.has(message.id or message.text_digest, at)

    return replace(request, summary=kept.text, before=tuple(message for message in request.before if not is_covered(message)))


def _of_conversation(messages: Iterable[Message], chat: Chat, session: str, inputs: Sequence[Message]) -> list[Message]:
    """
    Return the messages of the conversation without its *inputs*; if a *session* is named, only those of it.

    An answer that names no session belongs to the session of the message before it.
    """
    spoken, spoken_in = [], ""
    for message in messages:
        other = chat_of(message.raw)
        spoken_in = other.session if other.session or message.role != "assistant" else spoken_in
        is_of_it = is_same_conversation(chat, other) and session in {"", spoken_in}
        if is_of_it and not any(_is_message(given, message) for given in inputs):
            spoken.append(message)
    return spoken


def _says_something(message: Message) -> bool:
    return bool(message.text.strip()) or isinstance(message.raw.get("content"), list) or bool(message.raw.get("images"))


def is_same_conversation(chat: Chat, other: Chat) -> bool:
    """Return whether two chats are one conversation; a group without a session is the same as no other."""
    if chat.is_direct or other.is_direct:
        return chat.is_direct and other.is_direct
    return bool(chat.session) and chat.session == other.session


def _is_message(message: Message, other: Message) -> bool:
    """Return whether the input *message* is the message *other*: an input is also appended to history."""
    if message.id and message.id == other.id:
        return True
    return message.created_at is not None and (message.created_at, message.text) == (other.created_at, other.text)


def _is_answered(entry: Message, messages: Sequence[Message]) -> bool:
    place = next((i for i, message in enumerate(messages) if _is_message(entry, message)), None)
    if place is None:
        return False
    chat = chat_of(entry.raw)
    return any(m.role == "assistant" and is_same_conversation(chat, chat_of(m.raw)) for m in messages[place + 1 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Contained:
    """What the turn contains: ids of messages shown whole, sentences (`same_words`), questions asked at *now*."""

    messages: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()
    sentences: frozenset[str] = frozenset()
    now: datetime


def contained(request: Asked, in_history: frozenset[str], now: datetime) -> Contained:
    """Return what the turn of *request* contains, which shows the messages with the ids *in_history* whole."""
    questions = frozenset({request.question.strip(), *(entry.text.strip() for entry in request.inputs)} - {""})
    ids = in_history | request.known | {entry.id for entry in request.inputs if entry.id}
    sentences = sentences_in([request.summary, *(message.text for message in request.before if message.id in in_history)])
    return Contained(messages=ids, questions=questions, sentences=sentences, now=now)


def admit(hits: Iterable[Hit], audience: Audience, contained: Contained) -> tuple[list[Hit], list[tuple[Hit, str]]]:
    """Return the hits that may be shown, and the others with the reason: "group", "in the history", "the question"."""
    judged = [(hit, _repeats(hit.unit, contained) if audience.may_see(hit.unit) else "group") for hit in hits]
    return [hit for hit, why in judged if not why], [(hit, why) for hit, why in judged if why]


def for_project(
    hits: Iterable[Hit], project: str, rule: Literal["prefer", "only", "all"]
) -> tuple[list[Hit], list[tuple[Hit, str]]]:
    """
    Return the hits for who asks in the folder *project*, and those that are left out with the reason "project".

    By the *rule* a message of another project counts for less ("prefer"), is left out ("only"), or is like any other ("all").
    What names no project (a chat elsewhere, a line of memory.md, a summary) is never of another one.
    """
    kept = list(hits)
    if not project or rule == "all":
        return kept, []
    elsewhere = {id(hit) for hit in kept if hit.unit.project not in ("", project)}
    if rule == "only":
        return [hit for hit in kept if id(hit) not in elsewhere], [(hit, "project") for hit in kept if id(hit) in elsewhere]
    return [hit.reaching(hit.rank * ELSEWHERE, "who") if id(hit) in elsewhere else hit for hit in kept], []


def _repeats(passage: Passage, contained: Contained) -> str:
    if passage.message and passage.message in contained.messages:
        return "in the history"
    if contained.sentences and "\n" not in passage.text and same_words(passage.text) in contained.sentences:
        return "in the history"
    text = passage.text.strip()
    is_same = text in contained.questions and is_asked_again(text, passage.at, contained.now)
    return "the question" if is_same else ""
