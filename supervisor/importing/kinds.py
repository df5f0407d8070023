"""
The kinds of logs and exports that can be imported: how a file of each is known, who reads it, and where a client keeps its own.

Other packages bring more: a reader is a function behind the entry point `recalld.importers`. It gets the `Source` and yields
records, none for a source that is not of its kind.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any, Final

from ..storage.errors import SupervisorError
from ..storage.texts import Text, msgid
from . import chat_exports, coding_logs, memories, messengers
from .source import NotImported, Source
from .talk import Reading, Talk

#: Where packages register a reader: the name is what people are shown, and the channel of its messages.
GROUP: Final = "recalld.importers"
#: Of a folder: who knows whose words they are.
UNDATED: Final = Text("its first message has no time; if it is a conversation of yours, import the file itself")


@dataclass(frozen=True, slots=True)
class Kind:
    """
    A kind of log or export: *label* is what people call it, a proper name, *name* what commands and recalld.toml do.

    Its files have one of the *ends*, *knows* tells one of them by its name or beginning, and *read* yields the records in it.
    *is_of_people*: everybody in it is a person with a name, and it does not say which of them its owner is. *homes* are the
    folders of a client below the home folder, behind the variable that moves them.
    """

    name: str
    label: str
    ends: tuple[str, ...]
    knows: Callable[[Source, str], bool]
    read: Callable[[Reading, str], Talk]
    is_of_people: bool = False
    homes: tuple[tuple[str, str, str], ...] = ()

    def messages(self, log: Reading, name: str) -> Talk:
        """Yield the messages in a file that are wanted, as history.json has them; a workspace has them so already."""
        for record in self.read(log, name):
            message = record if self is WORKSPACE else log.message_of(record, self.name)
            if message and log.is_wanted(message):
                yield message


_CLAUDE_CODE: Final = (("CLAUDE_CONFIG_DIR", ".claude", "projects"),)
_CODEX: Final = (("CODEX_HOME", ".codex", "sessions"), ("CODEX_HOME", ".codex", "archived_sessions"))
WORKSPACE: Final = Kind("recalld", "recalld", (".json", ".md"), memories.has_messages, memories.messages_of)
_MESSAGES: Final = Kind("jsonl", "JSON lines", (".json", ".jsonl"), chat_exports.is_messages, chat_exports.messages_of)
_TEXTS: Final = tuple(
    Kind(name, label, (".txt",), partial(messengers.is_text, name), partial(messengers.messages_of, name), is_of_people=True)
    for name, label in (("whatsapp", "WhatsApp"), ("wechat", "WeChat"))
)
#: All kinds, in the order in which they are asked about a file; messages of any program, the least marked ones, come last.
KINDS: Final = (
    Kind("claude-code", "Claude Code", (".jsonl",), coding_logs.is_claude_code, coding_logs.claude_code, homes=_CLAUDE_CODE),
    Kind(
        "codex", "Codex", (".jsonl",), lambda _, name: PurePosixPath(name).match("rollout-*"), coding_logs.codex, homes=_CODEX
    ),
    Kind("chatgpt", "ChatGPT", (".json",), lambda source, name: "mapping" in source.first(name), chat_exports.chatgpt),
    Kind("claude", "Claude", (".json",), lambda source, name: "chat_messages" in source.first(name), chat_exports.claude),
    Kind("telegram", "Telegram", (".json",), messengers.is_telegram, messengers.telegram, is_of_people=True),
    *_TEXTS,
    WORKSPACE,
    _MESSAGES,
)
#: How the names of logs and exports end; notes are asked for elsewhere.
_ENDS: Final = tuple({end for kind in KINDS for end in kind.ends} - {".md"})
#: The kinds that a client of this machine keeps.
CLIENTS: Final = tuple(kind for kind in KINDS if kind.homes)


def kinds_of(source: Source, name: str = "") -> dict[Kind, list[str]]:
    """
    Return the files of each kind that is in the source, of the kind of this *name* alone where one is given.

    The readers of other packages are asked where recalld has none, each once for all files. NotImported for one that fails.
    """
    files: dict[Kind, list[str]] = {}
    unknown: list[str] = []
    kinds = [kind for kind in KINDS if kind.name == name] or KINDS
    paths = map(PurePosixPath, source.names) if WORKSPACE in kinds else ()
    states = {path.parent for path in paths if path.name == "history.json"}
    # a history comes last: it may have a message that a dated file has, without the time
    for member in sorted(source.names, key=lambda member: (member.endswith("history.json"), member)):
        with source.sparing(member):
            kind = next((kind for kind in kinds if member.endswith(kind.ends) and kind.knows(source, member)), None)
            if kind in (None, _MESSAGES) and not states.isdisjoint(PurePosixPath(member).parents):
                continue  # the others in a workspace are its log and its state
            if kind is _MESSAGES and member != source.path.name and not chat_exports.is_dated(source, member):
                source.left_out[member] = UNDATED
            else:
                (files.setdefault(kind, []) if kind else unknown).append(member)
    kind = next((kind for kind in (*CLIENTS, _MESSAGES) if kind in files or kind.name == name), None)
    if kind and (logs := [member for member in unknown if member.endswith(".jsonl")]):
        files.setdefault(kind, []).extend(logs)  # a log may begin as none has before
        unknown = [member for member in unknown if member not in logs]
    source.unknown = [member for member in unknown if member.endswith(_ENDS) and "/." not in f"/{member}"]
    if not (files or name):
        with source.sparing(""):
            readers = map(_of_package, metadata.entry_points(group=GROUP))
            files = {kind: [""] for kind in readers if kind.knows(source, "")}
            source.unknown = [] if files else source.unknown
    return files


def logs_of(kind: Kind, environ: Mapping[str, str]) -> list[Path]:
    """Return the folders of a client's logs that are there."""
    home = environ.get("HOME") or Path.home()
    places = (Path(environ.get(variable) or Path(home, folder), inner) for variable, folder, inner in kind.homes)
    return [place for place in places if place.is_dir()]


def labels() -> list[str]:
    """Return what people call the kinds that can be imported, each once."""
    return [*dict.fromkeys([*(Text(msgid(kind.label, "label")) for kind in KINDS), *metadata.entry_points(group=GROUP).names])]


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

    def read(log: Reading, _name: str) -> Talk:
        counts: Counter[str] = Counter()
        for message in messages(log.source):
            session = str(message.get("session")) if isinstance(message, dict) else ""
            counts[session] += 1
            yield chat_exports.placed(log, message, f"{entry.name}-{session}-{counts[session]}", entry.name)

    return Kind(entry.name, entry.name, ("",), lambda source, _: any(True for _ in messages(source)), read)
