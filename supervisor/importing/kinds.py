"""
The kinds of logs and exports that can be imported: how each is known, who reads it, and where a client keeps its own.

Other packages bring more: a reader is a function behind the entry point `recalld.importers`. It gets the `Source` and yields
messages as JSON lines have them (`messages.py`), none for a source that is not of its kind.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..importing import chat_exports, coding_logs, messengers
from ..storage.errors import SupervisorError
from ..storage.texts import Text
from ..text.record import record
from .messages import is_json_lines, is_workspace, json_lines, message_of, workspace
from .source import NotImported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .source import Source
    from .talk import Reading, Talk

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
    Kind(name="chatgpt", label="ChatGPT", knows=chat_exports.is_chatgpt, read=chat_exports.chatgpt),
    Kind(name="claude", label="Claude", knows=chat_exports.is_claude, read=chat_exports.claude),
    Kind(name="telegram", label="Telegram", knows=messengers.telegram_files, read=messengers.telegram, is_of_people=True),
    Kind(name="whatsapp", label="WhatsApp", knows=messengers.whatsapp_files, read=messengers.whatsapp, is_of_people=True),
    Kind(name="wechat", label="WeChat", knows=messengers.wechat_files, read=messengers.wechat, is_of_people=True),
    Kind(name="workspace", label="recalld", knows=is_workspace, read=workspace),
    Kind(name="jsonl", label="JSON lines", knows=is_json_lines, read=json_lines, of_lines=True),
)
#: The kinds that a client of this machine keeps.
CLIENTS: Final = tuple(kind for kind in KINDS if kind.homes)
#: Clients whose logs earlier versions read.
LEFT: Final[Mapping[str, str]] = {"gemini-cli": "Gemini CLI", "opencode": "OpenCode", "openclaw": "OpenClaw"}


def kinds_of(source: Source) -> list[Kind]:
    """
    Return the kinds of what is in the source; a folder of several exports has several.

    The readers of other packages are asked where recalld has none. NotImported for one that fails.
    """
    found: list[Kind] = []
    for kind in KINDS:
        if not (kind.of_lines and any(one.of_lines for one in found)) and kind.knows(source):
            found.append(kind)
    return found or [kind for kind in map(_of_package, metadata.entry_points(group=GROUP)) if kind.knows(source)]


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
    """Return the kind that the package has a reader for."""

    def messages(source: Source) -> Iterator[Any]:
        with _blamed(entry, source):
            yield from entry.load()(source)

    def read(log: Reading) -> Talk:
        counts: Counter[str] = Counter()
        for message in messages(log.source):
            session = str(message.get("session")) if isinstance(message, dict) else ""
            counts[session] += 1
            yield from message_of(log, message, f"{entry.name}-{session}-{counts[session]}", entry.name, entry.name)

    return Kind(name=entry.name, label=entry.name, knows=lambda source: any(True for _ in messages(source)), read=read)


@contextmanager
def _blamed(entry: metadata.EntryPoint, source: Source) -> Iterator[None]:
    """Raise what goes wrong in the reader of a package as NotImported that names the package, without the error's own text."""
    try:
        yield
    except (SupervisorError, GeneratorExit):
        raise
    except Exception as error:  # noqa: BLE001 - a package of somebody else's
        package = entry.dist.name if entry.dist else entry.value
        why = Text(
            "the reader {name} of the package {package} failed with {kind}",
            name=entry.name,
            package=package,
            kind=type(error).__name__,
        )
        raise NotImported(source.path, why, Text("update that package or uninstall it; nothing was added")) from None
