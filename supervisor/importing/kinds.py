"""The kinds of logs and exports that can be imported: how each is known, who reads it, and where a client keeps its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from recalld.supervisor.importing import chat_exports, coding_logs, messengers, stores
from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recalld.supervisor.importing.source import Source
    from recalld.supervisor.importing.talk import Reading, Talk


@record(kw_only=True)
class Kind:
    """
    A kind of log or export, by its *name*; *label* is what people call it, a proper name.

    *is_of_people*: everybody in it is a person with a name, and it does not say which of them its owner is.

    *homes* are the folders of a client below the home folder, behind the variable that moves them, "" for none. Kinds
    *of_lines* read all `*.jsonl`, so that a source is of one of them at most.
    """

    name: str
    label: str
    knows: Callable[[Source], object]  # what is true of one of this kind
    read: Callable[[Reading], Talk]
    of_lines: bool = False
    is_of_people: bool = False
    homes: tuple[tuple[str, str, str], ...] = ()


def _is_claude_code(source: Source) -> bool:
    return any(
        isinstance(first := source.first_line(name), dict)
        and ("sessionId" in first or first.get("type") in ("summary", "file-history-snapshot"))
        and first.get("type") != "session"
        for name in source.named("*.jsonl")[:20]
    )


def _is_openclaw(source: Source) -> bool:
    names = source.named("*.jsonl")[:5]
    return any(isinstance(first := source.first_line(name), dict) and first.get("type") == "session" for name in names)


def _is_json_lines(source: Source) -> bool:
    names = () if _is_workspace(source) else source.named("*.jsonl")[:5]  # those of a workspace are its log and its state
    return any(isinstance(first := source.first_line(name), dict) and {"role", "messages"} & first.keys() for name in names)


def _has(key: str) -> Callable[[Source], bool]:
    return lambda source: any(key in source.keys(name) for name in chat_exports.conversation_files(source)[:1])


def _is_workspace(source: Source) -> bool:
    return bool(source.named("history.json")) or any(True for _ in stores.dated_files(source))


def _of(kind: str) -> Callable[[Source], object]:
    return lambda source: stores.databases_of(source, kind)


#: All kinds, in the order in which a source is asked; a log of JSON lines, the least marked one, comes last.
KINDS: Final = (
    Kind(
        name="claude-code",
        label="Claude Code",
        knows=_is_claude_code,
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
    Kind(
        name="gemini-cli",
        label="Gemini CLI",
        knows=lambda source: source.named("chats/session-*.json") or source.named("chats/session-*.jsonl"),
        read=coding_logs.gemini,
        homes=(("", ".gemini", "tmp"),),
    ),
    Kind(
        name="opencode",
        label="OpenCode",
        knows=_of("opencode"),
        read=stores.opencode_database,
        homes=(("XDG_DATA_HOME", ".local/share", "opencode"),),
    ),
    Kind(name="opencode-files", label="OpenCode", knows=coding_logs.opencode_files, read=coding_logs.opencode),
    Kind(
        name="openclaw",
        label="OpenClaw",
        knows=_is_openclaw,
        read=coding_logs.openclaw,
        of_lines=True,
        homes=(("OPENCLAW_STATE_DIR", ".openclaw", "agents"),),
    ),
    Kind(name="openai-agents", label="OpenAI Agents SDK", knows=_of("openai-agents"), read=stores.openai_agents),
    Kind(name="countbot", label="CountBot", knows=_of("countbot"), read=stores.countbot),
    Kind(name="chatgpt", label="ChatGPT", knows=_has("mapping"), read=chat_exports.chatgpt),
    Kind(name="claude", label="Claude", knows=_has("chat_messages"), read=chat_exports.claude),
    Kind(name="telegram", label="Telegram", knows=messengers.telegram_files, read=messengers.telegram, is_of_people=True),
    Kind(name="whatsapp", label="WhatsApp", knows=messengers.whatsapp_files, read=messengers.whatsapp, is_of_people=True),
    Kind(name="mem0", label="mem0", knows=chat_exports.mem0_files, read=chat_exports.mem0),
    Kind(name="workspace", label="recalld", knows=_is_workspace, read=stores.workspace),
    Kind(name="jsonl", label="JSON lines", knows=_is_json_lines, read=stores.json_lines, of_lines=True),
)
#: The kinds that a client of this machine keeps.
CLIENTS: Final = tuple(kind for kind in KINDS if kind.homes)


def kinds_of(source: Source) -> list[Kind]:
    """Return the kinds of what is in the source; a folder of several exports has several."""
    found: list[Kind] = []
    for kind in KINDS:
        if not (kind.of_lines and any(one.of_lines for one in found)) and kind.knows(source):
            found.append(kind)
    return found


def logs_of(kind: Kind, environ: Mapping[str, str]) -> list[Path]:
    """Return the folders of a client's logs that are there."""
    home = Path(environ.get("HOME") or Path.home())
    places = [
        (Path(environ[variable]) if environ.get(variable) else home / folder) / inner for variable, folder, inner in kind.homes
    ]
    return [place for place in places if place.is_dir()]


def labels() -> list[str]:
    """Return the names of what can be imported, each once."""
    return [*dict.fromkeys(kind.label for kind in KINDS)]
