"""
What an answer may look up, and the one line it may write: 003's `search_memory`, `get_recent_history`, `get_history_by_time`.

They read memory as those who read the chat may see it. What is found is quoted: each passage on a line of its own, escaped and
with its citation, so that no stored text ends the quotation or begins another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import Any, Final

from ..context.render import escaped, shown
from ..protocol.inbox import Chat, chat_of
from ..protocol.llm import without_secrets
from ..protocol.message import UNSAID, Message
from ..protocol.turn import LOOKUPS, read_request
from ..recall.audience import nameless
from ..storage.clock import Clock
from ..storage.control import UNLIMITED, acting
from ..storage.errors import BadRequest, SupervisorError
from ..storage.texts import Text
from ..text.language import Language
from ..text.record import record
from ..workspace import Workspace
from .operation import Caller, Visible, perform

_MOST_HITS: Final = 8
_MOST_MESSAGES: Final = 40
_HIT_CHARS: Final = 600
_MOST_CHARS: Final = 12_000
_FEW: Final = 20
_DATED: Final = "memory/"


@record
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
        from .long_term import WriteRequest, write

        request = WriteRequest(content=content, source=source or DEFAULT_SOURCE)
        with acting("tool", "remember"):
            perform(write, self.served(), request, self._caller(chat, "en"))

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
            place = f"originals/{file.name[:7]}/" if file.original else ""
            path = f"{_DATED}{place}{file.name}"
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
