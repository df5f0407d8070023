"""
The clients that recalld can be connected with: what is put into their settings, their events, and what they want to read. Pure.

A row is from the client's source or documents, and `script/test-clients` runs each; Codex took its events from Claude Code.
`wanted` says what each settings file should have; `plan.py` compares it with what is there.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import Any, Final, Literal, TypeAlias

from ...context.render import spoken
from ...storage.texts import msgid

#: What a settings file is: JSON with properties and items, a table of TOML, or a paragraph in Markdown.
Form: TypeAlias = Literal["json", "toml", "paragraph"]
#: What an event is about: a question comes, an answer was given, a session begins; or nothing that recalld needs.
Kind: TypeAlias = Literal["question", "answer", "start", "nothing"]

_EVENTS: Final[Mapping[str, Kind]] = {
    "UserPromptSubmit": "question",
    "Stop": "answer",
    "SessionStart": "start",
    "PreCompact": "nothing",
}
#: Seconds after which a client gives a hook up; the hook itself gives up before.
_TIMEOUT_S: Final = 5
#: The name of recalld among the servers of a client.
NAME: Final = "recalld"
#: Characters of a session's or a turn's id, and hex digits of a message's.
_MOST_ID: Final = 200
_DIGITS: Final = 20
#: Characters of a block: 10,000 arrive whole in Claude Code.
_MOST_CHARS: Final = 9_500


@dataclass(frozen=True, slots=True)
class Client:
    """
    A client: its *title* for people, the folder of its settings below the user's own, and the command that starts it.

    Its events name the *turn* in this field, and it takes a block of so many bytes whole.
    """

    title: str
    folder: str
    command: str
    turn: str
    most_bytes: int
    note: str = ""  # a sentence about what the user has to do


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client("Claude Code", ".claude", "claude", "prompt_id", 30_000),
    "codex": Client(
        "Codex",
        ".codex",
        "codex",
        "turn_id",
        9_000,  # it moves more than 2,500 of its tokens, of four bytes, into a file
        msgid("Codex runs a hook only after you have trusted it: start codex, enter /hooks and trust those of recalld."),
    ),
}

# ── settings ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Wanted:
    """
    What one settings file should have.

    In JSON: *properties* at their keys, and *items* of arrays at their keys. Else: the *text*. *what* is for people: hooks,
    server, paragraph.
    """

    path: Path
    form: Form
    what: tuple[str, ...]
    properties: Mapping[tuple[str, ...], object] | None = None
    items: Mapping[tuple[str, ...], object] | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a client is connected: the user's folder *home* or a *project*, with the *argv* that starts recalld there."""

    home: Path
    argv: tuple[str, ...]  # up to the workspace: ("/usr/bin/recalld", "-w", "/home/mia/memory")
    project: Path | None = None
    codex_home: Path | None = None

    def hook(self, client: str) -> str:
        """Return the command line of the client's hook, for a shell."""
        return join([*self.argv, "hook", client])

    @property
    def server(self) -> dict[str, object]:
        """The entry of an MCP server that most clients have."""
        return {"command": self.argv[0], "args": [*self.argv[1:], "mcp"]}


def wanted(client: str, place: Place, paragraph: str) -> tuple[Wanted, ...]:
    """Return what the settings files of the client should have."""
    return (_codex if client == "codex" else _claude_code)(place, paragraph)


def workspace_of(argv: Sequence[str]) -> str | None:
    """Return the workspace of a command that is a hook or server of recalld's, "" if it names none; None for another's."""
    if not argv or not argv[0].endswith("recalld") or argv[0][:-7][-1:] not in ("", "/") or not {"hook", "mcp"} & {*argv[1:]}:
        return None
    return argv[argv.index("-w") + 1] if "-w" in argv[:-1] else ""


def _hooks(place: Place, client: str) -> dict[tuple[str, ...], object]:
    entry = {"type": "command", "command": place.hook(client), "timeout": _TIMEOUT_S}
    return {("hooks", event): {"hooks": [entry]} for event, kind in _EVENTS.items() if kind != "nothing"}


