"""
What an assistant is told beside the memory of a turn: what its session begins with, and what its answer may look up.

A client that starts, resumes or compacts a session asks for the opening (protocol.md, 7.7), which has a budget of its own. It
names its sources as the memory block of a turn does, and `pack` writes both.

An answer may look up what 003's `search_memory`, `get_recent_history` and `get_history_by_time` find, and write one line. They
read memory as those who read the chat may see it. What is found is quoted: each passage on a line of its own, escaped and with
its citation, so that no stored text ends the quotation or begins another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeAlias, cast

from ..context.render import escaped, shown
from ..index.hit import Passage
from ..protocol.inbox import Chat, chat_of
from ..protocol.llm import without_secrets
from ..protocol.message import UNSAID, History, Message
from ..protocol.turn import LOOKUPS, read_request
from ..recall.audience import nameless
from ..storage.clock import Clock
from ..storage.control import UNLIMITED, acting
from ..storage.errors import BadRequest, SupervisorError
from ..storage.texts import Text
from ..text.language import Language, is_small_talk
from ..workspace import Workspace
from .operation import Bounds, Caller, Visible, operation, perform

#: How long it waits for a history.json that can't be read, in seconds: a client waits for it.
_PATIENCE_S: Final = 0.1
#: Why a client asks: a session is new, goes on, was emptied, or its older messages were replaced by a summary.
Start: TypeAlias = Literal["startup", "resume", "clear", "compact"]
STARTS: Final[tuple[Start, ...]] = ("startup", "resume", "clear", "compact")
#: The newest lines of the long-term file, and the last messages of a conversation; after a compaction the client has lost more.
_LINES: Final = 8
_MESSAGES: Final = 6
_MESSAGES_LOST: Final = 16
#: What is told first: messages, then lines; of each the newest.
_SAID, _NOTED, _STEP = 3.0, 2.0, 0.01
#: What an answer looks up has at most so many hits, messages, characters of each, and characters; so many messages at first.
_MOST_HITS: Final = 8
_MOST_MESSAGES: Final = 40
_HIT_CHARS: Final = 600
_MOST_CHARS: Final = 12_000
_FEW: Final = 20


@dataclass(frozen=True, slots=True)
class Opening:
    """The block, "" where memory has nothing, and its tokens."""

    text: str = ""
    tokens: int = 0


@operation("opening", owner=True)
def opening(
    memory: Visible,
    project: str = "",
    session: str = "",
    start: Annotated[str, Bounds(choices=STARTS)] = "startup",
    tokens: int = 0,
) -> Opening:
    """
    Return what a session begins with: pinned lines, the newest long-term lines, and where talk stopped in the project.

    The folder *project* is that in which a client begins its *session*; *start* is startup, resume, clear or compact. The block
    has at most *tokens*, and at most `context.start_tokens`, which 0 stands for.
    """
    from ..context.memory_block import pack
    from ..context.render import BlockLimits
    from ..context.request import Asked
    from ..context.secrets import redactor, turn_language
    from ..index.chunking import chunk_note
    from ..index.hit import Hit
    from ..protocol.marks import only_pinned

    ws, most = memory.ws, memory.ws.config.context.start_tokens
    noted = memory.long_term()
    nothing: History = ()
    history = ws.events.attempt("history", partial(ws.shown_history.read, _PATIENCE_S), nothing)
    stopped = where_it_stopped(history, project, session, cast("Start", start))
    lines, pinned = (
        [chunk.passage for chunk in chunk_note(noted.path, text, None, "long_term")]
        for text in (noted.text, only_pinned(noted.text))
    )
    language = turn_language(Asked(stopped[-1].text if stopped else noted.text), ws.config)
    tokens = min(tokens or most, most)
    limits = BlockLimits(
        tokens=tokens - tokens // 4,
        pinned_tokens=tokens // 4,
        max_hits=0,
        line_chars=ws.config.recall.line_chars,
        citations=ws.config.recall.citations != "off",
        today=ws.today(memory.caller.clock()),
        hide=redactor(Asked(""), (), (), language, ws.config.privacy),
        language=language,
    )
    hits = [Hit(passage, _SAID + n * _STEP) for n, passage in enumerate(_passages(stopped, ws))]
    hits += [Hit(line, _NOTED + n * _STEP) for n, line in enumerate(lines[-_LINES:])]
    block = pack(sorted(hits, key=lambda hit: -hit.rank), (), limits, pinned[::-1])
    return Opening(block.text, block.tokens)


def where_it_stopped(history: History, project: str, session: str, start: Start) -> tuple[Message, ...]:
    """
    Return the last messages of the last conversation in the folder *project* that is not the *session*, oldest first.

    After a compaction they are those of the session itself; a session that is resumed is still shown by its client.
    """
    if start == "resume":
        return ()
    messages = [
        entry for entry in history if isinstance(entry, Message) and entry.role not in UNSAID and _is_worth_telling(entry)
    ]
    if start == "compact":
        return tuple(message for message in messages if chat_of(message.raw).session == session)[-_MESSAGES_LOST:]
    others = [message for message in messages if message.raw.get("project") == project and chat_of(message.raw).is_direct]
    others = [message for message in others if chat_of(message.raw).session != session]
    last = chat_of(others[-1].raw).session if others else ""
    return tuple(message for message in others if chat_of(message.raw).session == last)[-_MESSAGES:]


def _is_worth_telling(message: Message) -> bool:
    return bool(message.text.strip()) and not is_small_talk(message.text)


def _passages(messages: Iterable[Message], ws: Workspace) -> list[Passage]:
    """Return the messages as passages, each with its id as its place, where `get` finds it also after it was filed."""
    from ..index.chunking import chunk_message
    from ..protocol.dated_file import block_of
    from ..recall.unfiled import path_by_id

    return [
        chunk_message(path_by_id(message.id), block_of(message), ws.zone).passage
        for message in messages
        if message.id and message.created_at
    ]


# ── what an answer looks up ──────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class LookingUp:
    """The operations of an answer, on the workspace that *served* returns."""

    served: Callable[[], Workspace]
    clock: Clock
    keep_fresh: bool = False

    def look(self, request: str, chat: Chat, language: Language) -> str:
        """Return what the request finds; a sentence where it is wrong, or finds nothing."""
        ws = self.served()
        memory = Visible(ws, self._caller(chat, language), UNLIMITED)
        name, given = read_request(request)
        operation = _OPERATIONS.get(name)
        if operation is None:
            return Text("There is no {name}; there are {names}.", name=shown(name, 40), names=", ".join(LOOKUPS)).in_language(
                language
            )
        try:
            text = "\n".join(operation(memory, given))[:_MOST_CHARS]
        except SupervisorError as error:
            return error.in_language(language)
        return without_secrets(text, language, ws.config.privacy) or Text("nothing was found").in_language(language)

    def remember(self, content: str, source: str, chat: Chat) -> None:
        """Write one line of the long-term file, with the channel as its source."""
        from ..longterm.lines import DEFAULT_SOURCE
        from .long_term import write

        entry = {"content": content, "source": source or DEFAULT_SOURCE}
        with acting("tool", "remember"):
            perform(write, self.served(), entry, self._caller(chat, "en"))

    def _caller(self, chat: Chat, language: Language) -> Caller:
        kind = "" if chat.is_direct else chat.kind
        return Caller(session=chat.session, chat=kind, language=language, clock=self.clock, keep_fresh=self.keep_fresh)


def _search_memory(memory: Visible, words: str) -> Iterator[str]:
    for hit in memory.search(words).hits[:_MOST_HITS]:
        unit = hit.unit
        yield _line(f"{unit.path}#L{unit.start}", unit.role, unit.text)


def _get_recent_history(memory: Visible, given: str) -> Iterator[str]:
    count = int(given) if given.isdecimal() and given.isascii() else _FEW
    for message in _visible_messages(memory)[-min(max(count, 1), _MOST_MESSAGES) :]:
        yield _line(_when(memory, message), message.role, message.text)


def _get_history_by_time(memory: Visible, given: str) -> Iterator[str]:
    try:
        days = sorted(date.fromisoformat(text) for text in given.replace(",", " ").split()[:2])
    except ValueError:
        days = []
    if not days:
        raise BadRequest("get_history_by_time", Text("The days are written as 2026-01-15, one or two of them."))
    lines = [*_filed(memory, days[0], days[-1]), *_unfiled(memory, days[0], days[-1])]
    yield from lines[:_MOST_MESSAGES]


def _filed(memory: Visible, since: date, until: date) -> Iterator[str]:
    """Yield the lines of the dated files of these days."""
    for file in sorted(memory.ws.memory.dated(), key=lambda file: file.name):
        if since <= file.day <= until:
            path = f"memory/originals/{file.name[:7]}/{file.name}" if file.original else f"memory/{file.name}"
            shown_path = path if memory.audience.sees_all else nameless(path)
            for line in memory.lines(path, 1, None).text.splitlines():
                if line.strip() and not line.startswith(("---", "<!--")):
                    yield _line(shown_path, "", line)


def _unfiled(memory: Visible, since: date, until: date) -> Iterator[str]:
    """Yield the messages of these days that no dated file holds yet."""
    journal = memory.ws.journal
    for message in _visible_messages(memory):
        if (
            message.created_at
            and since <= memory.ws.today(message.created_at) <= until
            and journal.file_of(message.key) is None
        ):
            yield _line(_when(memory, message), message.role, message.text)


def _visible_messages(memory: Visible) -> list[Message]:
    """Return the messages of history.json that the audience may see, oldest first."""
    history = memory.ws.shown_history.read()
    messages = [entry for entry in history if isinstance(entry, Message) and entry.role not in UNSAID and entry.text.strip()]
    audience = memory.audience
    if audience.sees_all:
        return messages
    is_own = audience.in_groups == "own" and bool(audience.chat.session)
    return [message for message in messages if is_own and chat_of(message.raw) == audience.chat]


def _when(memory: Visible, message: Message) -> str:
    return f"{message.created_at.astimezone(memory.ws.zone):%Y-%m-%d %H:%M}" if message.created_at else "history.json"


def _line(source: str, role: str, text: str) -> str:
    words = shown(text, _HIT_CHARS)
    return f"[{source}] {escaped(role)}: {words}" if role else f"[{source}] {words}"


_OPERATIONS: Final[dict[str, Callable[[Visible, str], Iterable[str]]] | Any] = {
    "search_memory": _search_memory,
    "get_recent_history": _get_recent_history,
    "get_history_by_time": _get_history_by_time,
}
