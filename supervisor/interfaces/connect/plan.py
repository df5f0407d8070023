"""
What `connect` and `disconnect` would do to the text of one settings file. Pure.

`connected` puts in what is missing, in place of what an earlier `connect` put in for another environment or workspace.
`disconnected` takes out what was put in: the pieces that are known, else what starts recalld's hook or server.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from recalld.supervisor.interfaces.connect.clients import NAME
from recalld.supervisor.interfaces.connect.edited import Edited, without_pieces
from recalld.supervisor.interfaces.connect.json_text import Node, NoJson, parse, with_item, with_property, without
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recalld.supervisor.interfaces.connect.clients import Wanted

#: The marks around recalld's paragraph in a file of Markdown.
BEGIN, END = "<!-- recalld -->", "<!-- /recalld -->"
_PARAGRAPH: Final = lazy_re(rf"\n*{BEGIN}\n.*?{END}\n?", re.DOTALL)
_TABLE: Final = lazy_re(rf"(?m)^\[mcp_servers\.{NAME}\][^\n]*\n(?:(?!\[)[^\n]*\n?)*")
#: The end of a command that is a hook of recalld's.
_HOOK: Final = lazy_re(r"recalld\b.*\bhook [a-z-]+\s*\Z", re.DOTALL)


class Refused(ValueError):
    """A settings file that can't be changed; its text is the sentence that says why."""


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
            if text not in (None, wanted.text) and "recalld" not in (text or ""):
                raise Refused(Text("connect.foreign_file"))
            return Edited(wanted.text, b"\1" * len(wanted.text))


def disconnected(text: str, wanted: Wanted, pieces: Sequence[tuple[int, str]], *, is_unchanged: bool) -> str:
    """Return the text without what recalld put in, the text itself where there is nothing of it; Refused as above."""
    if pieces and (found := without_pieces(text, pieces, is_unchanged=is_unchanged)) is not None:
        return found
    match wanted.form:
        case "json":
            return _out_of_json(text, wanted)
        case "toml":
            return _TABLE.sub("", text).rstrip("\n") + "\n" if _TABLE.search(text) else text
        case "paragraph":
            return _PARAGRAPH.sub("\n" if not text.startswith(BEGIN) else "", text)
        case "file":
            return "" if "recalld" in text else text


def _in_json(text: str, wanted: Wanted) -> Edited:
    if _is_filled(text):
        edited = Edited.of(_out_of_json(text, wanted, only_other=True))  # what is of another environment is replaced
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


def _out_of_json(text: str, wanted: Wanted, *, only_other: bool = False) -> str:
    """Return the text without recalld's hooks and server; *only_other*: without those that are not as they are wanted."""
    while _is_filled(text) and (span := _first_of_ours(_root(text), text, wanted, only_other=only_other)):
        text = text[: span[0]] + text[span[1] :]
    return text


def _first_of_ours(root: Node, text: str, wanted: Wanted, *, only_other: bool) -> tuple[int, int] | None:
    """Return the span of the first entry of recalld's, with the objects and arrays that it leaves empty; None for none."""
    for keys, value in (wanted.properties or {}).items():
        part = root.at(*keys)
        if part and (not only_other or _is_other_server(part.plain(), value)):
            return _span(root, text, keys, part)
    for keys, value in (wanted.items or {}).items():
        owner = root.at(*keys)
        for item in owner.items if owner and owner.kind == "array" else ():
            if _HOOK.search(_command(item.plain())) and not (only_other and item.plain() == value):
                return _span(root, text, (*keys, ""), item)
    return None


def _span(root: Node, text: str, keys: tuple[str, ...], part: Node) -> tuple[int, int]:
    for n in range(len(keys) - 1, 0, -1):
        owner = root.at(*keys[:n])
        if owner and owner.parts != [part]:
            return without(text, owner, part)
        part = owner or part
    return without(text, root, part)


def _command(item: Any) -> str:
    """Return the command of a hook's entry: its own, or the one of the entry in it if it has no other."""
    if not isinstance(item, dict):
        return ""
    inner = item.get("hooks")
    if isinstance(inner, list):
        return _command(inner[0]) if len(inner) == 1 else ""
    return str(item.get("command", ""))


def _is_other_server(found: Any, wanted: object) -> bool:
    """Return whether a server of that name serves another workspace, or starts another program; options of it may differ."""
    return isinstance(found, dict) and _argv(found)[:3] != _argv(wanted)[:3]


def _argv(server: Any) -> list[str]:
    command, args = server.get("command"), server.get("args", [])
    return [
        str(one) for one in (command if isinstance(command, list) else [command, *(args if isinstance(args, list) else [])])
    ]


def _in_toml(text: str, table: str) -> Edited:
    line = "\r\n" if "\r\n" in text else "\n"
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(Text("connect.no_toml", why=str(error))) from None
    ours: dict[str, Any] = tomllib.loads(table)["mcp_servers"][NAME]
    found = before.get("mcp_servers", {})
    edited = Edited.of(text)
    if isinstance(found, dict) and NAME in found:
        if not isinstance(found[NAME], dict) or not _is_other_server(found[NAME], ours) or not _TABLE.search(text):
            return edited
        edited = Edited.of(_TABLE.sub("", text))
    rest = edited.text
    gap = "" if not rest.strip() else line if rest.endswith("\n") else line * 2
    edited = edited.put([(len(rest), gap + table.replace("\n", line))])
    try:
        tomllib.loads(edited.text)
    except tomllib.TOMLDecodeError as error:  # mcp_servers is an inline table, which ends where it is written
        raise Refused(Text("connect.no_toml", why=str(error))) from None
    return edited


def _in_markdown(text: str, paragraph: str) -> Edited:
    line = "\r\n" if "\r\n" in text else "\n"
    block = f"{BEGIN}\n{paragraph.strip()}\n{END}\n".replace("\n", line)
    if block in text:
        return Edited.of(text)
    text = _PARAGRAPH.sub("", text)
    gap = "" if not text else line if text.endswith("\n") else line * 2
    return Edited.of(text).put([(len(text), gap + block)])
