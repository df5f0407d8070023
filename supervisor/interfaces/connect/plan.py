"""
What `connect` and `disconnect` would do to the text of one settings file. Pure.

`connected` puts in what is missing, in place of what an earlier `connect` put in for another environment or workspace.
`disconnected` takes out what starts recalld's hook or server, and the marked paragraph.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.interfaces.connect.clients import NAME, workspace_of
from recalld.supervisor.interfaces.connect.edited import Edited
from recalld.supervisor.interfaces.connect.json_text import Node, NoJson, parse, with_item, with_property, without
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.text.lazy_re import lazy_re
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from recalld.supervisor.interfaces.connect.clients import Wanted

#: The marks around recalld's paragraph in a file of Markdown.
BEGIN, END = "<!-- recalld -->", "<!-- /recalld -->"
_PARAGRAPH: Final = lazy_re(rf"(?:(?<=\n)\r?\n)?^{BEGIN}\r?\n.*?^{END}(?:\r?\n)?", re.DOTALL | re.MULTILINE)
#: recalld's table in TOML with the blank line before it, and the tables in it; the lines of it that are no comments.
_TABLE: Final = lazy_re(rf"(?m)(?:^\r?\n)?^\[mcp_servers\.{NAME}[.\]][^\n]*\n?(?:(?!\[)[^\n]*\n|(?!\[)[^\n]+\Z)*")
_ENTRY: Final = lazy_re(r"(?m)^[^#\s][^\n]*\n?|^[ \t]+[^#\s][^\n]*\n?")
#: What OpenCode's plugin starts.
_ARGV: Final = lazy_re(r'\["[^\n]*recalld"[^\n]*?\](?=\n)')


class Refused(ValueError):
    """A settings file that can't be changed: why, and what mends it."""

    def __init__(self, why: Text, mend: str = "connect.mend_file") -> None:
        super().__init__(why, Text(mend))


def connected(text: str | None, wanted: Wanted) -> Edited:
    """Return the text with what is *wanted*, None: there is no file; Refused for one that can't be changed."""
    match wanted.form:
        case "json":
            return _in_json(text or "", wanted)
        case "toml":
            return _in_toml(text or "", wanted.text)
        case "paragraph":
            return _in_markdown(text or "", wanted.text)
        case "file":
            if text and "recalld" not in text:
                raise Refused(Text("connect.foreign_file"))
            return Edited.of(text) if text and "paragraph" in wanted.what else Edited(wanted.text, b"\1" * len(wanted.text))


def disconnected(text: str, wanted: Wanted, made: Collection[tuple[str, ...]], root: str | None = None) -> str:
    """
    Return the text without what recalld put in for the workspace *root*, None: for any; Refused as above.

    An object or array that this leaves empty goes with it if it is one of those that `connect` has *made*.
    """
    match wanted.form:
        case "json":
            left = _out_of_json(text, wanted, made, lambda found, _: root in (None, found))
            return left if left == text else _without_needed(left, wanted, made)
        case "toml":
            return _out_of_toml(text) if root in (None, *workspaces(text, wanted)) else text
        case "paragraph":
            return _PARAGRAPH.sub("", text)
        case "file":
            is_ours = "recalld" in text and ("paragraph" in wanted.what or root in (None, *workspaces(text, wanted)))
            return "" if is_ours else text


def is_blank(text: str, wanted: Wanted) -> bool:
    """Return whether nothing is in the text, not even a comment."""
    return not text.strip() or (wanted.form == "json" and "".join(text.split()) == "{}")


def workspaces(text: str, wanted: Wanted) -> list[str]:
    """Return the workspaces that recalld's entries in the text are for; "" for an entry that names none."""
    found: list[str | None] = []
    match wanted.form:
        case "json" if _is_filled(text):
            found = [workspace_of(one.argv) for one in _entries(_root(text), wanted)]
        case "toml":
            found = [workspace_of(_argv(_toml(text).get("mcp_servers", {}).get(NAME)))]
        case "file" if argv := _ARGV.search(text):
            found = [workspace_of([*json.loads(argv[0]), "hook"])]
    return [one for one in dict.fromkeys(found) if one is not None]