def _claude_code(place: Place, paragraph: str) -> tuple[Wanted, ...]:
    below = place.project or place.home
    settings = below / ".claude" / ("settings.local.json" if place.project else "settings.json")
    servers = below / (".mcp.json" if place.project else ".claude.json")
    prompt = below / ("CLAUDE.local.md" if place.project else ".claude/CLAUDE.md")
    return (
        Wanted(settings, "json", ("hooks",), items=_hooks(place, "claude-code")),
        Wanted(servers, "json", ("server",), properties={("mcpServers", NAME): {"type": "stdio", **place.server}}),
        Wanted(prompt, "paragraph", ("paragraph",), text=paragraph),
    )


def _codex(place: Place, paragraph: str) -> tuple[Wanted, ...]:
    folder = place.project / ".codex" if place.project else place.codex_home or place.home / ".codex"
    prompt = place.project / "AGENTS.md" if place.project else folder / "AGENTS.md"
    table = "\n".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in place.server.items())
    return (
        Wanted(folder / "hooks.json", "json", ("hooks",), items=_hooks(place, "codex")),
        Wanted(folder / "config.toml", "toml", ("server",), text=f"[mcp_servers.{NAME}]\n{table}\n"),
        Wanted(prompt, "paragraph", ("paragraph",), text=paragraph),
    )


# ── events ───────────────────────────────────────────────────────────────────


class OddEvent(ValueError):
    """An event that recalld can't use; its text says why, without words of a message."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its *kind*, the client's *session* and *turn*, what was asked and answered, and how a session begins."""

    kind: Kind
    session: str = ""
    turn: str = ""
    question: str = ""
    answer: str = ""
    start: str = "startup"
    name: str = ""


def read_event(client: str, value: object) -> Event:
    """Return the event of the client; OddEvent for one that can't be used, such as of a newer form."""
    if client not in CLIENTS:
        raise OddEvent("the client is unknown")
    if not isinstance(value, Mapping):
        raise OddEvent("it is no JSON object")
    name = value.get("hook_event_name")
    kind = _EVENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise OddEvent("the event is unknown")
    if value.get("agent_id"):  # a subagent's talk is not the user's
        return Event("nothing", name=str(name))
    session = _text(value, "session_id", _MOST_ID)
    if not session:
        raise OddEvent("it has no session_id")
    return Event(
        kind,
        session,
        _text(value, CLIENTS[client].turn, _MOST_ID),
        spoken(_text(value, "prompt", needed=True)) if kind == "question" else "",
        spoken(_text(value, "last_assistant_message")) if kind == "answer" else "",
        _text(value, "source") or "startup",
        str(name),
    )


def messages_of(event: Event, client: str, project: str, now: str) -> list[dict[str, Any]]:
    """
    Return the messages that the event adds to memory, as `append` takes them; *now* is their time.

    The id is made of session, turn, role and words, so that an event that comes twice adds nothing.
    """
    where = {"session": event.session, "channel": client, "chat": "direct"} | ({"project": project} if project else {})
    return [
        {"id": _id(event, client, role, text, now), "role": role, "text": text, "createdAt": now, **where}
        for role, text in (("user", event.question), ("assistant", event.answer))
        if text
    ]


def written(event: Event, block: str) -> str:
    """Return what the client reads: the *block* in its form, "" where there is none."""
    if not block.strip():
        return ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": block}}) + "\n"


def fits(client: str, block: str) -> bool:
    """True if the client takes a block of this size whole."""
    return len(block) <= _MOST_CHARS and len(block.encode("utf-8", "replace")) <= CLIENTS[client].most_bytes


def _text(fields: Mapping[Any, Any], name: str, most: int = 0, *, needed: bool = False) -> str:
    """Return the text of a field, "" where there is none; OddEvent for a value of another type, or a long id."""
    value = fields.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        raise OddEvent(f"its {name} is no text" if name in fields else f"it has no {name}")
    if most and len(value) > most:
        raise OddEvent(f"its {name} is too long")
    return value


def _id(event: Event, client: str, role: str, text: str, now: str) -> str:
    parts = "\0".join((event.session, event.turn or now, role, text))
    return f"{client}-{hashlib.sha256(parts.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]}"
