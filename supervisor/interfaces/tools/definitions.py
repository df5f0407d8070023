"""
The definitions of the tools: name, description, parameters, and what a call of it does to memory.

Each tool is defined once; the schemas of OpenAI, Anthropic and MCP are other forms of the same definition. Names, parameters
and defaults are those of CountBot (000) and OpenClaw (001).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ...operations.codec import checked
from ...operations.operation import Bounds
from ...operations.operation import Parameter as Argument
from ...storage.errors import BadRequest
from ...storage.texts import Text, msgid, template

Language: TypeAlias = Literal["zh", "en"]
#: Which schema of `memory_search` a model sees (`[tools] dialect`): 001's ranked search, or 000's line search.
Dialect: TypeAlias = Literal["recall", "lines"]
Kind: TypeAlias = Literal["string", "integer", "number", "array"]

#: The Python type of each kind of JSON.
_TYPES: Final[Mapping[Kind, Any]] = {"string": str, "integer": int, "number": float, "array": list[str]}
#: What is said of a line that a group writes and is not shown.
NOT_SHOWN: Final = msgid("what is written here is not shown in this conversation.")
#: What is said to a model that marks a line.
MARK_TAKEN: Final = msgid(
    "the mark was taken off: `#shared` shows a line in groups, `#pin` in every turn, and only the owner sets them."
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool; a number has a *least* value, and a text must be one of the *choices*, if there are any."""

    name: str
    kind: Kind
    about: str
    default: int | str | None = None
    is_required: bool = False
    least: int | None = None
    choices: tuple[str, ...] = ()
    #: The dialect whose schema shows it; "" is both. A call may also give parameters of the other dialect.
    dialect: Dialect | Literal[""] = ""

    def checked(self, value: object) -> Any:
        """Return the value that a call gave; BadRequest if it is not what the schema says."""
        value = _number(value) if self.kind in ("integer", "number") else value
        bounds = Bounds(least=self.least, choices=self.choices)
        return checked(self.name, Argument(self.name, _TYPES[self.kind], False, self.default, bounds), value)

    def schema(self, language: Language) -> dict[str, Any]:
        """Return the JSON schema of its value."""
        shape: dict[str, Any] = {"type": self.kind}
        if self.kind == "array":
            shape["items"] = {"type": "string"}
        if self.choices:
            shape["enum"] = list(self.choices)
        if self.least is not None:
            shape["minimum"] = self.least
        if self.default is not None:
            shape["default"] = self.default
        return {**shape, "description": template(self.about, language)}


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool: its name, its description for a model, its parameters, and what its call changes."""

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    writes: bool = False
    deletes: bool = False

    def description(self, language: Language) -> str:
        """Return what a model is told of it."""
        return template(self.about, language)

    def schema(self, language: Language, dialect: Dialect) -> dict[str, Any]:
        """Return the JSON schema of its arguments, as a model of this *dialect* sees it."""
        shown = self._shown(dialect)
        return {
            "type": "object",
            "properties": {parameter.name: parameter.schema(language) for parameter in shown},
            "required": [parameter.name for parameter in shown if parameter.is_required],
            "additionalProperties": False,
        }

    def arguments(self, given: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
        """Return the arguments of a call, without those that are null; BadRequest names a wrong argument."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise BadRequest(
                    str(name)[:40], Text("{tool} has no such argument, it has {names}", tool=self.name, names=[*known])
                )
        values = {name: known[name].checked(value) for name, value in given.items() if value is not None}
        is_other = any(
            parameter.is_required and parameter.name in values
            for parameter in self.parameters
            if parameter.dialect not in ("", dialect)
        )
        for parameter in self._shown(dialect):
            if parameter.is_required and parameter.name not in values and not (parameter.dialect and is_other):
                raise BadRequest(parameter.name, Text("{tool} needs it", tool=self.name))
        return values

    def _shown(self, dialect: Dialect) -> tuple[Parameter, ...]:
        return tuple(parameter for parameter in self.parameters if parameter.dialect in ("", dialect))


