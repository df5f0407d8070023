"""A client for operations of a running supervisor, used by `recalld mcp`, which keeps no index of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .locate import MAX_REQUEST, PROTOCOL, exchange, folder_id, socket_path

if TYPE_CHECKING:
    from collections.abc import Mapping


class SupervisorClient:
    """The supervisor of the workspace at *root*, asked for *caller* ({session, chat, language}), who waits *take_s*."""

    def __init__(self, root: str, caller: Mapping[str, str], take_s: float = 0.25) -> None:
        self._root, self._take_s = root, take_s
        self._caller = dict(caller)

    def ask(self, name: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return {"answer": …} or {"error": {…}} of the operation; None if no supervisor answers."""
        path = socket_path(self._root)
        if not path:
            return None
        asked = {"version": PROTOCOL, "op": name, "request": request, "caller": self._caller, "folder": folder_id(self._root)}
        line = json.dumps(asked).encode() + b"\n"
        if len(line) > MAX_REQUEST:
            return None
        try:
            answer = exchange(path, line, self._take_s)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return answer if "answer" in answer or "error" in answer else None
