"""
What an operation is, who asks for one, and how it is performed.

An operation is a function of `Visible`, the memory as the caller may see it, and of its arguments, whatever interface they came
through: its signature says what they may be. The audience is applied in `Visible`, once, so that no interface can forget it. An
operation for the owner alone is refused in a group before it begins.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Final, Generic, Literal, TypeAlias, TypeVar, get_args, get_origin

from ..protocol.config import Config
from ..storage.clock import Clock, utc_now
from ..storage.control import UNLIMITED, Control, author, noting
from ..storage.errors import BadRequest, OwnersAlone, quoted, refuse_no_number, refuse_no_text
from ..storage.texts import Text
from ..workspace import Workspace

if TYPE_CHECKING:
    from ..index.hit import SearchResult
    from ..longterm.long_term_file import LongTermText, Seen
    from ..recall.audience import Audience
    from ..recall.lines import Lines
    from ..text.language import Language

#: The type of an answer.
A = TypeVar("A")
#: The interface of a request; it changes only the wording of an answer (an option is `--limit`, an argument `limit`).
Interface: TypeAlias = Literal["python", "command", "socket", "tool", "http"]
#: The kinds of chat that a caller may name; "" means the kind in the key of the session.
CHATS: Final = ("", "direct", "group", "channel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """
    Who asks: the conversation that reads the answer (*session*, and *chat*, its kind), the *language*, and the *interface*.

    *clock* returns the present. With *keep_fresh* the index is updated before a search; a running supervisor keeps it up to
    date itself. BadRequest if *chat* is no kind of chat.
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
            raise BadRequest("chat", Text("{value!r} is not direct, group or channel", value=self.chat))

    def audience(self, ws: Workspace) -> Audience:
        """Return who reads the answer, and what they may see."""
        from ..recall.audience import Audience

        where = ws.groups.chat({"session": self.session, "chat": self.chat or None}, self.clock())
        return Audience(chat=where, in_groups=ws.config.recall.in_groups)


