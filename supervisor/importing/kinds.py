"""
The kinds of logs and exports that can be imported: how each is known, who reads it, and where a client keeps its own.

Other packages bring more: a reader is a function behind the entry point `recalld.importers`. It gets the `Source` and yields
messages as JSON lines have them, none for a source that is not of its kind. Messages as recalld has them itself, JSON lines and
the files of a workspace, are read here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any, Final

from ..checks.repair import raw_of
from ..importing import chat_exports, coding_logs, messengers
from ..protocol.attachments import attachments_of, digest_in_name, holds, joined
from ..protocol.dated_file import parse_dated
from ..protocol.message import OUR_FIELDS, Message, parse_history, role_of
from ..storage.errors import SupervisorError
from ..storage.instant import read_instant
from ..storage.texts import Text
from ..text.record import record
from .source import NotImported, Source
from .talk import SOMEONE, Conversation, Reading, Said, Talk, text_of, tool_calls, tool_line, words

#: Fields that a message may have its time in.
_TIMES: Final = ("createdAt", "created_at", "timestamp", "time", "date")
#: Where packages register a reader: the name is what people are shown, and the channel of its messages.
GROUP: Final = "recalld.importers"


@record(kw_only=True)
class Kind:
    """
    A kind of log or export, by its *name*; *label* is what people call it, a proper name.

    *is_of_people*: everybody in it is a person with a name, and it does not say which of them its owner is.

    *homes* are the folders of a client below the home folder, behind the variable that moves them. Kinds *of_lines* read all
    `*.jsonl`, so that a source is of one of them at most.
    """

    name: str
    label: str
    knows: Callable[[Source], object]  # what is true of one of this kind
    read: Callable[[Reading], Talk]
    of_lines: bool = False
    is_of_people: bool = False
    homes: tuple[tuple[str, str, str], ...] = ()


def is_json_lines(source: Source) -> bool:
    """True if the files begin with messages; those of a workspace are its log and its state."""
    if is_workspace(source):
        return False
    firsts = (source.first_line(name) for name in source.named("*.jsonl")[:5])
    return any(isinstance(first, dict) and {"role", "messages"} & first.keys() for first in firsts) or bool(_arrays(source))


def _arrays(source: Source) -> list[str]:
    """Return the JSON files that are an array of messages, or a conversation as {"messages": […]}."""
    names = source.json_with(frozenset({"role", "content"}), frozenset({"role", "text"}), frozenset({"messages"}))
    talks = [name for name in names if {"messages"} <= source.keys(name)]
    firsts: dict[str, Any] = {name: next(source.items(name, "messages.item"), None) for name in talks}
    return [name for name in names if name not in firsts or (isinstance(firsts[name], dict) and "role" in firsts[name])]


def json_lines(log: Reading) -> Talk:
    """Yield messages of JSON lines and of JSON arrays: one a line, or a conversation a line as {"messages": […]}."""
    lines = {name: log.source.lines(name) for name in log.source.named("*.jsonl")}
    for name, values in (lines | {name: enumerate(log.source.objects(name), 1) for name in _arrays(log.source)}).items():
        stem = PurePosixPath(name).stem
        for number, raw in values:
            messages, session = [raw], stem
            if isinstance(raw, dict) and isinstance(raw.get("messages"), list):
                messages, session = raw["messages"], text_of(raw, "id") or (f"{stem}-{number}" if name in lines else stem)
            for n, message in enumerate(messages):
                yield from message_of(log, message, f"{name}-{number}.{n}", session, "jsonl")


def message_of(log: Reading, message: object, place: str, session: str, channel: str) -> Talk:
    """
    Yield the message and its calls of tools; a system prompt is none, and what is no message is noted.

    *place* is its id, *session* and *channel* are its own, where it does not name others.
    """
    if not (isinstance(message, dict) and isinstance(message.get("role"), str) and message["role"]):
        log.note("message", place)
        return
    if message["role"] in ("system", "developer"):
        return
    at = next((t for field in _TIMES if (t := read_instant(message.get(field), log.zone))), None)
    identity, role = text_of(message, "id") or place, role_of(message["role"])
    calls = [*tool_calls(message.get("content"), identity, at)]
    text = words(message.get("content") or message.get("text"))
    if role == "tool":  # what it returned is left out
        text = tool_line(message.get("name") or "tool", "")
    if not (text or calls or "tool_calls" in message):
        log.note("message", place)
        return
    about = {field: text_of(message, field) for field in ("title", "chat", "project")}
    conversation = Conversation(
        id=text_of(message, "session") or session, channel=text_of(message, "channel") or channel, **about
    )
    yield conversation, Said(id=identity, at=at, role=role, text=text, name=_speaker(message))
    for call in calls:
        yield conversation, call


def _speaker(message: Mapping[str, Any]) -> str:
    """Return who has said a message, "" for the owner: the role is the only thing that names them."""
    author = message.get("author", "")
    by = author if isinstance(author, str) else text_of(author, "name", "username") if isinstance(author, dict) else SOMEONE
    return text_of(message, "name") or by


def is_workspace(source: Source) -> bool:
    """Return whether the source is a workspace, or a part of one."""
    return bool(source.named("history.json")) or any(True for _ in _dated_files(source))


def workspace(log: Reading) -> Talk:
    """
    Yield the messages of a workspace word for word: of `history.json`, and of dated files with recalld's head.

    The clock there has judged the times of dated files; these alone are believed when they are after `latest`.
    """
    yield from _of_history(log)
    for name in _dated_files(log.source):
        dated = parse_dated(log.source.read(name), Path(name))
        if dated is None:
            log.note("file", name)
            continue
        if dated.is_edited and log.may_wait(name):  # it is edited, or cut off: it is read when it stays so
            continue
        for block in dated.blocks:
            raw = joined(raw_of(block), lambda path: _bytes_at(log.source, path))
            if attachments_of(raw) and log.may_wait(name):  # a picture is not there yet
                break
            entry = Said(id=block.key[0], at=block.created_at, role=block.role, text=block.text, raw=raw)
            yield _place_of(block.fields), entry


def _of_history(log: Reading) -> Talk:
    for name in log.source.named("history.json"):
        try:
            history = parse_history(log.source.read(name), log.zone)
        except ValueError:  # it is cut off, or no history
            if not log.may_wait(name):
                log.note("file", name)
            continue
        for n, entry in enumerate(history):
            if not isinstance(entry, Message):
                log.note("message", f"{name}#{n}")
                continue
            at = entry.created_at if entry.created_at and entry.created_at <= log.latest else None
            if log.settled is not None and not (entry.id and at):
                continue  # the supervisor there gives it both, or files it as it is, and it comes then
            identity = entry.id or f"{name}#{n}-{entry.fingerprint}"
            raw = {field: value for field, value in entry.raw.items() if field not in OUR_FIELDS} | {"id": identity}
            yield _place_of(raw), Said(id=identity, at=at, role=entry.role, text=entry.text, raw=raw)


def _bytes_at(source: Source, path: str) -> bytes | None:
    """Return the bytes of a picture or file that a message of a workspace names; None where it is not there, or not whole."""
    data = source.beside(path) if digest_in_name(path) else None
    return data if data is not None and holds(path, data) else None


def _dated_files(source: Source) -> Iterator[str]:
    for name in source.named("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]-*.md"):
        with source.open(name) as file:
            if file.read(12).startswith(b"---\nrecalld:"):
                yield name


def _place_of(raw: Mapping[str, Any]) -> Conversation:
    about = {key: text_of(raw, key) for key in ("channel", "chat", "project")}
    return Conversation(id=text_of(raw, "session"), **about)


WORKSPACE: Final = Kind(name="workspace", label="recalld", knows=is_workspace, read=workspace)
#: All kinds, in the order in which a source is asked; a log of JSON lines, the least marked one, comes last.
KINDS: Final = (
    Kind(
        name="claude-code",
        label="Claude Code",
        knows=coding_logs.is_claude_code,
        read=coding_logs.claude_code,
        of_lines=True,
        homes=(("CLAUDE_CONFIG_DIR", ".claude", "projects"),),
    ),
    Kind(
        name="codex",
        label="Codex",
        knows=lambda source: source.named("rollout-*.jsonl"),
        read=coding_logs.codex,
        of_lines=True,
        homes=(("CODEX_HOME", ".codex", "sessions"), ("CODEX_HOME", ".codex", "archived_sessions")),
    ),
    Kind(name="chatgpt", label="ChatGPT", knows=partial(chat_exports.is_export, "mapping"), read=chat_exports.chatgpt),
    Kind(name="claude", label="Claude", knows=partial(chat_exports.is_export, "chat_messages"), read=chat_exports.claude),
    Kind(name="telegram", label="Telegram", knows=messengers.telegram_files, read=messengers.telegram, is_of_people=True),
    Kind(name="whatsapp", label="WhatsApp", knows=messengers.whatsapp_files, read=messengers.whatsapp, is_of_people=True),
    Kind(name="wechat", label="WeChat", knows=messengers.wechat_files, read=messengers.wechat, is_of_people=True),
    WORKSPACE,
    Kind(name="jsonl", label="JSON lines", knows=is_json_lines, read=json_lines, of_lines=True),
)
#: The kinds that a client of this machine keeps.
CLIENTS: Final = tuple(kind for kind in KINDS if kind.homes)


def kinds_of(source: Source) -> list[Kind]:
    """
    Return the kinds of what is in the source; a folder of several exports has several.

    The readers of other packages are asked where recalld has none. NotImported for one that fails.
    """
    kinds: list[Kind] = []
    for kind in KINDS:
        if not (kind.of_lines and any(kind.of_lines for kind in kinds)) and kind.knows(source):
            kinds.append(kind)
    return kinds or [kind for kind in map(_of_package, metadata.entry_points(group=GROUP)) if kind.knows(source)]


def logs_of(kind: Kind, environ: Mapping[str, str]) -> list[Path]:
    """Return the folders of a client's logs that are there."""
    home = Path(environ.get("HOME") or Path.home())
    places = [
        (Path(environ[variable]) if environ.get(variable) else home / folder) / inner for variable, folder, inner in kind.homes
    ]
    return [place for place in places if place.is_dir()]


def labels() -> list[str]:
    """Return the names of what can be imported, each once."""
    return [*dict.fromkeys([*(kind.label for kind in KINDS), *metadata.entry_points(group=GROUP).names])]


def _of_package(entry: metadata.EntryPoint) -> Kind:

    def messages(source: Source) -> Iterator[Any]:
        try:
            yield from entry.load()(source)
        except (SupervisorError, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001 - a package of somebody else's; the error's own text is not shown
            why = Text(
                "the reader {name} of the package {package} failed with {kind}",
                name=entry.name,
                package=entry.dist.name if entry.dist else entry.value,
                kind=type(error).__name__,
            )
            raise NotImported(source.path, why, Text("update that package or uninstall it; nothing was added")) from None

    def read(log: Reading) -> Talk:
        counts: Counter[str] = Counter()
        for message in messages(log.source):
            session = str(message.get("session")) if isinstance(message, dict) else ""
            counts[session] += 1
            yield from message_of(log, message, f"{entry.name}-{session}-{counts[session]}", entry.name, entry.name)

    return Kind(name=entry.name, label=entry.name, knows=lambda source: any(True for _ in messages(source)), read=read)
