"""
The clients that recalld can be connected with: where their settings are, and what is put into them. Pure.

A row is from the client's source or documents (docs/how-to/connect-an-agent.md names the versions that were run). `wanted` says
what each settings file should have; `plan.py` compares it with what is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from recalld.supervisor.text.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

#: What a settings file is: JSON with properties and items, a table of TOML, a paragraph in Markdown, or recalld's own file.
Form: TypeAlias = Literal["json", "toml", "paragraph", "file"]

#: Seconds, and milliseconds, after which a client gives a hook up; the hook itself gives up before.
_TIMEOUT_S: Final = 5
_TIMEOUT_MS: Final = 5_000
_CLAUDE_EVENTS: Final = ("UserPromptSubmit", "Stop", "SessionStart")
#: The name of recalld among the servers of a client.
NAME: Final = "recalld"


@record
class Wanted:
    """
    What one settings file should have.

    In JSON: *properties* at their keys, and *items* of arrays at their keys; *needed* is what the file needs beside them. Else:
    the *text*. *what* is for people: hooks, server, paragraph, plugin.
    """

    path: Path
    form: Form
    what: tuple[str, ...]
    properties: Mapping[tuple[str, ...], object] | None = None
    items: Mapping[tuple[str, ...], object] | None = None
    needed: Mapping[str, object] | None = None
    text: str = ""


@record
class Client:
    """A client: its *title* for people, the folder of its settings below the user's own, and the command that starts it."""

    title: str
    folder: str
    command: str
    note: str = ""  # the code of a sentence about what the user has to do


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client("Claude Code", ".claude", "claude"),
    "codex": Client("Codex", ".codex", "codex", "connect.note_codex"),
    "gemini-cli": Client("Gemini CLI", ".gemini", "gemini"),
    "antigravity": Client("Antigravity", ".gemini/antigravity", "agy", "connect.note_antigravity"),
    "cursor": Client("Cursor", ".cursor", "cursor", "connect.note_cursor"),
    "opencode": Client("OpenCode", ".config/opencode", "opencode"),
    "openclaw": Client("OpenClaw", ".openclaw", "openclaw", "connect.note_openclaw"),
    "nanobot": Client("nanobot", ".nanobot", "nanobot", "connect.note_nanobot"),
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


def wanted(client: str, place: Place, paragraph: str, plugin: str) -> tuple[Wanted, ...]:
    """Return what the settings files of the client should have; *plugin* is the text of OpenCode's."""
    return _WANTED[client](place, paragraph, plugin)


def workspace_of(argv: Sequence[str]) -> str | None:
    """Return the workspace of a command that is a hook or server of recalld's, "" if it names none; None for another's."""
    if not argv or not argv[0].endswith("recalld") or argv[0][:-7][-1:] not in ("", "/") or not {"hook", "mcp"} & {*argv[1:]}:
        return None
    return argv[argv.index("-w") + 1] if "-w" in argv[:-1] else ""


def _claude_hooks(place: Place, client: str, timeout: int, events: tuple[str, ...]) -> dict[tuple[str, ...], object]:
    entry = {"type": "command", "command": place.hook(client), "timeout": timeout}
    return {("hooks", event): {"hooks": [entry]} for event in events}


def _claude_code(place: Place, paragraph: str, _plugin: str) -> tuple[Wanted, ...]:
    below = place.project or place.home
    settings = below / ".claude" / ("settings.local.json" if place.project else "settings.json")
    servers = below / (".mcp.json" if place.project else ".claude.json")
    prompt = below / ("CLAUDE.local.md" if place.project else ".claude/CLAUDE.md")
    return (
        Wanted(settings, "json", ("hooks",), items=_claude_hooks(place, "claude-code", _TIMEOUT_S, _CLAUDE_EVENTS)),
        Wanted(servers, "json", ("server",), properties={("mcpServers", NAME): {"type": "stdio", **place.server}}),
        Wanted(prompt, "paragraph", ("paragraph",), text=paragraph),
    )