def _number(value: object) -> object:
    """Return the number that a client has sent as text, such as "3"; another value as it is."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


WRITE: Final = Definition(
    "memory_write",
    msgid(
        "Write one entry to the long-term memory file: a preference, a habit, an important decision, a setting of a project, or "
        "what the user asks to be remembered. Never small talk, passwords, API keys or what has no lasting value. The source is "
        "set automatically."
    ),
    (
        Parameter("content", "string", msgid("The entry; separate several items by ；"), is_required=True),
        Parameter(
            "replaces",
            "string",
            msgid(
                "The line that is no longer true with it, as number@digest, with the digest of a search, a reading or a writing"
            ),
            dialect="recall",
        ),
        Parameter(
            "item",
            "integer",
            msgid("Which item of that line ends, if it has several; without it the entry decides, or the items are listed"),
            least=1,
            dialect="recall",
        ),
    ),
    writes=True,
)
SEARCH: Final = Definition(
    "memory_search",
    msgid(
        "Search long-term memory, the conversations of past days and their summaries. Search before you answer anything about "
        "prior work, decisions, dates, people, preferences or todos; then read the lines that you need with memory_get. If nothing "
        "is found, say that you checked."
    ),
    (
        Parameter(
            "query",
            "string",
            msgid("What to look for: a sentence, words or a date, in the language of the talk"),
            is_required=True,
            dialect="recall",
        ),
        Parameter("maxResults", "integer", msgid("The most results; 5 if not given"), 5, least=1, dialect="recall"),
        Parameter(
            "minScore",
            "number",
            msgid("Results with a lower score, 0 to 1, are left out; none is if not given"),
            least=0,
            dialect="recall",
        ),
        Parameter(
            "keywords",
            "string",
            msgid("Keywords, separated by blanks; only the lines of the long-term memory file are searched"),
            is_required=True,
            dialect="lines",
        ),
        Parameter("max_results", "integer", msgid("The most lines; 15 if not given"), 15, least=1, dialect="lines"),
        Parameter(
            "match_mode",
            "string",
            msgid("or: any of the keywords, the default; and: all of them"),
            "or",
            choices=("or", "and"),
            dialect="lines",
        ),
    ),
)
READ: Final = Definition(
    "memory_read",
    msgid("Read the long-term memory file by line numbers; without any the most recent entries."),
    (
        Parameter("start_line", "integer", msgid("The first line, from 1")),
        Parameter("end_line", "integer", msgid("The last line, inclusive; if not given, the first line alone")),
        Parameter(
            "recent_count", "integer", msgid("How many recent entries without line numbers; 10 if not given"), 10, least=1
        ),
    ),
)
GET: Final = Definition(
    "memory_get",
    msgid("Read exact lines of a memory file; path and lines are those of a result of memory_search."),
    (
        Parameter(
            "path",
            "string",
            msgid("The file, such as memory.md or memory/2026-01-28-deploy.md, with or without #L4-L6"),
            is_required=True,
        ),
        Parameter("from", "integer", msgid("The first line; 1 if not given"), 1, least=1),
        Parameter("lines", "integer", msgid("How many lines; to the end of the file if not given"), least=1),
    ),
)
DELETE: Final = Definition(
    "memory_delete",
    msgid(
        "Delete lines of the long-term memory file, each given as number@digest with the digest of a search, a reading or a "
        "writing; a line that has changed is not deleted."
    ),
    (Parameter("lines", "array", msgid('The lines, such as ["42@1f3a9c0d"]'), is_required=True),),
    writes=True,
    deletes=True,
)
FORGET: Final = Definition(
    "memory_forget",
    msgid(
        "Take one message, or one line of the long-term memory, out of every place, for good; only where the user asks to forget "
        "it. It is given as id@digest or number@digest, with the digest of a search, a reading or a writing."
    ),
    (Parameter("ref", "string", msgid("What to forget, such as 42@1f3a9c0d"), is_required=True),),
    writes=True,
    deletes=True,
)
#: All tools, in the order in which a model gets them.
DEFINITIONS: Final[Mapping[str, Definition]] = {
    definition.name: definition for definition in (SEARCH, GET, READ, WRITE, DELETE, FORGET)
}
