"""
The clients that recalld can be connected with: where their settings are, and what is put into them. Pure.

A row is from the client's source or documents, and `script/test-clients` runs each. `wanted` says what each settings file
should have; `plan.py` compares it with what is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from ...storage.texts import msgid
from ...text.record import record

#: What a settings file is: JSON with properties and items, a table of TOML, or a paragraph in Markdown.
Form: TypeAlias = Literal["json", "toml", "paragraph"]

#: Seconds after which a client gives a hook up; the hook itself gives up before.
_TIMEOUT_S: Final = 5
_EVENTS: Final = ("UserPromptSubmit", "Stop", "SessionStart")
#: The name of recalld among the servers of a client.
NAME: Final = "recalld"


@record
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


@record
class Client:
    """A client: its *title* for people, the folder of its settings below the user's own, and the command that starts it."""

    title: str
    folder: str
    command: str
    note: str = ""  # a sentence about what the user has to do


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client("Claude Code", ".claude", "claude"),
    "codex": Client(
        "Codex",
        ".codex",
        "codex",
        msgid("Codex runs a hook only after you have trusted it: start codex, enter /hooks and trust those of recalld."),
    ),
}


@record
class Place:
    """Where a client is connected: the user's folder *home* or a *project*, with the *argv* that starts recalld there."""

    home: Path
    argv: tuple[str, ...]  # up to the workspace: ("/usr/bin/recalld", "-w", "/home/mia/memory")
    project: Path | None = None
    codex_home: Path | None = None

    def hook(self, client: str) -> str:
        """Return the command line of the client's hook, for a shell."""
        from shlex import join

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
    return {("hooks", event): {"hooks": [entry]} for event in _EVENTS}


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
    import json

    folder = place.project / ".codex" if place.project else place.codex_home or place.home / ".codex"
    prompt = place.project / "AGENTS.md" if place.project else folder / "AGENTS.md"
    table = "\n".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in place.server.items())
    return (
        Wanted(folder / "hooks.json", "json", ("hooks",), items=_hooks(place, "codex")),
        Wanted(folder / "config.toml", "toml", ("server",), text=f"[mcp_servers.{NAME}]\n{table}\n"),
        Wanted(prompt, "paragraph", ("paragraph",), text=paragraph),
    )
