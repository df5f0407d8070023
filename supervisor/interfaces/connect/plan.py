"""
What `recalld connect`, also with --remove, would do to the text of one settings file. Pure.

`connected` puts in what is missing, in place of what an earlier `connect` put in for another environment or workspace.
`disconnected` takes out what starts recalld's hook or server, and the marked paragraph. JSON is changed as a text
(`proxy/places.py`), so that every other byte stays.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from ...storage.texts import Text, msgid
from ...text.lazy_re import lazy_re
from ...text.record import record
from ..proxy.places import NoJson, appended, at, items, members, parse, without
from .clients import NAME, workspace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from ..proxy.places import Place
    from .clients import Wanted

#: The marks around recalld's paragraph in a file of Markdown.
BEGIN, END = "<!-- recalld -->", "<!-- /recalld -->"
_PARAGRAPH: Final = lazy_re(rf"(?:(?<=\n)\r?\n)?^{BEGIN}\r?\n.*?^{END}(?:\r?\n)?", re.DOTALL | re.MULTILINE)
#: recalld's table in TOML with the blank line before it, and the tables in it; the lines of it that are no comments.
_TABLE: Final = lazy_re(rf"(?m)(?:^\r?\n)?^\[mcp_servers\.{NAME}[.\]][^\n]*\n?(?:(?!\[)[^\n]*\n|(?!\[)[^\n]+\Z)*")
_ENTRY: Final = lazy_re(r"(?m)^[^#\s][^\n]*\n?|^[ \t]+[^#\s][^\n]*\n?")


class Refused(ValueError):
    """A settings file that can't be changed: why, and what mends it."""

    def __init__(self, why: Text, mend: str = msgid("correct it, or add the entry by hand")) -> None:
        super().__init__(why, Text(mend))


@record
class Edited:
    """The *text* with pieces put in, and which of its characters these are, which `--remove` takes out again."""

    text: str
    mask: bytes  # a byte for each character: 1 where it was put in

    @classmethod
    def of(cls, text: str) -> Edited:
        """Return the text as it was found."""
        return cls(text, bytes(len(text)))

    def put(self, place: int, piece: str) -> Edited:
        """Return the text with the piece at its place."""
        mask = self.mask[:place] + b"\1" * len(piece) + self.mask[place:]
        return Edited(self.text[:place] + piece + self.text[place:], mask)

    @property
    def pieces(self) -> tuple[tuple[int, str], ...]:
        """The pieces that were put in, with their places in the text, first to last."""
        return tuple((match.start(), self.text[slice(*match.span())]) for match in re.finditer(b"\1+", self.mask))


def without_pieces(text: str, pieces: Iterable[tuple[int, str]]) -> str:
    """Return the text without the *pieces*, which are at their places: nobody has changed it since they were put in."""
    for place, piece in sorted(pieces, key=lambda pair: -pair[0]):
        text = text[:place] + text[place + len(piece) :]
    return text


def without_texts(text: str, pieces: Iterable[str], wanted: Wanted) -> str:
    """Return the text, which was changed since, without those *pieces* that are in it once, and without the paragraph."""
    left = _PARAGRAPH.sub("", text)
    for piece in pieces:
        left = left.replace(piece, "") if left.count(piece) == 1 else left
    try:
        return left if wanted.form != "json" or not left.strip() or parse(left) else text
    except NoJson:
        return text


def connected(text: str | None, wanted: Wanted) -> Edited:
    """Return the text with what is *wanted*, None: there is no file; Refused for one that can't be changed."""
    change = {"json": _in_json, "toml": _in_toml, "paragraph": _in_markdown}[wanted.form]
    return change(text or "", wanted)


