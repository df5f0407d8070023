"""
What a request through the proxy does to a workspace: its session, memory for its question, and the messages that are kept.

A client that sends its whole history each time is recorded once, since the id of a message is made of its session and of its
place: what was said before it. Other words at the same place, of an edited question or of an answer that was asked for again,
are a revision (docs/reference/protocol.md, 2.6).
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final

from ...operations.history import append
from ...operations.operation import Caller
from ...operations.recall import inject
from ...protocol.message import Message
from ...protocol.turn import Receipt
from ...storage.clock import to_wire
from ...storage.errors import BadRequest, SupervisorError
from ...storage.texts import Text
from ...workspace import Workspace
from ..http.site import Site
from .talk import MOST_SESSION, Answer, Talk, digest, first_session, named_session

#: The header that names the session.
SESSION: Final = "x-recalld-session"
#: What the messages came by, and who asked, in a receipt.
_CHANNEL: Final = "proxy"
#: A part of a question or a prompt that is looked at at most; it may be a pasted file.
_MOST_CHARS: Final = 20_000
#: Where an answer of so few tokens is asked for, it is only tried whether the model answers.
_LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")
#: How long the same words without a beginning are taken for the question before, asked again.
_AGAIN: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Turn:
    """The *question* of a request, its *session*, and its *place* in it."""

    session: str
    place: str
    question: str


def session_given(value: str) -> str:
    """Return the session that the header names, in UTF-8, "" for none; BadRequest for one that is no name."""
    with contextlib.suppress(UnicodeError):  # else it is Latin 1, as the standard once said
        value = value.encode("latin-1").decode("utf-8")
    if len(value) > MOST_SESSION or not value.isprintable():
        raise BadRequest(
            "X-Recalld-Session",
            Text("this is no name of a session: give at most {most} characters, on one line.", most=MOST_SESSION),
        )
    return value.strip()


def turn_of(ws: Workspace, talk: Talk, session: str, now: datetime) -> Turn:
    """
    Return the turn of a request, in the *session* of its header, else that which its fields name, else one of its own.

    Where nothing was said before, the question follows the last answer of the session: of one that the server keeps, else the
    last that is no longer asked for again.
    """
    before, response = talk.before, talk.value("previous_response_id")
    if isinstance(response, str) and response:
        session = session or _session_of(ws, response) or named_session(talk) or f"proxy-{digest(response)}"
        return Turn(session, digest(response, before), talk.question)
    is_kept_there = talk.kind == "responses" and talk.value("conversation") is not None
    session = session or named_session(talk) or first_session(talk)
    if before or is_kept_there:
        # with its words: what begins alike need not be the same talk, and would be an edit of the other
        return Turn(session, digest("" if before else _last_answer(ws, session, now), before, talk.question), talk.question)
    # a client without a history: the same words again are the same question for a while, other words another one
    return Turn(session, digest(_last_answer(ws, session, now - _AGAIN), "", talk.question), talk.question)


def _session_of(ws: Workspace, response: str) -> str:
    """Return the session of the answer that has this id on the server; "" if it is not among the newest messages."""
    return next((str(message.raw.get("session", "")) for message in _newest(ws) if message.raw.get("response") == response), "")


def _last_answer(ws: Workspace, session: str, until: datetime) -> str:
    """Return the id of the last answer in the session that was given *until* then; "" for none."""
    answers = (message for message in _newest(ws) if message.role == "assistant" and message.raw.get("session") == session)
    return next((message.id for message in answers if message.created_at and message.created_at <= until), "")


def _newest(ws: Workspace) -> list[Message]:
    with contextlib.suppress(SupervisorError, OSError):
        return [message for message in reversed(ws.history.read()) if isinstance(message, Message)]
    return []


def memory_for(site: Site, turn: Turn, tokens: int, shows: int) -> Receipt:
    """Return the receipt with the block, in at most so many *tokens*; the client *shows* so many of the last messages."""
    question = {"question": turn.question[:_MOST_CHARS], "shows": shows, "client": _CHANNEL, "tokens": tokens}
    who = Caller(session=turn.session, interface="http", clock=site.clock, keep_fresh=False)
    return site.answers.perform(inject, question, who).receipt


def mark_unsent(site: Site, receipt: Receipt) -> None:
    """Write into the receipt that the question went on without its block."""
    site.workspace.receipts.put(replace(receipt, unsent=True))


def keep_question(site: Site, turn: Turn) -> None:
    """Add the question, durably; one that is there already is not added twice."""
    _append(site, turn, "user", turn.question)


def keep_answer(site: Site, turn: Turn, read: Callable[[], Answer]) -> None:
    """Add what was answered, if it is whole. One without words, or that calls a tool, is not talk."""
    if (answer := read()).text:
        _append(site, turn, "assistant", answer.text, **({"response": answer.id} if answer.id else {}))


def _append(site: Site, turn: Turn, role: str, text: str, **more: str) -> None:
    identity = f"proxy-{digest(turn.session, turn.place, role)}"
    where = {"session": turn.session, "channel": _CHANNEL, **more}
    message = {"id": identity, "role": role, "text": text, "createdAt": to_wire(site.clock()), **where}
    site.answers.perform(append, {"messages": [message]}, Caller(clock=site.clock))


# ── what a client asks for itself ────────────────────────────────────────────


@cache
def auxiliary_patterns() -> Mapping[str, list[str]]:
    """Return how prompts begin that a client makes for itself, for a title or a summary: in a message, in the system prompt."""
    patterns: dict[str, list[str]] = {"message": [], "system": []}
    for line in Path(__file__).with_name("auxiliary.tsv").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            where, _, pattern = line.split("\t")
            patterns[where].append(pattern)
    return patterns


def is_auxiliary(talk: Talk, skip: Iterable[str] = ()) -> bool:
    """True if no person asks: a known prompt or a pattern of *skip* (`serve.skip`) fits, or one token is asked for."""
    question, system = talk.messages[talk.at].words[:_MOST_CHARS].strip(), talk.system[:_MOST_CHARS]
    if any(talk.value(name) in (0, 1) for name in _LIMITS):
        return True
    known = auxiliary_patterns()
    return any(re.search(pattern, question) for pattern in (*known["message"], *skip)) or any(
        re.search(pattern, system) for pattern in (*known["system"], *skip)
    )
