"""
The tools as a model calls them: schemas for its API, and the call of one by name, with what the model gave as arguments.

    from recalld import Memory, register_all_tools

    tools = register_all_tools(Memory("~/assistant"), channel="telegram")
    tools.openai()  # the schemas for chat completions
    tools.call("memory_search", '{"query": "备份在哪台机器上？"}').text  # what goes back as the tool's message
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Final

from ...longterm.memory_store import MemoryStore, guidance
from ...operations.codec import to_json
from ...storage.control import acting
from ...storage.errors import BadRequest, as_supervisor_error
from ...storage.texts import Text, render
from ..api import Memory
from ..wording import spoken_language
from .answers import Answer, as_text
from .definitions import DEFINITIONS, FORGET, READ, SEARCH, WRITE, Definition, Dialect, Language
from .memory_tools import MemoryTools

#: The arguments of JSON that have another name in Python.
_IN_PYTHON: Final = {"maxResults": "max_results", "minScore": "min_score", "from": "start"}


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a call: *text* for the model, and *data*, the same as JSON (None for an error)."""

    text: str
    data: dict[str, Any] | None = None
    is_error: bool = False


class Tool:
    """One tool over *tools*, with the members that CountBot (000) and nanobot use."""

    def __init__(self, tools: MemoryTools, definition: Definition, dialect: Dialect) -> None:
        self._tools = tools
        self.definition, self.dialect, self.language = definition, dialect, tools.language
        self.name = definition.name
        self.description = definition.description(tools.language)
        self.parameters = definition.schema(tools.language, dialect)

    def set_channel(self, channel: str | None) -> None:
        """Set the source of what is written from now on."""
        self._tools.set_channel(channel)

    async def execute(self, **arguments: Any) -> str:
        """Return the text for the model."""
        return self.call(arguments).text

    def call(self, arguments: str | Mapping[str, Any] | None = None) -> Reply:
        """Call it; as `ToolRegistry.call`."""
        try:
            with acting("tool"):
                answer = self.function()(**self.definition.arguments(_parsed(arguments), self.dialect))
        except Exception as error:  # noqa: BLE001 - the model gets the error, and the conversation goes on
            fault = as_supervisor_error(error, self.name, self._tools.memory.workspace.paths.root)
            return Reply(render(fault, self._tools.language), is_error=True)
        return Reply(as_text(answer), to_json(answer))

    def function(self) -> Callable[..., Answer]:
        """Return it as a plain Python function, whose arguments may have their JSON names (001) or their Python names."""
        method: Callable[..., Answer] = getattr(self._tools, self.name)

        @wraps(method)
        def called(*values: Any, **given: Any) -> Answer:
            return method(*values, **{_IN_PYTHON.get(key, key): value for key, value in given.items()})

        return called


class ToolRegistry:
    """The tools that a model has, over *tools*; none where there is no memory."""

    def __init__(
        self, tools: MemoryTools | None, definitions: tuple[Definition, ...], *, language: Language, dialect: Dialect
    ) -> None:
        self.tools = tools
        self.language = language
        self.dialect = dialect
        self._tools = {definition.name: Tool(tools, definition, dialect) for definition in definitions if tools}

    def __iter__(self) -> Iterator[Tool]:
        """Yield the tools in the order in which a model gets them."""
        return iter(self._tools.values())

    def register(self, tool: Tool) -> None:
        """Add a tool that was made on its own (000); it replaces a tool with its name."""
        self._tools[tool.name] = tool

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions of the tools."""
        return tuple(tool.definition for tool in self)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools."""
        return tuple(self._tools)

    @property
    def limits(self) -> dict[str, bool]:
        """The arguments with which `register_all_tools` makes the same tools."""
        offered = self.definitions
        return {"read_only": not any(tool.writes for tool in offered), "allow_delete": any(tool.deletes for tool in offered)}

    def set_channel(self, channel: str | None) -> None:
        """Set the source of what is written from now on; None is web-chat."""
        for tool in self:
            tool.set_channel(channel)

    # ── descriptions for a model ─────────────────────────────────────────────

    def functions(self) -> dict[str, Callable[..., Answer]]:
        """Return the tools as plain Python functions, for a framework that reads signatures."""
        return {tool.name: tool.function() for tool in self}

    def openai(self) -> list[dict[str, Any]]:
        """Return the function schemas of OpenAI's chat completions."""
        return [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in self
        ]

    def anthropic(self) -> list[dict[str, Any]]:
        """Return the tool schemas of Anthropic's messages."""
        return [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in self]

    def guidance(self) -> str:
        """Return the section for the system prompt, in the language and dialect of the first tool; "" without tools."""
        return next((guidance(self.names, tool.language, tool.dialect) for tool in self), "")

    # ── a call ───────────────────────────────────────────────────────────────

    def call(self, name: str, arguments: str | Mapping[str, Any] | None = None) -> Reply:
        """
        Call the tool with the arguments that a model gave, as JSON or parsed, and return the reply to the model.

        It never raises: an error is a reply with one sentence and `is_error`.
        """
        if tool := self._tools.get(name):
            return tool.call(arguments)
        why = Text("there is no such tool; there are {names}", names=self.names or Text("none"))
        return Reply(render(BadRequest(str(name)[:40], why), self.language), is_error=True)


