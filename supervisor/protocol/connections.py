"""
What a workspace is connected with: clients, into whose settings recalld was put, and sources, which it takes in by itself.

`recalld connect` writes `.recalld/connections.json`, `doctor` reads it. What is lost with it: `connect --remove` then looks for
recalld's entries by what they start. Source: docs/reference/protocol.md, 12.

The sources are the key `take` of [sources], a list of tables, `[ { from = "claude-code" }, { path = "~/Sync/laptop", from =
"recalld" } ]` or `[[sources.take]]` (docs/how-to/several-machines.md). How far each is read is `.recalld/sources/NAME.json`,
which holds no word of it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

from ..storage.errors import BadConfig, quoted
from ..storage.files import Files
from ..storage.lenient_json import parse_json, read_record, render_json
from ..storage.texts import Text, restored
from ..text.lazy_re import lazy_re
from .settings import made_key, read_duration

#: The clients that `connect` sets up; earlier versions had others.
CLIENTS: Final = ("claude-code", "codex")
#: Why a hook of a client failed, as its event says: its time was up, or there is none for the client; and why the proxy did.
HOOK_LATE: Final = "it took too long"
MEMORY_LATE: Final = "memory took too long"
#: A name of a source: it stands behind the source of a long-term line, and is a folder below memory/from/.
_NAME: Final = r"[^\W_][\w-]{0,39}"
_NO_NAME: Final = lazy_re(r"[^\w-]+|^[\W_]+")
_FROM: Final = ("claude-code", "codex", "recalld")
_TAKE: Final = "sources.take"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """
    One settings file of a *client*: its *path*, and the *command* of a hook in it.

    *project* is the folder for which it was connected, "" for all. *made*: there was no such file.
    """

    client: str
    path: str
    project: str = ""
    command: str = ""
    made: bool = False


@dataclass(frozen=True, slots=True)
class _File:
    version: Literal[1]
    connections: tuple[Connection, ...]


def parse_connections(data: bytes) -> tuple[Connection, ...]:
    """Return the connections; ValueError with a reason for a file that is none of these."""
    raw = parse_json(data)
    try:
        return read_record(_File, raw).connections
    except ValueError:
        raise ValueError(Text("it is of another version, or lists no connections")) from None


def render_connections(connections: Sequence[Connection]) -> bytes:
    """Return the bytes of the file."""
    return render_json(asdict(_File(1, tuple(connections)))) + b"\n"


# ── sources ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenSource:
    """
    One source: *kind* is what `from` says, "" for whatever is found at its *path*, which a client may leave out.

    *sessions* are patterns of those that are taken, () for those of the section; nothing is taken from before *since*. *every*
    is None where it is read when its files change. With *forgets* what was forgotten there is forgotten here.
    """

    name: str
    kind: str = ""
    path: str = ""
    sessions: tuple[str, ...] = ()
    since: date | None = None
    every: timedelta | None = None
    forgets: bool = False


def _read_take(value: object) -> tuple[TakenSource, ...]:
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise ValueError(value)
    sources = tuple(map(_source, value))
    names = [source.name for source in sources]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise BadConfig(_TAKE, Text("two sources are called {name}; give one another `name`", name=twice))
    return sources


def _source(table: dict[str, object]) -> TakenSource:
    given: dict[str, Any] = {}
    for key, value in table.items():
        try:
            field_of, read = _READERS[key]
            given[field_of] = read(value)
        except (LookupError, ValueError, TypeError):
            what = f"{key[:40]} = {quoted(value)}"
            raise BadConfig(
                _TAKE, Text("{what} is not allowed; a source has {keys}", what=what, keys=", ".join(_READERS))
            ) from None
    kind, path = given.get("kind", ""), given.get("path", "")
    name = given.pop("name", "") or _NO_NAME.sub("", kind if not path else path.rstrip("/").rpartition("/")[2])[:40]
    has_place = path or kind not in ("", "recalld")
    # only another workspace says what was forgotten there
    may_forget = kind == "recalld" or not given.get("forgets")
    if not (has_place and may_forget and name):
        raise ValueError(table)
    return TakenSource(name=name, **given)


def _text(value: Any, pattern: str = r"[^\x00-\x1f\x7f\ud800-\udfff]+") -> str:
    if not re.fullmatch(pattern, value):
        raise ValueError(value)
    return str(value)


def _sessions(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, value if isinstance(value, list) else [value]))


#: The keys of a source: the field of each, and what reads it.
_READERS: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "name": ("name", lambda value: _text(value, _NAME)),
    "from": ("kind", lambda value: _FROM[_FROM.index(value)]),
    "path": ("path", _text),
    "session": ("sessions", _sessions),
    "since": ("since", lambda value: value if type(value) is date else date.fromisoformat(value)),
    "every": ("every", read_duration),
    "forgets": ("forgets", lambda value: (False, True)[(False, True).index(value)]),
}


def take() -> tuple[TakenSource, ...]:
    """Return the key that holds the sources."""
    return made_key(
        [],
        'The sources, each { from = "claude-code", "codex" or "recalld", path = …, name = …, session = …, since = …, every = …, forgets = true }. Without `every` a source is read ten minutes after its files have changed, at night at the latest; less than five minutes acts as five.',
        Text(
            'a list of tables with a path, which a client may leave out, such as [ {{ from = "claude-code" }} ] (docs/how-to/several-machines.md)'
        ),
        _read_take,
    )


@dataclass
class State:
    """
    How far a source is read: *done* has the files that were read, *pending* the others, each by a digest of its path.

    Of a file that was read its signature is kept; of a pending one also since when it has not changed, and since when it
    waits. *left* says of files that were left out why, *trouble* why nothing is read. *lines* and *notes* are digests of what
    was taken of another workspace. *waits* counts what was forgotten there, and stands here until a person says so.
    """

    taken: str = ""  # when something of it was read last
    away: str = ""  # since when it is
    messages: int = 0
    unread: int = 0
    waits: int = 0
    trouble: dict[str, Any] | None = None
    left: dict[str, dict[str, Any]] = field(default_factory=dict)
    done: dict[str, str] = field(default_factory=dict)
    pending: dict[str, tuple[str, datetime, datetime]] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)

    def why(self) -> str:
        """Return why nothing is read, "" for no reason."""
        return _text_of(self.trouble) if self.trouble else ""

    def shown(self) -> dict[str, Any]:
        """Return what a person is shown of it."""
        left = {name: _text_of(why) for name, why in self.left.items()}
        counts = {"messages": self.messages, "pending": len(self.pending), "unread": self.unread, "waits": self.waits}
        return {"read": self.taken, "away": self.away, **counts, "trouble": self.why(), "leftOut": left}


def _text_of(why: dict[str, Any]) -> str:
    return restored(str(why.get("english", "")), why)


def read_state(files: Files, place: Path) -> State:
    """Return the state that a file says; where it says none, that of a source which was never read: nothing comes twice."""
    version = files.read_stable(place)
    try:
        return read_record(State, parse_json(version.data)) if version else State()
    except ValueError:
        return State()
