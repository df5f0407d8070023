"""
An answer: which inputs of inbox.json wait for it, how it is recognised, and what recalld itself says in it. Pure.

A conversation is a session in one kind of chat. Its inputs are answered together, and the id of the answer comes from the
newest of them: whoever asks again after a crash finds what was done (protocol.md, 7.8).

What an answer may remember is the user's own words of this turn, and only where the user asks for it in them (003). The model
says that there is something to remember; what is written is not its words. So no text that memory brought in, and no text that
a model was talked into, becomes a line.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from shlex import quote
from typing import Any, Final

from ..index.hit import Hit
from ..protocol.inbox import Chat, chat_of
from ..protocol.message import Key, Message, digest_of_text
from ..protocol.turn import MARK_LINES
from ..recall.neighbours import only_neighbours
from ..storage.clock import to_wire
from ..storage.texts import Text
from ..text.language import Language
from ..text.lazy_re import lazy_re
from ..text.llm_output import own_words

#: Fields of an input that its answer takes over: where it was said.
_PLACE: Final = ("session", "chat", "channel", "project")
#: Hex digits of the digest of an input.
_DIGITS: Final = 16
#: Passages of memory that an answer without a model shows, at most.
_MOST_SHOWN: Final = 5
#: How a sentence begins in which a user asks to remember what follows.
_ASKS: Final = lazy_re(
    r"(?:and |also |then )?(?:please |pls |could you |can you |will you |i want you to )*"
    r"(?:remember|note(?: down)?|make a note|keep in mind|don['’]?t forget|write down|bear in mind)\b"
    r"(?:[ ,]+(?:please|this|the following))*[ ]*(?:[:：,][ ]*)?(?:that[ ]+)?(?P<en>.*)"
    r"|(?:(?:请|麻烦|那就|那|你|帮我|替我|给我|顺便|要|一定要|务必)[，,]?)*"
    r"(?:记住|记下来?|记一下|记好|记着|记牢|记得|别忘了?|不要忘了?|备忘)(?:一下|了|这个|这件事|这点)?[：:，, ]*(?P<zh>.*)",
    re.IGNORECASE | re.DOTALL,
)
_SENTENCE: Final = lazy_re(r"[^。！？!?\n]+?(?:[。！？!?]|[.](?=\s|\Z)|\n|\Z)", re.DOTALL)
_LEAST_CHARS: Final = 2


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


# ── what is said ─────────────────────────────────────────────────────────────


def with_mark(messages: Sequence[Mapping[str, Any]], mark: str, language: Language) -> tuple[dict[str, str], ...]:
    """Return the messages of the turn with the mark at the beginning of the last one: small models repeat what comes last."""
    *before, last = ({"role": str(message["role"]), "content": str(message["content"])} for message in messages)
    return (*before, {**last, "content": f"{MARK_LINES[language].format(mark=mark)}\n\n{last['content']}"})


def from_memory(shown: Sequence[Hit], question: str, language: Language) -> str:
    """
    Return what answers the question where no model is set: that none is, and what memory has *shown*, each with its citation.

    What asks, only stands next to an answer, or was said by an assistant, which may be such an answer, answers nothing. Where
    the user asks to remember something, it says how.
    """
    aside = only_neighbours(shown)
    units = [hit.unit for hit in shown if hit not in aside and not hit.unit.asks and hit.unit.role != "assistant"][:_MOST_SHOWN]
    passages = "\n".join(f"- {' '.join(unit.text.split())} [{unit.citation}]" for unit in units)
    sentence = [
        Text("No model is set (`llm.base_url`, `llm.model`), so this is what memory holds:\n{passages}", passages=passages)
        if passages
        else Text("No model is set (`llm.base_url`, `llm.model`), and memory holds nothing that fits.")
    ]
    if wanted := asked_to_remember([question]):
        sentence.append(Text("`recalld write {line}` writes that to long-term memory.", line=quote(" ".join(wanted.split()))))
    return "\n".join(text.in_language(language) for text in sentence)


def asked_to_remember(texts: Iterable[str]) -> str:
    """
    Return what the user asks to remember in these words of the turn, "" where nothing.

    A sentence that only mentions it asks for nothing, nor does one in code or behind a sign of quotation.

    >>> asked_to_remember(["记住，我对花生过敏。明天几点开会？"]), asked_to_remember(["Do you remember the port?"])
    ('我对花生过敏', '')
    """
    wishes: list[str] = []
    for text in texts:
        for line in own_words(text):
            if line.lstrip().startswith((">", "》")):
                continue
            wishes += [_wanted(sentence.strip()) for sentence in _SENTENCE.findall(line)]
    return "；".join(filter(None, wishes))


def _wanted(sentence: str) -> str:
    match = None if sentence.endswith(("?", "？")) else _ASKS.match(sentence)
    words = (match["en"] or match["zh"] or "").strip(" .。!！,，:：") if match else ""
    return words if len(words) >= _LEAST_CHARS else ""
