"""
Which inputs of inbox.json wait for an answer, in which conversation, and how an answer is recognised (protocol.md, 7.8).

A conversation is a session in one kind of chat. Its inputs are answered together, and the id of the answer comes from the
newest of them: whoever asks again after a crash finds what was done. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from ..protocol.inbox import Chat, chat_of
from ..protocol.message import Key, Message, digest_of_text
from ..storage.clock import to_wire
from ..text.record import record

#: Fields of an input that its answer takes over: where it was said.
_PLACE: Final = ("session", "chat", "channel", "project")
#: Hex digits of the digest of an input.
_DIGITS: Final = 16


@record
class Input:
    """
    An input that waits: its message as found, the *id* and the time *at* by which it goes into history.json.

    *replaced* are earlier words that stand in the inbox under the same id.
    """

    message: Message
    id: str
    at: datetime
    replaced: tuple[str, ...] = ()

    @property
    def chat(self) -> Chat:
        """The chat in which it was said."""
        return chat_of(self.message.raw)

    @property
    def entries(self) -> frozenset[tuple[str, str]]:
        """Id and words of what stands in the inbox for it."""
        return frozenset((self.message.id, text) for text in (self.message.text, *self.replaced))

    @property
    def digest(self) -> str:
        """What names its answer: the digest of its conversation and its id, not of its words, which may be corrected."""
        return _digest(self.chat.kind, self.chat.session, self.id)[:_DIGITS]

    @property
    def question(self) -> dict[str, Any]:
        """The message of history.json."""
        raw = {**self.message.raw, "id": self.id, "role": "user", "createdAt": to_wire(self.at)}
        return raw if "text" in raw or "content" in raw else {**raw, "text": self.message.text}

    @property
    def place(self) -> dict[str, Any]:
        """The fields that say where it was said."""
        return {name: self.message.raw[name] for name in _PLACE if name in self.message.raw}


@record
class Conversation:
    """The inputs of one conversation that wait for one answer, oldest first."""

    inputs: tuple[Input, ...]

    @property
    def last(self) -> Input:
        """The newest input, which names the answer."""
        return self.inputs[-1]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The inputs as they were found."""
        return tuple(entry.message for entry in self.inputs)

    @property
    def group(self) -> str:
        """The group of the task of its answer."""
        return f"reply-{self.last.digest}"

    def task_id(self, attempt: int) -> str:
        """Return the id of the task: another for other inputs or other words, the same after a crash."""
        words = json.dumps([[entry.id, entry.message.text] for entry in self.inputs])
        return f"{self.group}-{_digest(words)[:10]}-{attempt}"

    def begins(self) -> Iterator[Conversation]:
        """Yield the conversation, then without its newest input, and so on: an answer in the making has the first of them."""
        for count in range(len(self.inputs), 0, -1):
            yield Conversation(self.inputs[:count])


def answer_id(digest: str, number: int = 1) -> str:
    """
    Return the id of the answer to the input of this digest; *number* 2 is the second message, after a look further.

    >>> answer_id("9f8a3c0012345678"), answer_id("9f8a3c0012345678", 2)
    ('re-9f8a3c0012345678', 're-9f8a3c0012345678-2')
    """
    return f"re-{digest}" if number == 1 else f"re-{digest}-{number}"


def read_inputs(messages: Iterable[Message], first_seen: Callable[[Message], datetime], latest: datetime) -> list[Input]:
    """
    Return the inputs in their order, of those with one id the newest words.

    One without a usable time has that of *first_seen*, one without an id an id from its time and words.
    """
    inputs: dict[tuple[Chat, str], Input] = {}
    for message in messages:
        at = message.created_at if message.created_at and message.created_at <= latest else first_seen(message)
        identity = message.id or f"in-{_digest(to_wire(at), message.text)[:_DIGITS]}"
        key = chat_of(message.raw), identity
        before = inputs.get(key)
        inputs[key] = Input(message, identity, at, (*before.replaced, before.message.text) if before else ())
    return list(inputs.values())


