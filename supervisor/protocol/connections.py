"""
The format of `.recalld/connections.json`: which clients are connected with the workspace, and what was put into their settings.

`recalld connect` writes it, `doctor` reads it. What is lost with it: `connect --remove` then looks for recalld's entries by
what they start. Source: docs/reference/protocol.md, 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, Literal

from ..storage.lenient_json import parse_json, read_record, render_json
from ..storage.texts import Text
from ..text.record import record

#: The clients that `connect` sets up; earlier versions had others.
CLIENTS: Final = ("claude-code", "codex")
#: Why a hook of a client failed, as its event says: its time was up; or there is none for the client.
HOOK_LATE: Final = "it took too long"
HOOK_UNKNOWN: Final = "the client is unknown"


@record(kw_only=True)
class Connection:
    """
    One settings file of a *client*: its *path*, and the *command* of a hook in it.

    *project* is the folder for which it was connected, "" for all. *made*: there was no such file.
    """

    client: str
    path: str
    project: str = ""
    command: str = ""
    made: bool = False


@record
class _File:
    version: Literal[1]
    connections: tuple[Connection, ...]


def parse_connections(data: bytes) -> tuple[Connection, ...]:
    """Return the connections; ValueError with a reason for a file that is none of these."""
    raw = parse_json(data)
    try:
        return read_record(_File, raw).connections
    except ValueError:
        raise ValueError(Text("it is of another version, or lists no connections")) from None


def render_connections(connections: Sequence[Connection]) -> bytes:
    """Return the bytes of the file."""
    return render_json(asdict(_File(1, tuple(connections)))) + b"\n"
