"""What comes in at the door: one JSON line, {version, argv, env} (docs/cli.md)."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from supervisor.deadline import within

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

_MOST: Final = 1 << 20  # bytes of a request
#: Seconds within which a whole request is here: who asks has it ready before it connects.
_READ_S: Final = 0.1
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Request:
    """A command that somebody wants done: its arguments, and the RECALLD_* variables of who asks."""

    argv: list[str]
    environ: Mapping[str, str]


def read_request(line: socket.socket) -> bytes:
    """Return what came before the end of a line, of the connection, of the time or of patience."""
    data, deadline = bytearray(), within(_READ_S)
    with contextlib.suppress(TimeoutError):
        while not data.endswith(b"\n") and len(data) <= _MOST and not deadline.is_over:
            line.settimeout(max(deadline.left_s, 0.001))
            more = line.recv(1 << 16)
            if not more:
                break
            data += more
    return bytes(data)


def parse_request(data: bytes) -> Request | None:
    """Return the request, None where it is of another version; ValueError where it is none."""
    if len(data) > _MOST:
        raise ValueError("it is too long")
    if not data.endswith(b"\n"):
        raise ValueError("its line has no end")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - of the asker, not of our types
    if found.get("version") != _VERSION:
        return None
    argv, environ = found.get("argv"), found.get("env")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise ValueError("its argv is no list of words")
    if not isinstance(environ, dict) or not all(isinstance(value, str) for value in environ.values()):
        raise ValueError("its env does not give each variable a text")
    return Request(argv, environ)