@dataclass(eq=False)
class Visible:
    """The memory of a workspace as *caller* may see it."""

    ws: Workspace
    caller: Caller
    control: Control

    @cached_property
    def audience(self) -> Audience:
        """Who reads the answer, and what they may see; it is found out once."""
        return self.caller.audience(self.ws)

    def search(self, query: str) -> SearchResult:
        """Return what a search for the words finds, as if memory were only what the audience may see."""
        self.refresh()
        return self.shown(self.ws.searcher.search(query, self.caller.clock(), audience=self.audience))

    def shown(self, result: SearchResult) -> SearchResult:
        """Return what was found in the form that the audience may see."""
        audience = self.audience
        if audience.chat.is_direct:
            return result
        from ..recall.visible import heard

        hits = tuple(hit for hit in result.hits if audience.may_see(hit.unit))
        return replace(result, hits=hits if audience.sees_all else tuple(map(heard, hits)))

    def refresh(self) -> None:
        """Update the index, for as long as a turn may take; if that fails, searches use the old one."""
        if self.caller.keep_fresh:
            for_s = self.ws.config.recall.timeout_ms / 1000
            self.ws.events.attempt("index", lambda: self.ws.searcher.refresh(control=self.control, for_s=for_s), None)

    def lines(self, path: str, start: int, count: int | None) -> Lines:
        """Return exact lines of a memory file, without those that the audience may not see."""
        if not self.audience.sees_all:
            self.refresh()  # the index knows what a group may see
        from ..index.hit import BY_ID

        audience = self.audience
        result = self.ws.line_reader.read(path, self.caller.clock(), start, count, audience)
        if audience.chat.is_direct or path.startswith(BY_ID):  # a message has been judged whole
            return result
        return replace(result, text="\n".join(line for line in result.text.split("\n") if not audience.may_not_read(line)))

    def long_term(self) -> LongTermText:
        """Return the long-term file with only the lines that the audience may see."""
        from ..longterm.lines import all_numbers, only_lines

        lines, seen = self.ws.long_term.read(), self.seen
        return lines if seen is all_numbers else replace(lines, text=only_lines(lines.text, seen(lines.text)))

    @property
    def seen(self) -> Seen:
        """The function from a long-term file to the numbers of the lines that the audience may see."""
        from ..longterm.lines import all_numbers, cut

        path, reader, audience = self.ws.long_term.path, self.ws.line_reader, self.audience
        if audience.sees_all and not audience.chat.is_direct:
            return lambda text: [n for n, line in enumerate(cut(text), 1) if not audience.may_not_read(line)]
        return all_numbers if audience.sees_all else lambda text: reader.visible(path, cut(text), audience)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[A]):
    """
    An act with its *name* and the function that *run*s it; codec.py derives the JSON of its arguments and of its answer.

    One of the *owner* is refused in a group. Several run at once, so that each store locks what it writes. *within_s* is how
    many seconds a client should wait for the answer; with *may_ask_model* `turns.wait` longer.
    """

    name: str
    run: Callable[..., A] = field(repr=False)
    owner: bool = False
    within_s: float = 2.0
    may_ask_model: bool = False

    def patience_s(self, config: Config) -> float:
        """Return how many seconds a client of the supervisor should wait for the answer."""
        may_wait = self.may_ask_model and config.turns.overflow != "off"
        return self.within_s + (config.turns.wait.total_seconds() if may_wait else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """
    What an argument may be: a number from *least* to *most*, a text of at most *length* characters, or one of the *choices*.

    What is not *in_json* is for programs in Python alone.
    """

    least: int | None = None
    most: int | None = None
    length: int | None = None
    choices: Sequence[str] = ()
    in_json: bool = True

    def refuse(self, name: str, value: Any) -> None:
        """Raise BadRequest, with the name of the argument, for a value outside of them."""
        if self.length is not None and len(value) > self.length:
            sentence = Text("it has {count:,} characters; give at most {most:,}", count=len(value), most=self.length)
            raise BadRequest(name, sentence)
        allowed: object = [*self.choices] if self.choices and value not in self.choices else ""
        if self.least is not None and not self.least <= value <= (value if self.most is None else self.most):
            allowed = Text("{least} or more", least=self.least)
            if self.most is not None:
                allowed = Text("a whole number from {least} to {most}", least=self.least, most=self.most)
        if allowed:
            raise BadRequest(name, Text("{value} is not allowed, give {allowed}", value=quoted(value), allowed=allowed))


#: An argument that JSON does not have.
OfPython: TypeAlias = Annotated[Any, Bounds(in_json=False)]


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of an operation: its *kind*, a type, or None where it *may_be_none*; its *default*, and its *bounds*."""

    name: str
    kind: Any
    may_be_none: bool
    default: Any
    bounds: Bounds

    @property
    def is_required(self) -> bool:
        """True if it has no default."""
        return self.default is inspect.Parameter.empty

    def refuse(self, value: Any) -> None:
        """Raise BadRequest, with its name, for a value that is not of its kind."""
        if value is None and self.may_be_none:
            return
        if self.kind is str:
            refuse_no_text(self.name, value)
        elif self.kind is int:
            refuse_no_number(self.name, value)
        elif self.kind is float and not isinstance(value, (int, float)):
            raise BadRequest(self.name, Text("it must be a number, not {kind}", kind=type(value).__name__))
        elif self.kind == Sequence[str]:
            for item in value:
                refuse_no_text(self.name, item)
        self.bounds.refuse(self.name, value)


@cache
def parameters(operation: Operation[Any]) -> Mapping[str, Parameter]:
    """Return the arguments of the operation by their names, as the signature of its function has them."""
    _, *given = inspect.signature(operation.run).parameters.values()  # the first is what may be seen of memory
    return {part.name: _parameter(part, operation.run.__globals__) for part in given}


def _parameter(part: inspect.Parameter, names: dict[str, Any]) -> Parameter:
    kind = eval(part.annotation, names)  # noqa: S307 - an annotation in this package
    kind, bounds = get_args(kind) if get_origin(kind) is Annotated else (kind, Bounds())
    kinds = get_args(kind) if type(None) in get_args(kind) else (kind,)
    return Parameter(part.name, kinds[0], len(kinds) > 1, part.default, bounds)


def perform(
    operation: Operation[A], ws: Workspace, arguments: Mapping[str, Any], caller: Caller, control: Control = UNLIMITED
) -> A:
    """Return the answer of the operation; BadRequest names a wrong argument, a SupervisorError says why there is no answer."""
    known = parameters(operation)
    for name, value in arguments.items():
        known[name].refuse(value)
    memory = Visible(ws, caller, control)
    # a caller that names no conversation is the owner; `append` loads nothing to find that out
    if operation.owner and (caller.session or caller.chat) and not memory.audience.sees_all:
        raise OwnersAlone(operation.name, Text("it is the owner's alone, and it was asked for in a group"))
    with noting() as noted:
        try:
            return operation.run(memory, **arguments)
        finally:
            if noted:
                by = author(caller.interface, operation.name)
                ws.events.attempt("diary", lambda: ws.diary.keep(noted, caller.clock(), by), None)


def operation(name: str, **how: Any) -> Callable[[Callable[Concatenate[Visible, ...], A]], Operation[A]]:
    """Return the decorator that makes an operation of a function (Visible, its arguments) -> answer; *how* are fields of it."""
    return lambda run: Operation(name=name, run=run, **how)


#: The operations of each module of this package; each operation is an attribute of its module, under its name.
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "recall": ("inject", "context", "search", "get", "why"),
    "assistant": ("opening",),
    "history": ("append", "recent", "sessions"),
    "long_term": (
        "long_term_text",
        "replace_long_term",
        "search_lines",
        "write",
        "read",
        "delete",
        "invalidate",
        "stats",
        "summarize",
        "summarize_overflow",
    ),
    "forget": ("forget",),
    "undo": ("undo",),
    "prune": ("prune",),
    "days": ("days", "day", "summary", "edit_summary"),
    "upkeep": (
        "examine",
        "status",
        "plan",
        "fsck",
        "repair",
        "accept",
        "restore",
        "archive",
        "redo",
        "index_status",
        "index_rebuild",
    ),
}
_HOMES: Final = {name: module for module, names in MODULES.items() for name in names}
#: The names of all operations.
NAMES: Final = tuple(_HOMES)


def find(name: str) -> Operation[Any]:
    """Return the operation of that name; BadRequest if there is none."""
    if name not in _HOMES:
        raise BadRequest("op", Text("there is no operation {name!r}; give one of {names}", name=name, names=[*NAMES]))
    operation: Operation[Any] = getattr(import_module(f"recalld.supervisor.operations.{_HOMES[name]}"), name)
    return operation