def made_keys(before: str, after: str, wanted: Wanted) -> list[tuple[str, ...]]:
    """Return the keys of the objects, arrays and values that had to be made for what is wanted."""
    if wanted.form != "json":
        return []
    old, new = _root(before) if _is_filled(before) else None, _root(after)
    keys = [
        (*one[:n],)
        for one in (*(one[:-1] for one in wanted.properties or ()), *(wanted.items or ()))
        for n in range(1, len(one) + 1)
    ]
    keys += [(one,) for one in wanted.needed or ()]
    return [one for one in dict.fromkeys(keys) if new.at(*one) and not (old and old.at(*one))]


def _in_json(text: str, wanted: Wanted) -> Edited:
    if _is_filled(text):
        _refuse_a_foreign_server(text, wanted)
        edited = Edited.of(_out_of_json(text, wanted, (), lambda _, is_wanted: not is_wanted))  # of another environment
    else:
        edited = Edited.of(text).put([(len(text), "{}\n")])
    for keys, value in (wanted.properties or {}).items():
        edited = _with_value(edited, keys, value)
    for keys, value in (wanted.items or {}).items():
        edited = _with_element(edited, keys, value)
    root = _root(edited.text)
    for key, value in (wanted.needed or {}).items():
        if root.at(key) is None:
            edited = edited.put(with_property(edited.text, root, key, value))
            root = _root(edited.text)
    return edited


def _is_filled(text: str) -> bool:
    return bool(text.strip("\ufeff \t\r\n"))


def _with_value(edited: Edited, keys: tuple[str, ...], value: object) -> Edited:
    owner, missing = _deepest(_root(edited.text), keys[:-1])
    if not missing and owner.at(keys[-1]) is not None:
        return edited
    rest = [*missing, keys[-1]]
    for key in reversed(rest[1:]):
        value = {key: value}
    return edited.put(with_property(edited.text, owner, rest[0], value))


def _with_element(edited: Edited, keys: tuple[str, ...], value: object) -> Edited:
    owner, missing = _deepest(_root(edited.text), keys, last="array")
    if not missing:
        if any(item.plain() == value for item in owner.items):
            return edited
        return edited.put(with_item(edited.text, owner, value))
    value = [value]
    for key in reversed(missing[1:]):
        value = {key: value}
    return edited.put(with_property(edited.text, owner, missing[0], value))


def _deepest(root: Node, keys: Sequence[str], last: str = "object") -> tuple[Node, list[str]]:
    """Return the deepest value that is there below the keys, and the keys that are missing; Refused for another kind."""
    node = root
    for n, key in enumerate(keys):
        found = node.at(key)
        if found is None:
            return node, list(keys[n:])
        if found.kind != (last if n == len(keys) - 1 else "object"):
            raise Refused(Text("connect.other_kind", key=".".join(keys[: n + 1])))
        node = found
    return node, []


def _root(text: str) -> Node:
    try:
        root = parse(text)
    except NoJson as error:
        raise Refused(Text("connect.no_json", line=error.line)) from None
    if root.kind != "object":
        raise Refused(Text("connect.no_object"))
    return root


@record
class _Entry:
    """What may be an entry of recalld's: the member or item *part* of *owner*, which has these *keys*, and what it starts."""

    keys: tuple[str, ...]
    owner: Node
    part: Node
    argv: list[str]
    is_wanted: bool


def _entries(root: Node, wanted: Wanted) -> Iterator[_Entry]:
    """Yield the server of recalld's name, and every hook of the events that are wanted."""
    for keys, value in (wanted.properties or {}).items():
        owner, part = root.at(*keys[:-1]), root.at(*keys)
        if owner and part:
            argv = _argv(part.plain())
            yield _Entry(keys[:-1], owner, part, argv, argv[:3] == _argv(value)[:3])  # its options may differ
    for keys, value in (wanted.items or {}).items():
        owner = root.at(*keys)
        for item in owner.items if owner else ():
            inner = item.at("hooks")
            is_wanted = item.plain() == value
            if inner and len(inner.items) > 1:  # a person has put others beside it
                yield from (_Entry((*keys, ""), inner, one, _hook_argv(one.plain()), is_wanted) for one in inner.items)
            elif owner:
                found = inner.items[0].plain() if inner and inner.items else item.plain()
                yield _Entry(keys, owner, item, _hook_argv(found), is_wanted)