def disconnected(text: str, wanted: Wanted, made: Collection[tuple[str, ...]], root: str | None = None) -> str:
    """
    Return the text without what recalld put in for the workspace *root*, None: for any; Refused as above.

    An object or array that this leaves empty goes with it if it is one of those that `connect` has *made*.
    """
    match wanted.form:
        case "json":
            return _out_of_json(text, wanted, made, lambda workspace, _: root in (None, workspace))
        case "toml":
            return _out_of_toml(text) if root in (None, *workspaces(text, wanted)) else text
        case "paragraph":
            return _PARAGRAPH.sub("", text)


def is_blank(text: str, wanted: Wanted) -> bool:
    """Return whether nothing is in the text, not even a comment."""
    return not text.strip() or (wanted.form == "json" and "".join(text.split()) == "{}")


def workspaces(text: str, wanted: Wanted) -> list[str]:
    """Return the workspaces that recalld's entries in the text are for; "" for an entry that names none."""
    names: list[str | None] = []
    if wanted.form == "json" and text.strip():
        names = [workspace_of(entry.argv) for entry in _entries(text, wanted)]
    elif wanted.form == "toml":
        names = [workspace_of(_argv(_toml(text).get("mcp_servers", {}).get(NAME)))]
    return [name for name in dict.fromkeys(names) if name is not None]


def made_keys(before: str, after: str, wanted: Wanted) -> list[tuple[str, ...]]:
    """Return the keys of the objects and arrays that had to be made for what is wanted."""
    if wanted.form != "json":
        return []
    owners = (*(keys[:-1] for keys in wanted.properties or ()), *(wanted.items or ()))
    made = dict.fromkeys(keys[:n] for keys in owners for n in range(1, len(keys) + 1))
    return [keys for keys in made if at(after, *keys) and not (before.strip() and at(before, *keys))]


# ── JSON ─────────────────────────────────────────────────────────────────────


def _in_json(text: str, wanted: Wanted) -> Edited:
    if text.strip():
        servers = [at(text, *keys) for keys in wanted.properties or ()] if _root(text) else []
        if any(server and workspace_of(_argv(server.value)) is None for server in servers):
            raise Refused(
                Text("the MCP server `{name}` in it is not one that recalld wrote", name=NAME),
                msgid("give it another name, or take it out"),
            )
        edited = Edited.of(_out_of_json(text, wanted, (), lambda _, is_wanted: not is_wanted))  # of another environment
    else:
        edited = Edited.of(text).put(len(text), "{}\n")
    for keys, value in (wanted.properties or {}).items():
        edited = _with(edited, keys[:-1], dict, keys[-1], value)
    for keys, value in (wanted.items or {}).items():
        edited = _with(edited, keys, list, "", value)
    return edited


def _with(edited: Edited, keys: tuple[str, ...], kind: type, name: str, value: object) -> Edited:
    """Return the text with a value in the object or array (*kind*) at the keys, unless it is there; *name*: its own key."""
    owner, missing = _deepest(edited.text, keys, kind)
    if not missing:
        is_there = name in owner.value if name else value in owner.value
        return edited if is_there else edited.put(*appended(edited.text, owner, value, name))
    value = {name: value} if name else [value]
    for key in reversed(missing[1:]):
        value = {key: value}
    return edited.put(*appended(edited.text, owner, value, missing[0]))


def _deepest(text: str, keys: Sequence[str], kind: type) -> tuple[Place, list[str]]:
    """Return the deepest value that is there below the keys, and the keys that are missing; Refused for another kind."""
    place = _root(text)
    for n, key in enumerate(keys):
        member = members(text, place).get(key)
        if member is None:
            return place, list(keys[n:])
        if not isinstance(member.value, kind if n == len(keys) - 1 else dict):
            raise Refused(Text("`{key}` in it is of another kind than the client's", key=".".join(keys[: n + 1])))
        place = member
    return place, []


def _root(text: str) -> Place:
    try:
        root = parse(text)
    except NoJson as error:
        raise Refused(Text("it is not JSON at line {line}", line=error.line)) from None
    if not isinstance(root.value, dict):
        raise Refused(Text("it is JSON, but no object"))
    return root