def _parsed(arguments: str | Mapping[str, Any] | None) -> Mapping[str, Any]:
    value: object = arguments
    if isinstance(arguments, str) or arguments is None:
        try:
            value = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, Mapping):
        raise BadRequest("arguments", Text("a JSON object is expected"))
    return value


def register_all_tools(
    memory_store: Memory | MemoryStore | str | os.PathLike[str] | None = None,
    *,
    session: str = "",
    chat: str = "",
    channel: str = "web-chat",
    read_only: bool = False,
    allow_delete: bool = False,
    language: Language | None = None,
    dialect: Dialect | None = None,
) -> ToolRegistry:
    """
    Return the tools over a `Memory`, a `MemoryStore` or the folder of a workspace; for None, no tools (000).

    *session* and *chat* are the conversation, *channel* is the source of what is written. With *read_only* no tool writes;
    only *allow_delete* adds `memory_delete`, and `memory_forget` where the chat is no group. By default descriptions are in the
    *language* of the workspace, and the *dialect* is that of `[tools] dialect`, or "lines" for a `MemoryStore`, whose programs
    search by `keywords`.
    """
    if memory_store is None:
        return ToolRegistry(None, (), language=language or "en", dialect=dialect or "recall")
    from ...longterm.memory_store import MemoryStore
    from ...workspace import open_workspace
    from ..api import Memory

    if isinstance(memory_store, MemoryStore):
        # the first write may make the folder; `Memory` of a path refuses a missing folder
        memory = Memory(open_workspace(memory_store.root, os.environ, memory_store.clock), clock=memory_store.clock)
        memory.workspace.long_term = memory_store.long_term  # this one knows the file and the days of a CountBot folder
        dialect = dialect or "lines"
    else:
        memory = memory_store if isinstance(memory_store, Memory) else Memory(memory_store)
    tools = MemoryTools(memory, session=session, chat=chat, channel=channel)
    tools.language = language or spoken_language(memory.workspace.config.language, os.environ)
    chosen = tuple(
        definition
        for definition in DEFINITIONS.values()
        if not (definition.writes and read_only)
        and not (definition.deletes and not allow_delete)
        and not (definition is FORGET and not tools.audience.sees_all)
    )
    tools.shows_refs, tools.forgets = any(definition.deletes for definition in chosen), FORGET in chosen
    return ToolRegistry(tools, chosen, language=tools.language, dialect=dialect or memory.workspace.config.tools.dialect)


# ── the three tools of 000, each made and registered by itself ───────────────


class _StoreTool(Tool):
    """A tool over one store, with 000's texts: `tools.register(MemoryWriteTool(memory_store))`."""

    _of: ClassVar[Definition]

    def __init__(self, memory_store: MemoryStore | Memory | str | os.PathLike[str]) -> None:
        tools: Any = register_all_tools(memory_store, language="zh", dialect="lines").tools  # some, since there is a store
        super().__init__(tools, self._of, "lines")


class MemoryWriteTool(_StoreTool):
    """Writes an entry: `await tool.execute(content=…)`."""

    _of = WRITE


class MemorySearchTool(_StoreTool):
    """Searches the lines: `await tool.execute(keywords=…, max_results=15, match_mode="or")`."""

    _of = SEARCH


class MemoryReadTool(_StoreTool):
    """Reads lines by their numbers, or the most recent ones."""

    _of = READ