def _refuse_a_foreign_server(text: str, wanted: Wanted) -> None:
    found = [_root(text).at(*keys) for keys in wanted.properties or ()]
    if any(one and workspace_of(_argv(one.plain())) is None for one in found):
        raise Refused(Text("connect.foreign_server", name=NAME), "connect.mend_server")


def _out_of_json(text: str, wanted: Wanted, made: Collection[tuple[str, ...]], goes: Callable[[str, bool], bool]) -> str:
    """Return the text without recalld's entries for which *goes* holds: it gets the workspace, and whether it is wanted."""
    while _is_filled(text):
        root, found = _root(text), None
        for one in _entries(root, wanted):
            workspace = workspace_of(one.argv)
            if workspace is not None and goes(workspace, one.is_wanted):
                found = one
                break
        if not found:
            return text
        text = _without_empty(without(text, found.owner, found.part), found.keys, made)
    return text


def _without_empty(text: str, keys: tuple[str, ...], made: Collection[tuple[str, ...]]) -> str:
    """Return the text without the objects and arrays at these keys and above that are empty, and were made by `connect`."""
    for n in range(len(keys), 0, -1):
        root = _root(text)
        owner, part = root.at(*keys[: n - 1]), root.at(*keys[:n])
        if not owner or not part or keys[:n] not in made or text[part.start + 1 : part.end - 1].strip():
            break
        text = without(text, owner, part)
    return text


def _without_needed(text: str, wanted: Wanted, made: Collection[tuple[str, ...]]) -> str:
    """Return the text without what the file needs beside hooks, if `connect` put it in and no hooks are left."""
    for key in wanted.needed or ():
        root = _root(text)
        part = root.at(key)
        if part and (key,) in made and not root.at("hooks"):
            text = without(text, root, part)
    return text


def _hook_argv(entry: Any) -> list[str]:
    """Return what a hook starts; [] where that is no command line of a shell."""
    from shlex import split

    try:
        return split(str(entry["command"]))
    except (ValueError, LookupError, TypeError):
        return []


def _argv(server: Any) -> list[str]:
    if not isinstance(server, dict):
        return []
    command, args = server.get("command"), server.get("args", [])
    return [
        str(one) for one in (command if isinstance(command, list) else [command, *(args if isinstance(args, list) else [])])
    ]


def _toml(text: str) -> dict[str, Any]:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(Text("connect.no_toml", why=str(error))) from None
    return found if isinstance(found.get("mcp_servers", {}), dict) else {}


def _out_of_toml(text: str) -> str:
    """Return the text without recalld's table, whose comments stay; the text itself where that would change something else."""
    left = _TABLE.sub(lambda found: _ENTRY.sub("", found[0]).lstrip("\r\n"), text)
    before, after = _toml(text), _toml(left)
    before.get("mcp_servers", {}).pop(NAME, None)
    return left if {**before, "mcp_servers": before.get("mcp_servers", {})} == {"mcp_servers": {}, **after} else text


def _in_toml(text: str, table: str) -> Edited:
    line = "\r\n" if "\r\n" in text else "\n"
    ours: dict[str, Any] = tomllib.loads(table)["mcp_servers"][NAME]
    found = _toml(text).get("mcp_servers", {}).get(NAME)
    edited = Edited.of(text)
    if found is not None:
        if workspace_of(_argv(found)) is not None and _argv(found)[:3] == _argv(ours)[:3]:
            return edited
        edited = Edited.of(_out_of_toml(text))
        if workspace_of(_argv(found)) is None or edited.text == text:
            raise Refused(Text("connect.foreign_server", name=NAME), "connect.mend_server")
    rest = edited.text
    gap = "" if not rest.strip() else line if rest.endswith("\n") else line * 2
    edited = edited.put([(len(rest), gap + table.replace("\n", line))])
    _toml(edited.text)  # Refused where mcp_servers is an inline table, which ends where it is written
    return edited


def _in_markdown(text: str, paragraph: str) -> Edited:
    line = "\r\n" if "\r\n" in text else "\n"
    block = f"{BEGIN}\n{paragraph.strip()}\n{END}\n".replace("\n", line)
    if _PARAGRAPH.search(text):  # it may be in another language, or a person's by now
        return Edited.of(text)
    gap = "" if not text else line if text.endswith("\n") else line * 2
    return Edited.of(text).put([(len(text), gap + block)])
