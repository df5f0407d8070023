"""
Find the workspace of a command and its socket; the protocol version and limits of the socket, one request over it; `--version`.

This module imports almost nothing, since a turn waits for it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

#: The version of the socket's protocol (cli.md).
PROTOCOL: Final = 4
#: Seconds to wait for the acknowledgement, which a supervisor that is stopped or hangs never sends.
_ACKNOWLEDGE_S: Final = 0.25
#: The `op` of a request that calls a model's tool; it is not an operation.
TOOL: Final = "tool"
#: The command of a client's hook, and the `op` of its request, which is no operation either.
HOOK: Final = "hook"
#: The most bytes of a request.
MAX_REQUEST: Final = 1 << 20


def version() -> str:
    """Return what `--version` prints; the name of what pip has installed says it before anything is loaded."""
    for folder in sys.path:
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name.startswith("recalld-") and name.endswith(".dist-info"):
                return f"recalld {name.removeprefix('recalld-').removesuffix('.dist-info')}"
    from importlib.metadata import version

    return f"recalld {version('recalld')}"


def split_workspace(argv: list[str]) -> tuple[str, list[str]]:
    """
    Return the workspace that the arguments name (the last of several, "" for none), and the arguments without these options.

    >>> split_workspace(["-w", "memory", "search", "the", "red", "--workspace=old", "bike"])
    ('old', ['search', 'the', 'red', 'bike'])
    """
    name, left, words = "", [], iter(argv)
    for word in words:
        if word == "--":
            left += [word, *words]
        elif word in {"-w", "--workspace"}:
            name = next(words, "")
        elif word.startswith("--workspace="):
            name = word.partition("=")[2]
        elif word.startswith("-w"):
            name = word[2:]
        else:
            left.append(word)
    return name, left


def command_of(argv: list[str]) -> str:
    """Return the first argument that is neither an option nor an option's value."""
    words = iter(split_workspace(argv)[1])
    for word in words:
        if word == "--now":
            next(words, "")
        elif not word.startswith("-"):
            return word
    return ""


def workspace_of(argv: list[str], environ: Mapping[str, str]) -> str:
    """Return the workspace: the option's, RECALLD_WORKSPACE, ./workspace if it is one, else the user's data folder."""
    workspace = split_workspace(argv)[0] or environ.get("RECALLD_WORKSPACE", "")
    if workspace:
        return os.path.expanduser(workspace)
    if any(os.path.exists(os.path.join("workspace", name)) for name in ("history.json", "recalld.toml")):
        return "workspace"
    from ..protocol.paths import user_folder

    return os.path.join(user_folder("XDG_DATA_HOME", environ), "recalld")


def folder_id(root: str) -> list[int]:
    """Return device and inode of the folder, which distinguish it from its copies; [] if there is none."""
    try:
        stat = os.stat(root)
    except (OSError, ValueError):
        return []
    return [stat.st_dev, stat.st_ino]


def socket_path(root: str) -> str:
    """
    Return the path of the socket of the workspace's supervisor, or where `socket.path` says if that path is too long.

    "" if there is none, or if it belongs to another user than the folder, since no question may go to somebody else.
    """
    state = os.path.join(root, ".recalld")
    path = os.path.join(state, "socket")
    if os.path.isfile(path + ".path"):  # opening a named pipe would block
        try:
            with open(path + ".path", encoding="utf-8") as noted:
                path = noted.read(os.pathconf("/", "PC_PATH_MAX")).strip()
        except (OSError, ValueError):
            return ""
    try:
        return path if os.lstat(path).st_uid == os.stat(state).st_uid else ""
    except (OSError, ValueError):
        return ""


def page_address(host: str, port: int) -> str:
    """
    Return the address at which a browser on this machine finds the service.

    >>> page_address("0.0.0.0", 8377), page_address("::1", 80)
    ('http://127.0.0.1:8377', 'http://[::1]:80')
    """
    shown_host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104 - a name, nothing is bound
    return f"http://[{shown_host}]:{port}" if ":" in shown_host else f"http://{shown_host}:{port}"


def exchange(path: str, request: bytes, take_s: float = _ACKNOWLEDGE_S) -> dict[str, Any]:
    """
    Return the supervisor's answer to a request, a line of JSON, over the socket at *path*.

    TimeoutError or BlockingIOError if a supervisor does not respond within *take_s*, or not within the time that it announced;
    another OSError, or a ValueError, KeyError or TypeError, if no supervisor listens or it refuses the request.
    """
    import json
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(take_s)
        line.connect(path)
        line.sendall(request)
        acknowledged, _, data = line.recv(1 << 16).partition(b"\n")
        line.settimeout(float(json.loads(acknowledged)["within"]))
        answer: dict[str, Any] = json.loads(data + b"".join(iter(lambda: line.recv(1 << 16), b"")))
        return answer