def conversations(inputs: Sequence[Input]) -> list[Conversation]:
    """Return the inputs by conversation, in the order of their first inputs."""
    by_chat: dict[Chat, list[Input]] = {}
    for entry in inputs:
        by_chat.setdefault(entry.chat, []).append(entry)
    return [Conversation(tuple(each)) for each in by_chat.values()]


def asked_anew(
    entry: Input, messages: Sequence[Message], is_known: Callable[[str], bool], holds: Callable[[Key], bool]
) -> Input:
    """
    Return the input; if recalld has answered its id with other words, as another question, with an id of its own.

    *is_known* is that of `answered`, *holds* says whether a message of this id and these words was in history.json.
    """
    texts = {message.id: message.text for message in messages}
    if answer_id(entry.digest) not in texts and not is_known(answer_id(entry.digest)):
        return entry
    is_same = (
        texts[entry.id] == entry.message.text if entry.id in texts else holds((entry.id, digest_of_text(entry.message.text)))
    )
    if is_same or not (entry.id in texts or is_known(entry.id)):
        return entry
    return replace(entry, id=f"{entry.id}~{_digest(entry.message.text)[:_DIGITS]}")


def answered(inputs: Sequence[Input], messages: Sequence[Message], is_known: Callable[[str], bool]) -> list[Input]:
    """
    Return the inputs of one conversation that have an answer: in *messages*, those of history.json, or filed.

    *is_known* says whether a message of this id was ever in history.json. An answer that has left it was one to all inputs of
    the conversation up to the one that it is named by.
    """
    ids = {message.id for message in messages}
    places = {entry.id: _place_of(entry, messages) for entry in inputs}
    entries, named_later = [], False
    for entry in reversed(inputs):
        answer = answer_id(entry.digest)
        named_later = named_later or (answer not in ids and is_known(answer))
        if named_later or answer in ids or _is_answered(entry, places[entry.id], messages):
            entries.append(entry)
    return entries[::-1]


def is_standing(entry: Input, messages: Sequence[Message]) -> bool:
    """Return whether the question is in history.json without an answer."""
    place = _place_of(entry, messages)
    return place is not None and not _is_answered(entry, place, messages)


def answer_message(conversation: Conversation, text: str, at: datetime) -> dict[str, Any]:
    """Return the message of the answer: where its question was said, and to which it answers."""
    ids = [entry.id for entry in conversation.inputs]
    return {
        "id": answer_id(conversation.last.digest),
        "role": "assistant",
        "text": text,
        "createdAt": to_wire(max(at, conversation.last.at)),
        "inReplyTo": ids[0] if len(ids) == 1 else ids,
        **conversation.last.place,
    }


def second_message(first: Mapping[str, Any], digest: str, text: str, at: datetime) -> dict[str, Any]:
    """Return the message that follows the answer *first* after a look further."""
    kept = {name: first[name] for name in ("inReplyTo", *_PLACE) if name in first}
    return {"id": answer_id(digest, 2), "role": "assistant", "text": text, "createdAt": to_wire(at), **kept}


def replies_to(message: Message) -> tuple[str, ...] | None:
    """Return the ids of the messages that this one answers; None where it does not say."""
    named = message.raw.get("inReplyTo")
    if isinstance(named, str):
        return (named,)
    return tuple(map(str, named)) if isinstance(named, list) else None


def _place_of(entry: Input, messages: Sequence[Message]) -> int | None:
    """Return where the input itself is in history.json: another program may append what it puts into the inbox."""
    key = entry.at, entry.message.text
    for place, message in enumerate(messages):
        is_same = message.id == entry.id or (message.created_at, message.text) == key
        if is_same and message.role == "user":
            return place
    return None


def _is_answered(entry: Input, place: int | None, messages: Sequence[Message]) -> bool:
    """Return whether a message of the assistant follows the input in its session, and does not say that it answers another."""
    if place is None:
        return any(entry.id in (replies_to(message) or ()) for message in messages if message.role == "assistant")
    session = entry.chat.session
    for message in messages[place + 1 :]:
        chat = chat_of(message.raw)
        if message.role != "assistant":
            session = chat.session
            continue
        named = replies_to(message)
        if named is not None:
            if entry.id in named:
                return True
        elif chat.kind == entry.chat.kind and (chat.session or session) == entry.chat.session:
            return True
    return False


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