def _codex(place: Place, paragraph: str, _plugin: str) -> tuple[Wanted, ...]:
    import json

    folder = place.project / ".codex" if place.project else place.codex_home or place.home / ".codex"
    prompt = place.project / "AGENTS.md" if place.project else folder / "AGENTS.md"
    table = "\n".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in place.server.items())
    return (
        Wanted(folder / "hooks.json", "json", ("hooks",), items=_claude_hooks(place, "codex", _TIMEOUT_S, _CLAUDE_EVENTS)),
        Wanted(folder / "config.toml", "toml", ("server",), text=f"[mcp_servers.{NAME}]\n{table}\n"),
        Wanted(prompt, "paragraph", ("paragraph",), text=paragraph),
    )


def _gemini(place: Place, paragraph: str, _plugin: str) -> tuple[Wanted, ...]:
    below = place.project or place.home
    prompt = place.project / "GEMINI.md" if place.project else place.home / ".gemini" / "GEMINI.md"
    hooks = _claude_hooks(place, "gemini-cli", _TIMEOUT_MS, ("BeforeAgent", "AfterAgent", "SessionStart"))
    servers: dict[tuple[str, ...], object] = {("mcpServers", NAME): place.server}
    return (
        Wanted(below / ".gemini" / "settings.json", "json", ("hooks", "server"), properties=servers, items=hooks),
        Wanted(prompt, "paragraph", ("paragraph",), text=paragraph),
    )


def _server_alone(path: str, *keys: str, in_project: str = "") -> Callable[[Place, str, str], tuple[Wanted, ...]]:
    """Return what wants a client that gets the server and nothing else, at the *path* below the user's folder."""

    def wanted_there(place: Place, _paragraph: str, _plugin: str) -> tuple[Wanted, ...]:
        file = place.project / in_project if place.project else place.home / path
        return (Wanted(file, "json", ("server",), properties={(*keys, NAME): place.server}),)

    return wanted_there


def _cursor(place: Place, paragraph: str, _plugin: str) -> tuple[Wanted, ...]:
    folder = (place.project or place.home) / ".cursor"
    entry = {"command": place.hook("cursor")}
    hooks: dict[tuple[str, ...], object] = {
        ("hooks", event): entry for event in ("beforeSubmitPrompt", "afterAgentResponse", "sessionStart")
    }
    rule = f"---\ndescription: recalld\nalwaysApply: true\n---\n{paragraph}"
    found = (
        Wanted(folder / "hooks.json", "json", ("hooks",), items=hooks, needed={"version": 1}),
        Wanted(folder / "mcp.json", "json", ("server",), properties={("mcpServers", NAME): place.server}),
    )
    return (*found, Wanted(folder / "rules" / "recalld.mdc", "file", ("paragraph",), text=rule)) if place.project else found


def _opencode(place: Place, paragraph: str, plugin: str) -> tuple[Wanted, ...]:
    folder = place.project or place.home / ".config" / "opencode"
    below = place.project / ".opencode" if place.project else folder
    server = {"type": "local", "command": [*place.argv, "mcp"], "enabled": True}
    return (
        Wanted(folder / "opencode.json", "json", ("server",), properties={("mcp", NAME): server}),
        Wanted(below / "plugins" / "recalld.js", "file", ("plugin",), text=plugin),
        Wanted(folder / "AGENTS.md", "paragraph", ("paragraph",), text=paragraph),
    )


_WANTED: Final = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini,
    "antigravity": _server_alone(".gemini/antigravity/mcp_config.json", "mcpServers", in_project=".agents/mcp_config.json"),
    "cursor": _cursor,
    "opencode": _opencode,
    "openclaw": _server_alone(".openclaw/openclaw.json", "mcp", "servers"),
    "nanobot": _server_alone(".nanobot/config.json", "tools", "mcpServers"),
}
#: The clients that have settings for one project.
IN_PROJECT: Final = frozenset(_WANTED) - {"openclaw", "nanobot"}
