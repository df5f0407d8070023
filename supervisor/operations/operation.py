"""
What an operation is, who asks for one, and how it is performed.

An operation takes a typed request and returns a typed answer, whatever interface it came in by. `Visible` is the memory as the
caller may see it: the audience is applied there, once, so that no interface can forget it. What is the owner's alone is refused
in a group before it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeAlias, TypeVar

from recalld.supervisor.protocol.inbox import chat_of
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.clock import utc_now
from recalld.supervisor.storage.control import UNLIMITED, Control
from recalld.supervisor.storage.errors import BadRequest, refuse_no_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from recalld.supervisor.index.hit import SearchResult
    from recalld.supervisor.longterm.long_term_file import LongTermText, Seen
    from recalld.supervisor.protocol.config import Config
    from recalld.supervisor.recall.audience import Audience
    from recalld.supervisor.recall.lines import Lines
    from recalld.supervisor.storage.clock import Clock
    from recalld.supervisor.text.language import Language
    from recalld.supervisor.workspace import Workspace

#: The types of a request and of an answer.
Q = TypeVar("Q")
A = TypeVar("A")
#: How an operation came in; it changes no answer, only how one is worded (an option is `--limit`, an argument `limit`).
Interface: TypeAlias = Literal["python", "command", "socket", "tool"]
#: The kinds of chat that a caller may name; "" leaves it to the key of the session.
CHATS: Final = ("", "direct", "group", "channel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """
    Who asks: the conversation that reads the answer (*session*, a *chat* of its kind), the *language*, and the *interface*.

    *clock* returns the present for them. With *keep_fresh* the index is updated before a search; a running supervisor does it.
    BadRequest if *chat* is no kind of chat.
    """

    session: str = ""
    chat: str = ""
    language: Language = "en"
    interface: Interface = "python"
    clock: Clock = utc_now
    keep_fresh: bool = True

    def __post_init__(self) -> None:
        refuse_no_text("session", self.session)
        refuse_no_text("chat", self.chat)
        if self.chat not in CHATS:
            raise BadRequest("chat", Text("argument.no_chat", value=self.chat))

    def audience(self, ws: Workspace) -> Audience:
        """Return who reads the answer, and what they may see."""
        from recalld.supervisor.recall.audience import Audience

        where = chat_of({"session": self.session, "chat": self.chat or None})
        return Audience(chat=where, in_groups=ws.config.recall.in_groups)


@dataclass(frozen=True, slots=True)
class Visible:
    """The memory of a workspace as *caller* may see it."""

    ws: Workspace
    caller: Caller
    control: Control

    @property
    def audience(self) -> Audience:
        """Who reads the answer, and what they may see."""
        return self.caller.audience(self.ws)

    def search(self, query: str) -> SearchResult:
        """Return what is found for the words, as if there were nothing but what the audience may see."""
        self.refresh()
        return self.told(self.ws.searcher.search(query, self.caller.clock(), audience=self.audience))

    def told(self, found: SearchResult) -> SearchResult:
        """Return what was found as the audience is told it."""
        if self.audience.sees_all:
            return found
        from recalld.supervisor.recall.group_search import heard

        return replace(found, hits=tuple(map(heard, found.hits)))

    def refresh(self) -> None:
        """Update the index for as long as a turn may take; where that fails, the old one answers."""
        if self.caller.keep_fresh:
            for_s = self.ws.config.recall.timeout_ms / 1000
            self.ws.attempt("index", lambda: self.ws.searcher.refresh(control=self.control, for_s=for_s), None)

    def lines(self, path: str, start: int, count: int | None) -> Lines:
        """Return exact lines of a memory file; those that the audience may not see are not there."""
        if not self.audience.sees_all:
            self.refresh()  # of what they may see the index tells
        return self.ws.line_reader.read(path, self.caller.clock(), start, count, self.audience)

    def long_term(self) -> LongTermText:
        """Return the long-term file with the lines that the audience may see, and no others."""
        from recalld.supervisor.longterm.lines import only_lines

        found = self.ws.long_term.read()
        return replace(found, text=only_lines(found.text, self.seen(found.text))) if self.seen else found

    @property
    def seen(self) -> Seen | None:
        """What returns the numbers of the lines of a long-term file that the audience may see; None where it sees all."""
        from recalld.supervisor.longterm.lines import cut

        path, reader, audience = self.ws.long_term.path, self.ws.line_reader, self.audience
        return None if audience.sees_all else lambda text: reader.visible(path, cut(text), audience)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[Q, A]):
    """
    An act by its *name*: how it is *run*, and the type of its *request*; codec.py has the type of its answer.

    One that *reads* runs side by side with others. One of the *owner* is refused in a group. *within_s* is how long who asked
    a supervisor should wait for the answer, in seconds; with *may_ask_model* it may take as long as `turns.wait` beyond that.
    """

    name: str
    request: type[Q]
    run: Callable[[Visible, Q], A] = field(repr=False)
    reads: bool = False
    owner: bool = False
    within_s: float = 2.0
    may_ask_model: bool = False

    def patience_s(self, config: Config) -> float:
        """Return how long who asked a supervisor should wait for the answer, in seconds."""
        may_wait = self.may_ask_model and config.turns.overflow != "off"
        return self.within_s + (config.turns.wait.total_seconds() if may_wait else 0.0)


def perform(operation: Operation[Q, A], ws: Workspace, request: Q, caller: Caller, control: Control = UNLIMITED) -> A:
    """Return the answer of the operation; SupervisorError where it can't be had."""
    memory = Visible(ws, caller, control)
    # who names no conversation is the owner; `append` loads nothing to find that out
    if operation.owner and (caller.session or caller.chat) and not memory.audience.sees_all:
        raise BadRequest(operation.name, Text("argument.owner_alone"))
    return operation.run(memory, request)


def operation(
    name: str,
    request: type[Q],
    *,
    reads: bool = False,
    owner: bool = False,
    within_s: float = 2.0,
    may_ask_model: bool = False,
) -> Callable[[Callable[[Visible, Q], A]], Operation[Q, A]]:
    """Make an operation of a function (Visible, request) -> answer."""

    def make(run: Callable[[Visible, Q], A]) -> Operation[Q, A]:
        kinds = Operation(name=name, request=request, run=run, reads=reads, owner=owner)
        return replace(kinds, within_s=within_s, may_ask_model=may_ask_model)

    return make
