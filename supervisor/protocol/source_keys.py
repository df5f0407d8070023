"""
The section [sources]: what the supervisor takes in by itself (docs/how-to/several-machines.md).

`take` is a list of tables, `[ { from = "claude-code" }, { path = "~/Sync/laptop", from = "recalld" } ]` or `[[sources.take]]`.
"""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from ..storage.errors import BadConfig
from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from ..text.record import record
from .settings import Kind, duration, made_key, many, read_duration

if TYPE_CHECKING:
    from collections.abc import Callable

_KEY: Final = "sources.take"
#: A name of a source: it stands behind the source of a long-term line, and is a folder below memory/from/.
_NAME: Final = r"[^\W_][\w-]{0,39}"
_NO_NAME: Final = lazy_re(r"[^\w-]+|^[\W_]+")
_FROM: Final = ("claude-code", "codex", "recalld")


@record(kw_only=True)
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
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValueError(value)
    sources = tuple(map(_source, value))
    names = [source.name for source in sources]
    for name in names:
        if names.count(name) > 1:
            raise BadConfig(_KEY, Text('two sources are called {name}; give one of them another `name = "…"`', name=name))
    return sources


def _source(table: dict[str, object]) -> TakenSource:
    for key in table:
        if key not in _READERS:
            raise BadConfig(_KEY, Text("a source has no {key}; it has {keys}", key=str(key)[:40], keys=", ".join(_READERS)))
    given = {field: _checked(key, read, table[key]) for key, (field, read) in _READERS.items() if key in table}
    kind, path = given.get("kind", ""), given.get("path", "")
    if not path and kind in ("", "recalld"):
        raise BadConfig(_KEY, Text('a source needs a `path`, or `from = "claude-code"` or `"codex"`'))
    if given.get("forgets") and kind != "recalld":
        raise BadConfig(_KEY, Text('`forgets` is for `from = "recalld"` alone: nothing else says what was forgotten'))
    name = given.pop("name", "") or _NO_NAME.sub("", kind if not path else path.rstrip("/").rpartition("/")[2])[:40]
    if not name:
        raise BadConfig(_KEY, Text('{path} makes no name; give the source a `name = "…"`', path=path))
    return TakenSource(name=name, **given)


def _checked(key: str, read: Callable[[Any], Any], value: object) -> Any:
    try:
        return read(value)
    except (ValueError, TypeError):
        raise BadConfig(_KEY, Text("{key} = {value} is not allowed", key=key, value=repr(value)[:60])) from None


def _text(value: Any, pattern: str = r"[^\x00-\x1f\x7f\ud800-\udfff]+") -> str:
    if not re.fullmatch(pattern, value):
        raise ValueError(value)
    return str(value)


def _sessions(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, value if isinstance(value, list) else [value]))


def _flag(value: Any) -> bool:
    return (False, True)[(False, True).index(value)]


#: The keys of a source: the field of each, and what reads it.
_READERS: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "name": ("name", lambda value: _text(value, _NAME)),
    "from": ("kind", lambda value: _FROM[_FROM.index(value)]),
    "path": ("path", _text),
    "session": ("sessions", _sessions),
    "since": ("since", lambda value: value if type(value) is date else date.fromisoformat(value)),
    "every": ("every", read_duration),
    "forgets": ("forgets", _flag),
}


@record
class Sources:
    """What the supervisor takes in by itself, as `recalld import` does: logs of clients, folders, other workspaces."""

    take: tuple[TakenSource, ...] = made_key(
        Kind(
            _read_take, Text('a list of tables, such as [ {{ from = "claude-code" }} ]'), lambda text: json.loads(text or "[]")
        ),
        [],
        Text(
            'The sources, each {{ from = "claude-code", "codex" or "recalld", path = …, name = …, session = …, since = …, every = …, forgets = true }}. Without `every` a source is read ten minutes after its files have changed, at night at the latest.'
        ),
    )
    sessions: tuple[str, ...] = many(
        Text("Which sessions are taken, as patterns such as `work-*`, where a source says nothing else (`session`); none: all.")
    )
    patience: timedelta = duration("7d", "For how long a source may be away before anything is said of it.")
