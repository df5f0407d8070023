"""
What `recalld connect`, also with --remove, would do to the text of one settings file. Pure.

`connected` puts in what is missing, in place of what an earlier `connect` put in for another environment or workspace.
`disconnected` takes out what starts recalld's hook or server, and the marked paragraph. JSON that is changed is written with
the order, the indentation and the line breaks that it has, as the clients write it themselves.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from shlex import split
from typing import TYPE_CHECKING, Any, Final

from ...storage.lenient_json import keys_once
from ...storage.texts import Text, msgid
from ...text.lazy_re import lazy_re
from .clients import NAME, Wanted, workspace_of

if TYPE_CHECKING:
    Keys = tuple[str, ...]

#: The marks around recalld's paragraph in a file of Markdown.
BEGIN, END = "<!-- recalld -->", "<!-- /recalld -->"
_PARAGRAPH: Final = lazy_re(rf"(?:(?<=\n)\r?\n)?^{BEGIN}\r?\n.*?^{END}(?:\r?\n)?", re.DOTALL | re.MULTILINE)
#: recalld's table in TOML with the blank line before it, and the tables in it; the lines of it that are no comments.
_TABLE: Final = lazy_re(rf"(?m)(?:^\r?\n)?^\[mcp_servers\.{NAME}[.\]][^\n]*\n?(?:(?!\[)[^\n]*\n|(?!\[)[^\n]+\Z)*")
_ENTRY: Final = lazy_re(r"(?m)^[^#\s][^\n]*\n?|^[ \t]+[^#\s][^\n]*\n?")
#: The indentation of a JSON text: that of its first line that has any.
_INDENTATION: Final = lazy_re(r"\n([ \t]+)\S")


class Refused(ValueError):
    """A settings file that can't be changed: why, and what mends it."""

    def __init__(self, why: Text, mend: str = msgid("correct it, or add the entry by hand")) -> None:
        super().__init__(why, Text(mend))


_FOREIGN: Final = (
    Text("the MCP server `{name}` in it is not one that recalld wrote", name=NAME),
    msgid("give it another name, or take it out"),
)


def connected(text: str, wanted: Wanted) -> str:
    """Return the text with what is *wanted*; Refused for one that can't be changed."""
    return {"json": _in_json, "toml": _in_toml, "paragraph": _in_markdown}[wanted.form](text, wanted)


def disconnected(text: str, wanted: Wanted, root: str | None = None) -> str:
    """
    Return the text without what recalld put in for the workspace *root*, None: for any; Refused as above.

    An object or array that this leaves empty goes with it.
    """
    match wanted.form:
        case "json":
            settings = _settings(text)
            _take_out(settings, wanted, lambda workspace, _: root in (None, workspace), prunes=True)
            return _rendered(settings, text)
        case "toml":
            return _out_of_toml(text) if root in (None, *workspaces(text, wanted)) else text
        case "paragraph":
            return _PARAGRAPH.sub("", text)


def comparable(text: str, wanted: Wanted) -> list[str]:
    """Return the lines of the text as it would be written again: one that differs is a change, and no line break or comma."""
    if wanted.form != "json" or not text.strip():
        return text.splitlines()
    form = text if "\n" in text.strip() else ""
    return [line.removesuffix(",") for line in _as_json(_settings(text), form).splitlines()]


def is_blank(text: str, wanted: Wanted) -> bool:
    """True if nothing is in the text, not even a comment."""
    return not text.strip() or (wanted.form == "json" and "".join(text.split()) == "{}")


def workspaces(text: str, wanted: Wanted) -> list[str]:
    """Return the workspaces that recalld's entries in the text are for; "" for an entry that names none."""
    names: list[str | None] = []
    if wanted.form == "json":
        names = [workspace_of(entry.argv) for entry in _entries(_settings(text), wanted)]
    elif wanted.form == "toml":
        names = [workspace_of(_argv(_toml(text).get("mcp_servers", {}).get(NAME)))]
    return [name for name in dict.fromkeys(names) if name is not None]


# ── JSON ─────────────────────────────────────────────────────────────────────


def _in_json(text: str, wanted: Wanted) -> str:
    settings = _settings(text)
    if wanted.items and settings.get("disableAllHooks"):
        raise Refused(Text("`disableAllHooks` in it keeps every hook from running"), msgid("take it out"))
    for keys in wanted.properties or ():
        server = _value(settings, keys)
        if server is not None and workspace_of(_argv(server)) is None:
            raise Refused(*_FOREIGN)
    _take_out(settings, wanted, lambda _, is_wanted: not is_wanted)  # of another environment
    for keys, value in (wanted.properties or {}).items():
        _owner(settings, keys[:-1], dict).setdefault(keys[-1], value)
    for keys, value in (wanted.items or {}).items():
        hooks = _owner(settings, keys, list)
        if value not in hooks:
            hooks.append(value)
    return _rendered(settings, text)


def _settings(text: str) -> dict[str, Any]:
    """Return the settings in the text, none for an empty one; Refused where these are no object, or can't be written again."""
    try:
        # which of a key's two values counts is the client's secret
        settings = json.loads(text, object_pairs_hook=keys_once) if text.strip() else {}
        json.dumps(settings, allow_nan=False)  # 1e400 is no number here
    except (ValueError, RecursionError) as error:
        raise Refused(Text("it is not JSON at line {line}", line=getattr(error, "lineno", 1))) from None
    if not isinstance(settings, dict):
        raise Refused(Text("it is JSON, but no object"))
    return settings


def _rendered(settings: dict[str, Any], text: str) -> str:
    return text if settings == _settings(text) else _as_json(settings, text)


