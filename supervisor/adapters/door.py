"""
The supervisor's Unix socket, mode 0600: one JSON line in, the same command run here, one JSON line out (docs/cli.md).

A request that can't be honoured gets no answer, and the command that asked does the work itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from supervisor.protocol.files import Files
    from supervisor.protocol.layout import Layout

#: A path much longer than this does not bind.
_LONGEST: Final = 100
_MOST: Final = 1 << 20  # bytes of a request
_WAIT_S: Final = 5.0


@contextlib.contextmanager
def open_door(layout: Layout, files: Files, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[None]:
    """Answer requests in a thread of its own, one at a time, until the block ends."""
    files.make_folder(layout.state)
    path = _path(layout, files)
    files.remove(path)  # of a supervisor that was killed; its lock is ours now
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        door.bind(str(path))
    finally:
        os.umask(mask)
    door.listen(64)
    thread = threading.Thread(target=_serve, args=(door, answer), daemon=True)
    thread.start()
    try:
        yield
    finally:
        door.close()
        with contextlib.suppress(OSError):
            files.remove(path)


def _path(layout: Layout, files: Files) -> Path:
    """Return where to listen, and note it where that is not beside the state."""
    path, noted = layout.state / "socket", layout.state / "socket.path"
    if len(os.fsencode(path)) <= _LONGEST:
        files.remove(noted)
        return path
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/recalld-{os.getuid()}") / "recalld"  # noqa: S108 - mode 0700
    files.make_folder(folder)
    found = files.disk.stat(folder)
    if found is None or found.uid != os.getuid():
        raise PermissionError(1, "it belongs to somebody else", str(folder))
    far = folder / f"{hashlib.sha256(os.fsencode(layout.root)).hexdigest()[:16]}.sock"
    files.replace(noted, str(far).encode(), files.look(noted))
    return far


def _serve(door: socket.socket, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    while True:
        try:
            line, _ = door.accept()
        except OSError:
            return  # the door is closed
        with line, contextlib.suppress(OSError, ValueError):
            line.settimeout(_WAIT_S)
            request = json.loads(_read(line))
            if isinstance(request, dict) and request.get("version") == 1:
                line.sendall(json.dumps(answer(request)).encode())


def _read(line: socket.socket) -> bytes:
    """Return one line; ValueError when it is too long or never ends."""
    data = b""
    while not data.endswith(b"\n"):
        more = line.recv(1 << 16)
        data += more
        if not more or len(data) > _MOST:
            raise ValueError("no whole line")
    return data