@record
class _Entry:
    """What may be an entry of recalld's: the member or item *part* of *owner*, which has these *keys*, and what it starts."""

    keys: tuple[str, ...]
    owner: Place
    part: Place
    argv: list[str]
    is_wanted: bool


def _entries(text: str, wanted: Wanted) -> Iterator[_Entry]:
    """Yield the server of recalld's name, and every hook of the events that are wanted."""
    _root(text)
    for keys, value in (wanted.properties or {}).items():
        owner, part = at(text, *keys[:-1]), at(text, *keys)
        if owner and part:
            argv = _argv(part.value)
            yield _Entry(keys[:-1], owner, part, argv, argv[:3] == _argv(value)[:3])  # its options may differ
    for keys, value in (wanted.items or {}).items():
        owner = at(text, *keys)
        for item in items(text, owner) if owner and isinstance(owner.value, list) else ():
            hooks = item.value.get("hooks") if isinstance(item.value, dict) else None
            if not isinstance(hooks, list) or not owner:
                continue
            if len(hooks) == 1:
                yield _Entry(keys, owner, item, _hook_argv(hooks[0]), item.value == value)
            else:  # a person has put others beside it
                inner = members(text, item)["hooks"]
                for entry in items(text, inner):
                    yield _Entry((*keys, ""), inner, entry, _hook_argv(entry.value), is_wanted=False)


def _out_of_json(text: str, wanted: Wanted, made: Collection[tuple[str, ...]], goes: Callable[[str, bool], bool]) -> str:
    """Return the text without recalld's entries for which *goes* holds: it gets the workspace, and whether it is wanted."""
    while text.strip():
        for entry in _entries(text, wanted):
            workspace = workspace_of(entry.argv)
            if workspace is not None and goes(workspace, entry.is_wanted):
                text = _without_empty(without(text, entry.owner, entry.part), entry.keys, made)
                break
        else:
            break
    return text


def _without_empty(text: str, keys: tuple[str, ...], made: Collection[tuple[str, ...]]) -> str:
    """Return the text without the objects and arrays at these keys and above that are empty, and were made by `connect`."""
    for n in range(len(keys), 0, -1):
        owner, part = at(text, *keys[: n - 1]), at(text, *keys[:n])
        if not owner or not part or keys[:n] not in made or part.value:
            break
        text = without(text, owner, part)
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


def _in_toml(text: str, wanted: Wanted) -> Edited:
    table, line = wanted.text, "\r\n" if "\r\n" in text else "\n"
    ours: dict[str, Any] = tomllib.loads(table)["mcp_servers"][NAME]
    entry = _toml(text).get("mcp_servers", {}).get(NAME)
    edited = Edited.of(text)
    if entry is not None:
        if workspace_of(_argv(entry)) is not None and _argv(entry)[:3] == _argv(ours)[:3]:
            return edited
        edited = Edited.of(_out_of_toml(text))
        if workspace_of(_argv(entry)) is None or edited.text == text:
            raise Refused(
                Text("the MCP server `{name}` in it is not one that recalld wrote", name=NAME),
                msgid("give it another name, or take it out"),
            )
    edited = edited.put(len(edited.text), _gap(edited.text, line) + table.replace("\n", line))
    _toml(edited.text)  # Refused where mcp_servers is an inline table, which ends where it is written
    return edited


def _in_markdown(text: str, wanted: Wanted) -> Edited:
    line = "\r\n" if "\r\n" in text else "\n"
    block = f"{BEGIN}\n{wanted.text.strip()}\n{END}\n".replace("\n", line)
    if _PARAGRAPH.search(text):  # it may be in another language, or a person's by now
        return Edited.of(text)
    return Edited.of(text).put(len(text), _gap(text, line) + block)


def _gap(text: str, line: str) -> str:
    """Return what parts the text from what is put behind it: an empty line."""
    return "" if not text.strip() else line if text.endswith("\n") else line * 2