def _as_json(settings: dict[str, Any], text: str) -> str:
    indentation = _INDENTATION.search(text)
    is_one_line = text.strip(" \t\r\n{}") and "\n" not in text.strip()
    separators = (",", ":") if is_one_line and '": ' not in text else None
    indent = None if is_one_line else indentation[1] if indentation else 2
    rendered = json.dumps(settings, ensure_ascii=False, indent=indent, separators=separators)
    rendered = rendered.encode("utf-8", "backslashreplace").decode()  # half an emoji stays the escape that it was
    end = "" if text.strip() and not text.endswith("\n") else "\n"
    return f"{rendered}{end}".replace("\n", "\r\n" if "\r\n" in text else "\n")


def _value(settings: Any, keys: Iterable[str]) -> Any:
    for key in keys:
        settings = settings.get(key) if isinstance(settings, dict) else None
    return settings


def _owner(settings: dict[str, Any], keys: Keys, kind: type) -> Any:
    """Return the object or array (*kind*) at the keys, made where it is missing; Refused for another kind."""
    owner: Any = settings
    for n, key in enumerate(keys, 1):
        container = kind if n == len(keys) else dict
        owner = owner.setdefault(key, container())
        if not isinstance(owner, container):
            raise Refused(Text("`{key}` in it is of another kind than the client's", key=".".join(keys[:n])))
    return owner


@dataclass
class _Entry:
    """What may be an entry of recalld's: the *part* of *owner* (a key or an item), at these *keys*, and what it starts."""

    keys: Keys
    owner: Any
    part: Any
    argv: list[str]
    is_wanted: bool


def _entries(settings: dict[str, Any], wanted: Wanted) -> Iterator[_Entry]:
    """Yield the server of recalld's name, and every hook of the events that are wanted."""
    for keys, value in (wanted.properties or {}).items():
        server = _value(settings, keys)
        if server is not None:
            argv = _argv(server)
            is_wanted = argv[:3] == _argv(value)[:3]  # but for options
            yield _Entry(keys[:-1], _value(settings, keys[:-1]), keys[-1], argv, is_wanted)
    for keys, value in (wanted.items or {}).items():
        groups = _value(settings, keys)
        for group in groups if isinstance(groups, list) else ():
            hooks = group.get("hooks") if isinstance(group, dict) else None
            if isinstance(hooks, list) and len(hooks) == 1:
                yield _Entry(keys, groups, group, _hook_argv(hooks[0]), group == value)
            elif isinstance(hooks, list):  # a person has put others beside it
                yield from (_Entry((), hooks, hook, _hook_argv(hook), is_wanted=False) for hook in hooks)


def _take_out(settings: dict[str, Any], wanted: Wanted, goes: Callable[[str, bool], bool], *, prunes: bool = False) -> None:
    """
    Take out recalld's entries for which *goes* holds: it gets the workspace, and whether the entry is wanted.

    With *prunes* an object or array that this leaves empty goes with it.
    """
    for entry in [*_entries(settings, wanted)]:
        workspace = workspace_of(entry.argv)
        if workspace is None or not goes(workspace, entry.is_wanted):
            continue
        if isinstance(entry.owner, dict):
            del entry.owner[entry.part]
        else:
            entry.owner[:] = [item for item in entry.owner if item is not entry.part]
        for n in range(len(entry.keys) if prunes else 0, 0, -1):
            if _value(settings, entry.keys[:n]):
                break
            del _value(settings, entry.keys[: n - 1])[entry.keys[n - 1]]


def _hook_argv(entry: Any) -> list[str]:
    try:
        return split(str(entry["command"]))
    except (ValueError, LookupError, TypeError):
        return []


def _argv(server: Any) -> list[str]:
    if not isinstance(server, dict):
        return []
    arguments = server.get("args")
    return [str(part) for part in (server.get("command"), *(arguments if isinstance(arguments, list) else []))]


# ── TOML and Markdown ────────────────────────────────────────────────────────


def _toml(text: str) -> dict[str, Any]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise Refused(Text("it is not valid TOML, so no table can be added to it; correct it first")) from None
    return tables if isinstance(tables.get("mcp_servers", {}), dict) else {}


def _out_of_toml(text: str) -> str:
    """Return the text without recalld's table, whose comments stay; the text itself where that would change something else."""
    left = _TABLE.sub(lambda match: _ENTRY.sub("", match[0]).lstrip("\r\n"), text)
    before, after = _toml(text), _toml(left)
    before.get("mcp_servers", {}).pop(NAME, None)
    return left if {**before, "mcp_servers": before.get("mcp_servers", {})} == {"mcp_servers": {}, **after} else text


def _in_toml(text: str, wanted: Wanted) -> str:
    ours = tomllib.loads(wanted.text)["mcp_servers"][NAME]
    entry = _toml(text).get("mcp_servers", {}).get(NAME)
    if entry is not None:
        left, is_ours = _out_of_toml(text), workspace_of(_argv(entry)) is not None
        if is_ours and _argv(entry)[:3] == _argv(ours)[:3]:
            return text
        if not is_ours or left == text:
            raise Refused(*_FOREIGN)
        text = left
    text = _with_block(text, wanted.text)
    _toml(text)  # Refused where mcp_servers is an inline table, which ends where it is written
    return text


def _in_markdown(text: str, wanted: Wanted) -> str:
    if _PARAGRAPH.search(text):  # it may be in another language, or a person's by now
        return text
    return _with_block(text, f"{BEGIN}\n{wanted.text.strip()}\n{END}\n")


def _with_block(text: str, block: str) -> str:
    gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
    return text + f"{gap}{block}".replace("\n", "\r\n" if "\r\n" in text else "\n")
